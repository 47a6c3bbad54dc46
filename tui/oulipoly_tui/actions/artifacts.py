"""Actions on artifacts: those of a session or a run, and one by its address."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import Action

_RUN = "oulipoly_tui.commands.artifacts"

ACTIONS = (
    Action(
        "sessions.artifacts",
        find("session artifacts"),
        "sessions",
        keys="c",
        method="artifacts",
        weight=3,
        line="session artifacts",
        run=f"{_RUN}:list_of_session",
        note="in the trace of a run",
    ),
    Action("transcript.artifacts", find("session artifacts"), "transcript", keys="c", method="artifacts", weight=2),
    Action("artifacts.of_run", find("artifact of run"), line="run artifacts", run=f"{_RUN}:list_of_run"),
    Action("artifacts.open", find("artifact open"), line="artifact open", run=f"{_RUN}:open_address"),
    Action("artifacts.save", find("artifact get"), line="artifact save", run=f"{_RUN}:save_address"),
    Action("artifacts.remove", find("artifact remove"), line="artifact remove", run=f"{_RUN}:remove_address"),
)
