"""Fakes that tests of this package and of what stands on it share. They refuse what they were not told to expect."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

DEFAULT_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


class FakeClock:
    """A clock that stands still until it is told otherwise; fits `oulipoly_engine.clock.Clock`."""

    def __init__(self, now: datetime = DEFAULT_NOW) -> None:
        self._now = now
        self._monotonic = 0.0

    def now(self) -> datetime:
        """Return the instant that was set."""
        return self._now

    def monotonic(self) -> float:
        """Return the seconds that have been advanced; a jump of the calendar does not show here."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Raises ValueError for less than nothing: a calendar that is set back is a `jump`.
        """
        if seconds < 0:
            raise ValueError(f"time does not pass by {seconds} s: use jump()")
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Set the calendar forward or back, as a user or a time server does, without time passing."""
        self._now += timedelta(seconds=seconds)
