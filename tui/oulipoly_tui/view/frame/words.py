"""Times, shares and ages as people read them, in their own time zone. Pure: the instants come in."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oulipoly_tui.view.transcript.spans import Tone

HIGH, NEARLY_SPENT = 0.7, 0.9  # shares of a window
_DAY = timedelta(days=1)
_UTC = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?Z")  # as the engine's sentences have instants


def percent(share: float | None) -> str:
    """Return a share as whole percents; unknown is said, never 0."""
    return "?" if share is None else f"{100 * share:.0f} %"


def use_tone(used: float | None, unknown: Tone = "") -> Tone:
    """Return how a share of a window is shown."""
    if used is None:
        return unknown
    return "bad" if used >= NEARLY_SPENT else "warn" if used >= HIGH else ""


def hours(value: float | None) -> str:
    """Return hours in the unit that fits."""
    if value is None:
        return "?"
    if value < 1:
        return f"{60 * value:.0f} m"
    return f"{value:.1f} h" if value < 48 else f"{value / 24:.1f} d"


def until(instant: datetime, now: datetime) -> str:
    """Return how long something is ahead: `2 h 10 m`; the past is said."""
    left = instant - now
    return "past" if left <= timedelta(0) else span(left)


def span(length: timedelta) -> str:
    """Return a length in its two largest units."""
    seconds = max(0, int(length.total_seconds()))
    days, rest = divmod(seconds, 86_400)
    whole_hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    if days:
        return f"{days} d {whole_hours} h"
    if whole_hours:
        return f"{whole_hours} h {minutes} m"
    return f"{minutes} m" if minutes else f"{seconds} s"


def age(since: datetime | None, now: datetime) -> str:
    """Return how old something is: `6 m ago`."""
    if since is None:
        return "never read"
    passed = now - since
    return "now" if passed < timedelta(seconds=2) else f"{span(passed)} ago"


def read(since: datetime | None, now: datetime) -> str:
    """Return when something was read, as the rest of a sentence: `read 6 m ago`."""
    return age(since, now) if since is None else f"read {age(since, now)}"


def reset(instant: datetime, now: datetime) -> str:
    """Return when a window resets, as the rest of a sentence: `resets in 2 h 10 m`."""
    return "has reset" if instant <= now else f"resets in {until(instant, now)}"


def clock(instant: datetime, now: datetime) -> str:
    """Return a moment as short as it is clear: today's as the time alone."""
    local, today = instant.astimezone(), now.astimezone()
    if local.date() == today.date():
        return f"{local:%H:%M}"
    return f"{local:%a %H:%M}" if abs(instant - now) < 6 * _DAY else f"{local:%d %b %H:%M}"


def local(text: str, now: datetime) -> str:
    """Return a sentence of the engine's, which says its times in UTC, with the user's own times."""
    return _UTC.sub(lambda found: clock(datetime.fromisoformat(found[0]), now), text)
