"""Commands of the app alone, which keep something of their own. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument, destroys, writes
from oulipoly_engine.core.commands.needs import Need

_VIEW = Argument("name", "views", is_rest=True)

COMMANDS = (
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
