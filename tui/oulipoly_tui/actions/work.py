"""Actions on sessions that work by themselves: to begin one, its changes, the worktrees, the server."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer

ACTIONS = (
    offer("frame.new_work", find("session work"), keys="f5", line="work new", run="work.screens:begin"),
    offer("frame.changes", find("changes"), keys="f12", weight=4, line="work changes", run="work.screens:changes"),
    offer("frame.worktrees", find("worktree list"), keys="f6", line="work trees", run="work.screens:worktrees"),
    offer("frame.server", find("server"), keys="f7", run="work.screens:server"),
    offer("frame.grants", find("grants list"), line="grants", run="work.screens:grants"),
)
