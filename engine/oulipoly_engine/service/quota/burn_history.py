"""How one window burned over a range of time, ready to be drawn: readings by cycle, resets, forecast and its record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from oulipoly_engine.core.quota.forecast import SMALL_FALL, Forecast
from oulipoly_engine.core.quota.forecast_score import ForecastScore
from oulipoly_engine.core.quota.window_cycles import TOLERANCE, EndedCycle
from oulipoly_engine.core.quota.windows import length_h
from oulipoly_engine.records import Record
from oulipoly_engine.service.quota.forecasting import forecasts
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import readings
from oulipoly_engine.store.quota.readings import Point

_EVEN_AT_MOST = 12  # cycles whose even pace is drawn: more would fill the chart with dots


class Cycle(Record):
    """One cycle of a window, as far as it lies in the range."""

    begin: datetime  # by the window's length
    resets_at: datetime
    points: tuple[Point, ...]  # oldest first, at least one
    ended: EndedCycle | None = None  # with what was left at its reset; None: it runs, or that is not known


class BurnHistory(Record):
    """A window's past and what is expected of it."""

    account: str
    window: str
    since: datetime
    until: datetime
    at: datetime
    length: timedelta  # of a cycle
    cycles: tuple[Cycle, ...] = ()  # oldest first
    forecast: Forecast | None = None  # None: the window is not known any more
    score: ForecastScore | None = None  # None: too little history to say how far off such forecasts were

    @property
    def has_even_pace(self) -> bool:
        """Tell whether the cycles are few enough for their even pace to be drawn."""
        return len(self.cycles) <= _EVEN_AT_MOST


def read_burn_history(
    store: Store, account: str, window: str, now: datetime, back: timedelta, ahead: timedelta, steps: int
) -> BurnHistory:
    """Return a window's history from `back` before now to `ahead` after it, in at most `steps` points.

    window: its name. Raises StoreUnusable.
    """
    since, until = now - back, now + ahead
    points = readings.chart(store, account, window, since, now, steps)
    left = [one for one in readings.find_unused_quota(store, account, since) if one.window == window]
    known = next((one for one in forecasts(store, (account,), now, scored=True) if one.window.name == window), None)
    length = timedelta(hours=length_h(_label(window), _longest_h(points)))
    return BurnHistory(
        account=account,
        window=window,
        since=since,
        until=until,
        at=now,
        length=length,
        cycles=tuple(_cycle(part, length, left) for part in _split(points)),
        forecast=None if known is None else known.forecast,
        score=None if known is None else known.score,
    )


def _label(window: str) -> str | None:
    return None if window.startswith("window-") else window


def _longest_h(points: Sequence[Point]) -> float:
    """Return the longest time to a reset that was seen, in hours: a window without a label is at least so long."""
    return max(((point.resets_at - point.at).total_seconds() / 3600 for point in points), default=0.0)


def _split(points: Iterable[Point]) -> list[list[Point]]:
    """Cut where a reset came between two points, or where more than rounding was given back."""
    found: list[list[Point]] = []
    for point in points:
        last = found[-1][-1] if found else None
        if last is None or last.used - point.used > SMALL_FALL or _has_passed(last, point):
            found.append([point])
        else:
            found[-1].append(point)
    return found


def _has_passed(before: Point, after: Point) -> bool:
    return before.resets_at <= after.at and after.resets_at - before.resets_at > TOLERANCE


def _cycle(points: Sequence[Point], length: timedelta, left: Sequence[EndedCycle]) -> Cycle:
    resets_at = points[-1].resets_at
    ended = next((one for one in left if abs(one.resets_at - resets_at) <= TOLERANCE), None)
    return Cycle(resets_at - length, resets_at, tuple(points), ended)
