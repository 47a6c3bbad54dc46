"""Commands on what sessions have changed. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import SESSION, Argument, reads, writes
from oulipoly_engine.core.commands.needs import Need

_FILE = Argument("file")

COMMANDS = (
    reads(
        "changes",
        "changes",
        "look at what a session has changed; stage, discard, comment on lines",
        (SESSION,),
        ("git", "diff", "stage", "commit", "merge", "lazygit", "review changes"),
        scope="view",
    ),
    writes(
        "changes stage",
        "stage",
        "stage and unstage what a session has changed, or discard it",
        (SESSION, _FILE),
        scope="operate",
    ),
    writes(
        "changes comment",
        "comment",
        "send a session comments on lines of its changes",
        (SESSION,),
        scope="operate",
        needs=(Need.COMMENT,),
    ),
    reads("diff", "diff", "show how the files of a session differ", (SESSION,), scope="view"),
    reads("file show", "file", "read a file of a session", (SESSION, _FILE), scope="view"),
    writes(
        "file write", "write file", "write a file of a session", (SESSION, _FILE), scope="operate", is_confirmed=True
    ),
    writes(
        "commit",
        "commit",
        "commit what a session has changed",
        (SESSION,),
        scope="operate",
        is_confirmed=True,
        needs=(Need.CHANGES,),
    ),
    writes(
        "merge",
        "merge",
        "merge a session's branch, or rebase it; conflicts are told first",
        (SESSION,),
        scope="operate",
        is_confirmed=True,
    ),
    writes(
        "conflict",
        "hand conflict over",
        "have a session resolve the conflicts of its branch",
        (SESSION,),
        scope="operate",
    ),
    writes(
        "apply",
        "apply",
        "stage a session's changes in the main checkout",
        (SESSION,),
        scope="operate",
        is_confirmed=True,
    ),
    writes(
        "promote", "push", "push a session's branch, for a pull request", (SESSION,), scope="operate", is_confirmed=True
    ),
    reads(
        "promote preflight", "check push", "say what a push of a session's branch would do", (SESSION,), scope="view"
    ),
)
