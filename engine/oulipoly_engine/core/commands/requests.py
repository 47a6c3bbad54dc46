"""Commands on what is asked of a person, and on turns that were left. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument, reads, writes

_REQUEST, _TURN = Argument("request"), Argument("turn")

COMMANDS = (
    reads(
        "requests list",
        "inbox",
        "list what is asked of you, by live sessions and others",
        synonyms=("requests", "approvals", "questions", "waiting for you"),
        scope="view",
    ),
    reads("requests show", "show request", "show what a request would allow", (_REQUEST,), scope="view"),
    writes(
        "requests approve",
        "approve",
        "approve what is asked, once",
        (_REQUEST,),
        ("allow", "accept", "yes", "permit", "answer"),
        scope="answer",
    ),
    writes(
        "requests approve session",
        "approve for session",
        "approve what is asked and the like of it for the whole session",
        (_REQUEST,),
        ("always allow", "allow all", "accept always"),
        scope="answer",
        is_confirmed=True,
    ),
    writes(
        "requests deny",
        "deny",
        "deny what is asked; a turn goes on",
        (_REQUEST,),
        ("reject", "decline", "refuse", "no"),
        scope="view",
    ),
    writes(
        "requests deny reason",
        "deny, say why",
        "deny what is asked and tell the agent why",
        (_REQUEST,),
        ("reject with feedback", "decline with reason"),
        scope="view",
    ),
    writes("requests answer", "answer", "answer the questions of a request", (_REQUEST,), scope="answer"),
    writes(
        "requests cancel",
        "deny and interrupt",
        "deny what is asked and interrupt the turn",
        (_REQUEST,),
        ("cancel request", "abort"),
        scope="answer",
    ),
    reads("recover", "left turns", "list the turns of live sessions that their process has left"),
    writes("turn resume", "resume turn", "have the agent go on with a turn whose process was lost", (_TURN,)),
)
