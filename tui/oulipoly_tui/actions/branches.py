"""Actions on the branches of a session: what is done with one of them has its keys on the screen of the tree."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer

ACTIONS = (
    offer("sessions.tree", find("session tree"), keys="H", weight=2, run="sessions:show_tree"),
    offer("transcript.tree", find("session tree"), keys="H", weight=2),
    offer("live.tree", find("session tree"), keys="H", weight=2),
)
