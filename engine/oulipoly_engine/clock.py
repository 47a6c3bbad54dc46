"""Time as a value that comes in: the clock seam and the one text form of instants."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

# A day less than Python's at either end: every instant between has a local time in every zone.
_FIRST = datetime.min.replace(tzinfo=UTC) + timedelta(days=1)
_LAST = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)


class Clock(Protocol):
    """What tells the time."""

    def now(self) -> datetime:
        """Return the present instant, aware, in UTC."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present instant, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.monotonic()


def to_text(instant: datetime) -> str:
    """Render an instant as RFC 3339 in UTC with exactly six decimals and `Z`.

    One fixed form, because instants are compared as strings in the state file.
    """
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def from_text(text: str) -> datetime:
    """Read an RFC 3339 instant into an aware UTC datetime.

    Raises ValueError when the text is not an instant, carries no zone, or lies at the end of all times that there are.
    """
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"the time {text!r} has no zone: end it with Z or an offset")
    if not _FIRST <= instant <= _LAST:
        raise ValueError(f"the time {text!r} is none that a clock can have shown")
    return instant.astimezone(UTC)
