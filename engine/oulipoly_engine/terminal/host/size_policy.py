"""Which size a terminal has when several windows show it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.records import Record

LARGEST_COLUMNS, LARGEST_ROWS = 1000, 500  # a full picture of that size still fits into one message
SMALLEST = "smallest"
LAST = "last"


class Window(Record):
    """One client's window."""

    name: str
    columns: int
    rows: int
    typed_at: float
    only_reads: bool = False


class Decided(Record):
    """A size, and whose window it is."""

    columns: int
    rows: int
    by: str


def decide(windows: Sequence[Window], rule: str) -> Decided | None:
    """Return the size by the rule, "smallest" or "last" to type; None when no window is shown.

    Windows that only read have a say where there is no other.
    """
    windows = [window for window in windows if not window.only_reads] or windows
    if not windows:
        return None
    if rule == LAST:
        last = max(windows, key=lambda window: window.typed_at)
        return _bounded(last.columns, last.rows, last.name)
    narrow = min(windows, key=lambda window: window.columns)
    low = min(windows, key=lambda window: window.rows)
    by = narrow if narrow.rows == low.rows else low if low.columns == narrow.columns else None
    return _bounded(narrow.columns, low.rows, by.name if by else f"{narrow.name} and {low.name}")


def _bounded(columns: int, rows: int, by: str) -> Decided:
    return Decided(max(2, min(columns, LARGEST_COLUMNS)), max(1, min(rows, LARGEST_ROWS)), by)
