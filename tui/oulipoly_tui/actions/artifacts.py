"""Actions on artifacts: those of a session or a run, and one by its address."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer

ACTIONS = (
    offer(
        "sessions.artifacts",
        find("session artifacts"),
        keys="c",
        weight=3,
        run="artifacts:list_of_session",
        note="in the trace of a run",
    ),
    offer("transcript.artifacts", find("session artifacts"), keys="c", weight=2),
    offer("artifacts.of_run", find("artifact of run"), line="run artifacts", run="artifacts:list_of_run"),
    offer("artifacts.open", find("artifact open"), run="artifacts:open_address"),
    offer("artifacts.save", find("artifact get"), line="artifact save", run="artifacts:save_address"),
    offer("artifacts.remove", find("artifact remove"), run="artifacts:remove_address"),
)
