"""Numbers as people read them: shares, durations, times, headroom. One form each, in every face. Pure.

Times are in the zone of the machine, where no other is given.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

UNKNOWN = "?"
_UTC = re.compile(r"(?<![\w/.:'\"`=+-])\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?Z(?![\w/=+-]|\.\w)")
HEADROOM_UNIT = "h"  # hours of a whole window: what is left of it times the hours to its reset
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WEEK = timedelta(days=6)  # a weekday's name means one day alone


def percent(share: float | None) -> str:
    """Return a share, 0..1, as percents: `94 %`, with one decimal below 10; unknown is said, never 0."""
    if share is None:
        return UNKNOWN
    value = 100 * share
    text = f"{value:.1f}" if abs(value) < 9.95 else f"{value:.0f}"
    return f"{text.removesuffix('.0')} %"


def duration(length: timedelta) -> str:
    """Return a length in its two largest units: `3 d 4 h`, `2 h 43 m`, `43 m`, `12 s`; the past is not a length."""
    seconds = max(0, int(length.total_seconds()))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} m"
    return f"{minutes} m" if minutes else f"{seconds} s"


def hours(value: float | None) -> str:
    """Return hours as a duration."""
    return UNKNOWN if value is None else duration(timedelta(hours=value))


def headroom(value: float | None) -> str:
    """Return an account's headroom as a number; its unit, HEADROOM_UNIT, stands in its heading."""
    return UNKNOWN if value is None else f"{value:.1f}"


def ago(instant: datetime, now: datetime) -> str:
    """Return how long ago something was: `6 m ago`; less than two seconds are now."""
    passed = now - instant
    return "now" if passed < timedelta(seconds=2) else f"{duration(passed)} ago"


def moment(instant: datetime) -> str:
    """Return a moment that stays as it is written: `2026-11-22 06:27`."""
    return f"{instant.astimezone():%Y-%m-%d %H:%M}"


def clock(instant: datetime, now: datetime) -> str:
    """Return a moment on the user's clock: `Mon 06:27` within a week, else `2026-11-22 06:27`."""
    return f"{instant.astimezone():%a %H:%M}" if abs(instant - now) < _WEEK else moment(instant)


def parse_clock(text: str, now: datetime) -> datetime | None:
    """Read a moment as `clock` writes it; a weekday's is the last one that is over. None: it is no such text."""
    here = now.astimezone()
    day, _, time = text.strip().rpartition(" ")
    try:
        if day.title() not in _DAYS:
            return datetime.strptime(f"{day} {time}", "%Y-%m-%d %H:%M").astimezone()
        at = datetime.strptime(time, "%H:%M").time()
    except ValueError:
        return None
    days_back = (here.weekday() - _DAYS.index(day.title())) % 7
    moment_then = datetime.combine(here.date() - timedelta(days=days_back), at).astimezone()
    return moment_then if moment_then <= here else moment_then - timedelta(days=7)


def local(text: str, now: datetime) -> str:
    """Return a sentence that says its times in UTC, as records and JSON have them, with the user's own times.

    What is quoted, or is a part of a path or of `key=value`, stays as it is.
    """
    return _UTC.sub(lambda found: clock(datetime.fromisoformat(found[0]), now), text) if "Z" in text else text
