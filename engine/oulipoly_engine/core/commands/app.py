"""Commands of the face itself, most of them of the app alone. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument, destroys, reads, writes
from oulipoly_engine.core.commands.needs import Need

_VIEW = Argument("name", "views", is_rest=True)

COMMANDS = (
    reads("help", "slash commands", "list what can be written behind a slash", synonyms=("commands",), scope="view"),
    reads(
        "settings",
        "settings",
        "show and change settings and keys",
        synonyms=("preferences", "options", "configuration", "remap keys"),
    ),
    reads("quit", "quit", "quit, from the top only", synonyms=("exit", "leave")),
    writes(
        "view save",
        "save view",
        "keep filter, grouping and order under a name",
        (Argument("name", is_rest=True),),
        ("save filter", "save search"),
    ),
    destroys("view delete", "delete view", "forget a saved view", (_VIEW,), ("remove filter",)),
    writes(
        "undo",
        "undo",
        "take back what was done last with a session",
        synonyms=("revert", "take back"),
        needs=(Need.UNDO,),
    ),
)
