"""Commands that run a CLI, and on its runs. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import ACCOUNT, MODEL, SESSION, TEXT, Argument, destroys, reads, writes
from oulipoly_engine.core.commands.needs import Need

_RUN = Argument("run", choices="runs")

COMMANDS = (
    writes("prompt", "send prompt", "send one prompt to a model", (MODEL, TEXT), ("ask", "one-shot", "run")),
    writes(
        "prompt account",
        "send prompt to account",
        "send one prompt to a model on this account of its pool",
        (ACCOUNT, MODEL, TEXT),
        ("ask account", "run on account"),
    ),
    writes(
        "repl",
        "start interactive session",
        "talk to a model's CLI in a terminal, or go on with a session",
        (MODEL, Argument("account", "accounts", is_optional=True)),
        ("repl", "chat", "new terminal", "new tab"),
        needs=(Need.ACCOUNTS,),
    ),
    writes(
        "resume",
        "resume with prompt",
        "send a prompt to a session, without a screen",
        (SESSION, TEXT),
        needs=(Need.ACCOUNTS,),
    ),
    reads("trace", "trace", "show a run and everything it started", (_RUN,), ("sub-agents", "call tree", "spawned")),
    reads("wait", "wait", "wait for a run's end and print its result", (_RUN,)),
    destroys(
        "run stop",
        "stop run",
        "stop a run that a prompt has started",
        (_RUN,),
        ("cancel prompt", "abort run", "interrupt"),
        needs=(Need.RUN,),
    ),
    destroys(
        "run end",
        "kill run",
        "end a CLI that runs on although what ran it was killed",
        (_RUN,),
        ("kill orphan", "stop run"),
    ),
)
