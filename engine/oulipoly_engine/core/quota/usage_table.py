"""The table of `--usage`: what each account's windows look like to a reader (contract, section 12). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from oulipoly_engine.core.quota.windows import ParsedWindow
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.records import Record

HEADINGS = ("Account", "Vendor", "Window", "Used / Limit", "Remaining")
_WIDEST_WINDOW = 40  # characters; a label is shorter, an error is longer
NO_USAGE_API = "(no usage api)"
NO_WINDOWS = "(no windows)"
IN_FLIGHT = "(in flight)"


class AccountUsage(Record):
    """What one account's reading gave."""

    account: str
    vendor: str
    windows: tuple[ParsedWindow, ...] = ()
    state: str | None = (
        None  # NO_USAGE_API, IN_FLIGHT, format_failure(...), before older windows if any; None: was read
    )
    warning: str | None = None  # stands before the windows: not_committed(...)


class UsageRow(Record):
    """One line of the table, as text."""

    account: str
    vendor: str
    window: str
    used: str = "-"
    remaining: str = "-"

    def cells(self) -> tuple[str, ...]:
        """Return the cells in the order of HEADINGS, each on one line."""
        return tuple(map(visible_line, (self.account, self.vendor, self.window, self.used, self.remaining)))


def vendor_of(command: str | None) -> str:
    """Return the vendor's column for an account's command: its first word in lower case, `unknown` without one."""
    words = (command or "").split()
    name = re.sub(r"[^a-z0-9]", "_", words[0].lower()).strip("_") if words else ""
    return name or "unknown"


def format_failure(reason: str) -> str:
    """Return the state of an account whose script failed; the reason is put on one line."""
    return f"(error: {_join_lines(reason)})"


def not_committed(reason: str) -> str:
    """Return the warning for a reading that could be shown and not stored."""
    return f"(warning: {_join_lines(reason)}, cache not committed)"


def usage_rows(usages: Iterable[AccountUsage]) -> tuple[UsageRow, ...]:
    """Return the table's rows: one a window, or one with the account's state."""
    return tuple(row for usage in usages for row in _rows_of(usage))


def render_usage(rows: Sequence[UsageRow]) -> str:
    """Draw the table: columns as wide as their widest cell, two spaces between, the last one not padded."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    # What went wrong may take a line of its own; it does not push everybody else's columns away.
    widths = [
        max(len(line[column]) for line in lines if column != 2 or len(line[2]) <= _WIDEST_WINDOW)
        for column in range(len(HEADINGS) - 1)
    ]
    padded = ([*map(str.ljust, line, widths), line[-1]] for line in lines)
    return "".join("  ".join(cells) + "\n" for cells in padded)


def percent_text(used: float) -> str:
    """Return a ratio as percent: clamped to 0..100, whole if it is, else with one decimal."""
    return f"{_amount(_percent(used))}%"


def _rows_of(usage: AccountUsage) -> Iterable[UsageRow]:
    if usage.state is not None:
        yield UsageRow(usage.account, usage.vendor, usage.state)
    if usage.warning is not None:
        yield UsageRow(usage.account, usage.vendor, usage.warning)
    if not usage.windows and usage.state is None:
        yield UsageRow(usage.account, usage.vendor, NO_WINDOWS)
    for window in usage.windows:
        label = window.label or f"window-{window.position}"
        yield UsageRow(usage.account, usage.vendor, label, _format_used(window), _format_remaining(window))


def _format_used(window: ParsedWindow) -> str:
    if window.limit is None:
        return f"{percent_text(window.used)} / 100%"
    return _with_unit(f"{_amount(round(window.used * window.limit))} / {_amount(window.limit)}", window.unit)


def _format_remaining(window: ParsedWindow) -> str:
    if window.limit is None:
        return f"{_amount(100 - _percent(window.used))}%"  # of the rounded value, so that both add up
    left = window.limit - round(window.used * window.limit) if window.remaining is None else window.remaining
    return _with_unit(_amount(left), window.unit)


def _percent(used: float) -> float:
    return round(min(1.0, max(0.0, used)) * 100, 1)


def _amount(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def _with_unit(text: str, unit: str | None) -> str:
    return text if unit is None else f"{text} {unit}"


def _join_lines(text: str) -> str:
    return " ".join(text.split())
