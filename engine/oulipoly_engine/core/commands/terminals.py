"""Commands on terminals, whose programs outlive the face that started them. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument, destroys, reads, writes
from oulipoly_engine.core.commands.needs import Need

_TERMINAL = Argument("terminal")

COMMANDS = (
    writes(
        "terminal new",
        "run program",
        "run any command in a terminal of its own",
        (Argument("command", is_rest=True),),
        ("shell", "execute"),
    ),
    writes(
        "terminal again",
        "new",
        "talk to the same model in another terminal",
        synonyms=("new tab",),
        needs=(Need.TERMINAL,),
    ),
    reads(
        "terminal list",
        "attach",
        "list the terminals that are running",
        synonyms=("other terminals", "reconnect", "running terminals"),
    ),
    reads("terminal attach", "attach", "show a terminal here; leaving it ends nothing", (_TERMINAL,)),
    writes(
        "terminal type",
        "type",
        "give the keys to a terminal",
        (_TERMINAL,),
        ("attach", "focus terminal", "insert mode"),
    ),
    destroys(
        "terminal kill",
        "kill",
        "end a terminal's program, or a CLI whose runner was killed",
        (_TERMINAL,),
        ("end program", "terminate", "stop program"),
    ),
)
