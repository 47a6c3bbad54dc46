"""What is said of times, shares and ages; their forms are those of `core/text/quantities.py`. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from oulipoly_engine.core.text.quantities import ago as ago
from oulipoly_engine.core.text.quantities import clock as clock
from oulipoly_engine.core.text.quantities import duration as duration
from oulipoly_engine.core.text.quantities import headroom as headroom
from oulipoly_engine.core.text.quantities import hours as hours
from oulipoly_engine.core.text.quantities import local as local
from oulipoly_engine.core.text.quantities import percent as percent

if TYPE_CHECKING:
    from oulipoly_tui.view.transcript.spans import Tone

HIGH, NEARLY_SPENT = 0.7, 0.9  # shares of a window


def use_tone(used: float | None, unknown: Tone = "") -> Tone:
    """Return how a share of a window is shown."""
    if used is None:
        return unknown
    return "bad" if used >= NEARLY_SPENT else "warn" if used >= HIGH else ""


def until(instant: datetime, now: datetime) -> str:
    """Return how long something is ahead: `2 h 10 m`; the past is said."""
    left = instant - now
    return "past" if left <= timedelta(0) else duration(left)


def age(since: datetime | None, now: datetime) -> str:
    """Return how old something is: `6 m ago`."""
    return "never read" if since is None else ago(since, now)


def read(since: datetime | None, now: datetime) -> str:
    """Return when something was read, as the rest of a sentence: `read 6 m ago`."""
    return age(since, now) if since is None else f"read {age(since, now)}"


def reset(instant: datetime, now: datetime) -> str:
    """Return when a window resets, as the rest of a sentence: `resets in 2 h 10 m`."""
    return "has reset" if instant <= now else f"resets in {until(instant, now)}"
