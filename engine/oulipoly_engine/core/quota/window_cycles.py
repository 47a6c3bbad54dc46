"""A window's cycles: when one has ended, and what was left of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from oulipoly_engine.core.quota.window_matching import match_windows
from oulipoly_engine.core.quota.windows import QuotaState, Window, length_h
from oulipoly_engine.records import Record

TOLERANCE = timedelta(minutes=1)  # vendors' resets wobble by seconds between readings
_NEAR_SHARE = 0.05  # of a window's length: a last reading this close to the reset says what was left at it
_NEAR_LEAST = timedelta(minutes=15)


class EndedCycle(Record):
    """A cycle that a reset has ended."""

    window: str  # its name
    resets_at: datetime
    unused: float  # 0..1 that was left at the last reading before the reset
    last_read_at: datetime  # that reading: the older, the less exact

    @property
    def is_exact(self) -> bool:
        """Tell whether the last reading says what was left; if it lies too far before the reset, at most this was."""
        name = None if self.window.startswith("window-") else self.window
        return self.unused <= 0 or self.resets_at - self.last_read_at <= near(timedelta(hours=length_h(name, 0)))


def near(length: timedelta) -> timedelta:
    """Return how far before the reset of a window of this length a reading may lie that tells its outcome."""
    return max(_NEAR_LEAST, length * _NEAR_SHARE)


def find_ended_cycles(prior: QuotaState, now_shown: Sequence[Window], now: datetime) -> tuple[EndedCycle, ...]:
    """Return the cycles that have ended between the prior reading and this one.

    A window that is not shown any more says nothing: a vendor may hide it for a while.
    """
    if prior.refreshed_at is None:
        return ()
    ended = []
    for place, after in zip(match_windows(prior.windows, now_shown), now_shown, strict=True):
        if place is None:
            continue
        before = prior.windows[place]
        has_ended = before.resets_at <= now and after.resets_at - before.resets_at > TOLERANCE
        if has_ended and prior.refreshed_at < before.resets_at:
            unused = max(0.0, 1.0 - before.used)
            ended.append(EndedCycle(before.name, before.resets_at, unused, prior.refreshed_at))
    return tuple(ended)
