"""The table of panes. A pane is imported when it is first on the screen. Pure: names alone."""

from __future__ import annotations

from oulipoly_engine.records import Record
from oulipoly_tui.view.frame.layout import Column


class PaneEntry(Record):
    """One pane."""

    id: str
    number: int  # its key
    title: str
    module: str
    class_name: str
    column: Column
    wanted_width: int = 0  # see `view.frame.layout.Present`
    least_width: int = 0  # as above


PANES: tuple[PaneEntry, ...] = (
    PaneEntry("pools", 1, "Pools", "oulipoly_tui.panes.quota.pools", "PoolsPane", "list"),
    PaneEntry("quota", 2, "Quota", "oulipoly_tui.panes.quota.quota", "QuotaPane", "aside", least_width=36),
    PaneEntry(
        "sessions", 3, "Sessions", "oulipoly_tui.panes.sessions.sessions", "SessionsPane", "list", wanted_width=68
    ),
    PaneEntry(
        "transcript",
        4,
        "Transcript",
        "oulipoly_tui.panes.transcript.transcript",
        "TranscriptPane",
        "detail",
        least_width=36,
    ),
    PaneEntry("repl", 5, "REPL", "oulipoly_tui.panes.terminal.repl", "ReplPane", "detail", least_width=80),
    PaneEntry("live", 6, "Live", "oulipoly_tui.panes.live.live", "LivePane", "detail", least_width=80),
    PaneEntry("agents", 7, "Agents", "oulipoly_tui.panes.agents.agents", "AgentsPane", "detail", least_width=44),
)
