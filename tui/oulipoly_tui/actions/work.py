"""Actions on sessions that work by themselves: to begin one, its changes, the worktrees, the server."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import FRAME, Action

_RUN = "oulipoly_tui.commands.work.screens"

ACTIONS = (
    Action(
        "frame.new_work",
        find("session work"),
        FRAME,
        keys="f5",
        method="new_work",
        line="work new",
        run=f"{_RUN}:begin",
    ),
    Action(
        "frame.changes",
        find("changes"),
        FRAME,
        keys="f12",
        method="session_changes",
        weight=4,
        line="work changes",
        run=f"{_RUN}:changes",
    ),
    Action(
        "frame.worktrees",
        find("worktree list"),
        FRAME,
        keys="f6",
        method="worktrees",
        line="work trees",
        run=f"{_RUN}:worktrees",
    ),
    Action("frame.server", find("server"), FRAME, keys="f7", method="server", line="server", run=f"{_RUN}:server"),
    Action("frame.grants", find("grants list"), line="grants", run=f"{_RUN}:grants"),
)
