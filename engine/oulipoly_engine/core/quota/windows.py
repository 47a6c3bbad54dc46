"""Quota windows and what an account's row says of them, as values. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from oulipoly_engine.records import Record

MIN_HOURS = 1 / 60  # floor of every duration, so that a window about to reset keeps a finite weight

# What an alert that a window runs out needs, by `scripts/bench/fortnight.py --alerts` on fresh seeds. Near capacity
# 69 % of those about 5 h windows come true and 66 % of those about weeks, in light load 54 % and 12 %: work ends
# without a warning. Where the lower end of the forecast's band alone decided: 60, 66, 45 and 13 %, half as many.
LEAST_USED_TO_WARN = 0.75
DEFAULT_THRESHOLD = 0.9  # of use, from which on there is an alert in any case

_LENGTHS_H = {"5h-burst": 5.0, "daily": 24.0, "weekly": 168.0, "monthly": 720.0}
_UNIT_H = {"m": 1 / 60, "min": 1 / 60, "h": 1.0, "d": 24.0}
_LABEL = re.compile(r"(\d{1,5})(min|[mhd])(?:-\w+)?", re.ASCII)


class Window(Record):
    """One rolling quota tier of an account, as last read."""

    position: int  # place in the script's answer, from 0: the window's identity in the contract
    used: float  # 0..1 (scripts say 0..100)
    resets_at: datetime  # aware, UTC
    last_delta: float | None = None  # 0..1 spent between the last two readings that taught a rate
    last_delta_turns: int | None = None  # turns between them
    label: str | None = None  # e.g. "weekly", "5h-burst", where the script gives one
    pending_delta: float = 0.0  # 0..1 spent since a rate was last learned, in this cycle
    pending_turns: int = 0  # turns in which it was spent

    @property
    def kind(self) -> str | int:
        """Return what windows of several readings or accounts are matched by: the label if given, else the position.

        The contract knows positions only, but vendors hide and swap windows, and then a position names another tier.
        """
        return self.position if self.label is None else self.label

    @property
    def name(self) -> str:
        """Return what people call it: its label, or `window-N` by its place, as `--usage` shows it."""
        return f"window-{self.position}" if self.label is None else self.label


class ParsedWindow(Record):
    """One window as a script reported it."""

    position: int  # place in the script's answer, from 0
    used: float  # 0..1
    resets_at: datetime  # aware, UTC; may lie in the past
    label: str | None = None  # unique within a reading
    limit: float | None = None  # for display, in `unit`
    remaining: float | None = None  # for display, in `unit`
    unit: str | None = None
    window_s: int | None = None  # length of the window, where the script gives it

    def as_window(self) -> Window:
        """Return what is stored of it."""
        return Window(self.position, self.used, self.resets_at, label=self.label)


class QuotaState(Record):
    """All that is stored of one account's quota; the default says that nothing was ever read."""

    account: str
    windows: tuple[Window, ...] = ()
    refreshed_at: datetime | None = None
    last_empty_refresh_at: datetime | None = None
    exhausted_at: datetime | None = None
    calls_since_refresh: int = 0
    peak_live_windows: int = 0
    last_topology_probe_at: datetime | None = None


def count_live(windows: Sequence[Window], now: datetime) -> int:
    """Count the windows whose reset lies in the future."""
    return sum(window.resets_at > now for window in windows)


def mark_holds(quota: QuotaState, now: datetime) -> bool:
    """Tell whether the account's exhaustion mark still counts: it does until every stored window has reset.

    Without any window there is nothing to outlive, and only a refresh can clear the mark.
    """
    if quota.exhausted_at is None:
        return False
    return not quota.windows or count_live(quota.windows, now) > 0


def is_used_up(quota: QuotaState, now: datetime) -> bool:
    """Tell whether an account has no quota left: it is marked so, or a window that has not reset is full."""
    return mark_holds(quota, now) or any(window.used >= 1 and window.resets_at > now for window in quota.windows)


def length_h(label: str | None, hours_left: float) -> float:
    """Return how long a window is, in hours: by its label, else the shortest usual length that it fits into."""
    name = "" if label is None else label.split(" ")[0]  # "weekly (2)" is a second weekly window
    if (known := _LENGTHS_H.get(name)) is not None:
        return known
    if (match := _LABEL.fullmatch(name)) is not None:
        return max(MIN_HOURS, int(match[1]) * _UNIT_H[match[2]])
    return next((length for length in _LENGTHS_H.values() if length >= hours_left), hours_left)
