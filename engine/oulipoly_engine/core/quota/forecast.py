"""When a window runs out at the present pace, from its own readings. Pure: the instant comes in.

The pace is that of a look-back whose length grows with the time to the reset: who has an hour left burns on as in the
last hour, who has five days left works, sleeps and rests as in the whole week so far. Everything unknown is None.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota.burn import project
from oulipoly_engine.core.quota.staleness import CLOCK_TOLERANCE
from oulipoly_engine.core.text.quantities import percent
from oulipoly_engine.records import Record

MIN_SPAN = timedelta(minutes=10)  # readings that span less say nothing of a pace
SAME_RESET = timedelta(minutes=10)  # vendors' resets wobble; another cycle's lies hours away
SMALL_FALL = 0.015  # vendors round and correct themselves; a larger fall is a reset

# The look-back is max(1 h, horizon squared / 12 h), chosen on the simulated fortnight; `scripts/bench/fortnight.py
# --forecasts --seeds 20` shows the mean error of the use at the reset: 15.2 % of a 5 h window and 12.4 % of a week.
# With the last hour's pace it is 15.0 % and 26 %, with the whole cycle's 17.4 % and 12.4 %, with a pace weighted
# exponentially by age 15.6 % and 23 % (1 h) to 17.3 % and 13.3 % (24 h).
_LEAST_LOOK_BACK_H = 1.0
_LOOK_BACK_SCALE_H = 12.0

# The band is to hold 80 % of the outcomes; in the same simulation it holds 83 % of a 5 h window's and 80 % of a week's:
# about 70 % early in a 5 h window, which begins with work and work ends, over 90 % late in any.
_BLOCKS = 8  # in which the cycle is cut to see how uneven the pace is
_BAND_Z = 1.28  # 80 % of a normal spread
_ROUNDING = 0.01  # vendors report whole percents, so that two equal readings may hide this much
_CHANGE = 0.75  # standard deviation of the later pace, as a share of it, beyond the time that it was measured over
_HALVINGS = 40
_LEAST_USED = _ROUNDING  # nothing runs out by a pace that may be rounding alone


class State(StrEnum):
    """What is expected of a window."""

    NOT_ENOUGH_DATA = "not-enough-data"
    STEADY = "steady"  # will not reach 100 % before the reset
    RUNS_DRY = "runs-dry"
    SPENT = "spent"
    PAST_RESET = "past-reset"  # the reset came after the last reading: nothing is known of the new cycle


class Reading(Record):
    """One window as read once."""

    at: datetime  # aware
    used: float  # 0..1
    resets_at: datetime  # aware


class Forecast(Record):
    """What is expected of one window; the band is to hold what comes in about four of five cases."""

    state: State
    read_at: datetime | None = None  # the reading that it starts from; None: there is none
    used: float | None = None  # 0..1, at that reading
    resets_at: datetime | None = None
    at: datetime | None = None  # when 100 % is reached; None: not before the reset, or unknown
    earliest: datetime | None = None  # None: not before the reset even at the upper end of the band, or unknown
    latest: datetime | None = None  # None: at the lower end of the band not before the reset, or unknown
    pace: float | None = None  # fraction of the window per hour
    used_at_reset: float | None = None  # 0..1
    used_at_reset_low: float | None = None
    used_at_reset_high: float | None = None
    chance: float | None = None  # 0..1, by the spread, that 100 % is reached before the reset; None: unknown


def forecast(
    readings: Sequence[Reading], now: datetime, *, turns: int | None = None, rate: float | None = None
) -> Forecast:
    """Return what is expected of a window at `now`.

    readings: of this window alone, oldest first; those of earlier cycles do not count.
    turns, rate: turns since the last reading and what one costs of the window. Without them the time since counts as
    idle, as any gap does: whatever starts work takes a reading (in the simulation, the pace going on instead doubles
    the error).
    """
    cycle = current_cycle(readings, now)
    if not cycle:
        return Forecast(State.NOT_ENOUGH_DATA)
    last = cycle[-1]
    if last.resets_at <= now:
        return Forecast(State.PAST_RESET, last.at, last.used, last.resets_at)
    if last.used >= 1:
        since = next(reading.at for reading in cycle if reading.used >= 1)
        return Forecast(State.SPENT, last.at, 1.0, last.resets_at, since, since, since, None, 1.0, 1.0, 1.0)
    if last.at - cycle[0].at < MIN_SPAN:
        return Forecast(State.NOT_ENOUGH_DATA, last.at, last.used, last.resets_at)
    if now > last.at:
        spent = project(last.used, turns, rate) if turns is not None and rate is not None else last.used
        cycle.append(Reading(now, min(1.0, spent), last.resets_at))
    expected = _expect(cycle, last, now)
    if expected.state is State.RUNS_DRY and last.used < _LEAST_USED:
        return Forecast(State.NOT_ENOUGH_DATA, last.at, last.used, last.resets_at)
    return expected


def current_cycle(readings: Sequence[Reading], now: datetime) -> list[Reading]:
    """Return the readings of the cycle that the newest one belongs to, oldest first.

    Readings that cannot be (NaN, later than a newer one or than now, as a clock that went back leaves them) are left
    out. A cycle begins where the reset moves or where more than rounding was given back.
    """
    found: list[Reading] = []
    for reading in reversed(readings):
        if not math.isfinite(reading.used) or reading.at > now + CLOCK_TOLERANCE:
            continue
        if found:
            newer, newest = found[-1], found[0]
            if reading.at >= newer.at:
                continue
            if abs(reading.resets_at - newest.resets_at) > SAME_RESET or reading.used > newer.used + SMALL_FALL:
                break
        found.append(Reading(reading.at, min(1.0, max(0.0, reading.used)), reading.resets_at))
    found.reverse()
    return found


def forecast_text(found: Forecast) -> str:
    """Say a forecast in a few words."""
    match found.state:
        case State.NOT_ENOUGH_DATA:
            return "not enough data"
        case State.PAST_RESET:
            return "has reset since it was read"
        case State.SPENT:
            return "exhausted"
        case State.RUNS_DRY:
            after = "after the reset" if found.latest is None else _minute(found.latest)
            return f"runs out {_minute(found.at)} ({_minute(found.earliest)} to {after})"
        case State.STEADY:
            low, high = percent(found.used_at_reset_low), percent(found.used_at_reset_high)
            return f"lasts: {percent(found.used_at_reset)} at the reset ({low} to {high})"


def forecast_to_json(found: Forecast) -> dict[str, object]:
    """Render a forecast as JSON values: uses are fractions, pace is per hour, instants RFC 3339; unknown is null."""
    return {
        "state": found.state.value,
        "read_at": _text(found.read_at),
        "used": found.used,
        "resets_at": _text(found.resets_at),
        "dry_at": _text(found.at),
        "dry_earliest": _text(found.earliest),
        "dry_latest": _text(found.latest),
        "pace_per_hour": found.pace,
        "used_at_reset": found.used_at_reset,
        "used_at_reset_low": found.used_at_reset_low,
        "used_at_reset_high": found.used_at_reset_high,
    }


def pace_over(cycle: Sequence[Reading], look_back_h: float) -> float:
    """Return the fraction per hour spent in the last hours of a cycle, or in all of it if it is shorter.

    cycle: at least two readings of different instants.
    """
    end = cycle[-1].at
    span_h = min(look_back_h, _hours(end - cycle[0].at))
    return max(0.0, cycle[-1].used - _interpolate_use(cycle, end - timedelta(hours=span_h))) / span_h


def look_back_h(horizon_h: float) -> float:
    """Return how many hours to look back for a pace that is to hold for `horizon_h` hours."""
    return max(_LEAST_LOOK_BACK_H, horizon_h * horizon_h / _LOOK_BACK_SCALE_H)


def _expect(cycle: Sequence[Reading], last: Reading, now: datetime) -> Forecast:
    """Carry the cycle's pace forward from its end."""
    start = cycle[-1]
    horizon_h = _hours(start.resets_at - start.at)
    pace = pace_over(cycle, look_back_h(horizon_h))
    curve = _Curve(start.used, pace, _unevenness(cycle), min(look_back_h(horizon_h), _hours(start.at - cycle[0].at)))
    at, earliest, latest = (
        None if hours is None else max(now, start.at + timedelta(hours=hours))
        for hours in (curve.dry_after_h(spread, horizon_h) for spread in (0.0, _BAND_Z, -_BAND_Z))
    )
    return Forecast(
        state=State.STEADY if at is None else State.RUNS_DRY,
        read_at=last.at,
        used=last.used,
        resets_at=last.resets_at,
        at=at,
        earliest=earliest,
        latest=latest,
        pace=pace,
        used_at_reset=curve.used_after(0.0, horizon_h),
        used_at_reset_low=curve.used_after(-_BAND_Z, horizon_h),
        used_at_reset_high=curve.used_after(_BAND_Z, horizon_h),
        chance=curve.chance_of_all(horizon_h),
    )


class _Curve(Record):
    """Use over the hours to come: a pace, with a spread that grows as chance and as the pace's own error do."""

    used: float
    pace: float
    unevenness: float  # variance of what is spent in an hour
    span_h: float  # that the pace was measured over

    def demand_after(self, spread: float, hours: float) -> float:
        """Return what would be used if nothing stopped it, `spread` standard deviations from the middle."""
        chance = self.unevenness * (hours + hours * hours / self.span_h)
        change = _CHANGE * self.pace * hours * hours / (hours + self.span_h)
        rounding = _ROUNDING * hours / self.span_h / _BAND_Z
        return self.used + self.pace * hours + spread * (math.hypot(math.sqrt(chance), change) + rounding)

    def used_after(self, spread: float, hours: float) -> float:
        """Return what is used then: never less than now, never more than all."""
        return min(1.0, max(self.used, self.demand_after(spread, hours)))

    def chance_of_all(self, horizon_h: float) -> float:
        """Return how likely it is that 100 % is reached within the horizon, 0..1."""
        middle = self.demand_after(0.0, horizon_h)
        deviation = self.demand_after(1.0, horizon_h) - middle
        if not deviation > 0:
            return float(middle >= 1)
        return (1 + math.erf((middle - 1) / deviation / math.sqrt(2))) / 2

    def dry_after_h(self, spread: float, horizon_h: float) -> float | None:
        """Return after how many hours 100 % is reached; None: not within the horizon."""
        if not self.demand_after(spread, horizon_h) >= 1:
            return None
        low, high = 0.0, horizon_h
        for _ in range(_HALVINGS):  # the demand may dip first, but crosses 100 % once
            middle = (low + high) / 2
            low, high = (low, middle) if self.demand_after(spread, middle) >= 1 else (middle, high)
        return high


def _unevenness(cycle: Sequence[Reading]) -> float:
    """Return the variance per hour of a cycle's use, from equal blocks of it."""
    begin, span = cycle[0].at, cycle[-1].at - cycle[0].at
    marks = [_interpolate_use(cycle, begin + span * place / _BLOCKS) for place in range(_BLOCKS + 1)]
    spent = [later - earlier for earlier, later in pairwise(marks)]
    mean = sum(spent) / _BLOCKS
    return sum((each - mean) ** 2 for each in spent) / (_BLOCKS - 1) / (_hours(span) / _BLOCKS)


def _interpolate_use(cycle: Sequence[Reading], at: datetime) -> float:
    """Return the use at an instant inside the cycle, on a straight line between the readings around it."""
    place = bisect_right(cycle, at, key=lambda reading: reading.at)
    if place == len(cycle):
        return cycle[-1].used
    if place == 0:
        return cycle[0].used
    before, after = cycle[place - 1], cycle[place]
    return before.used + (after.used - before.used) * ((at - before.at) / (after.at - before.at))


def _hours(span: timedelta) -> float:
    return span.total_seconds() / 3600


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else to_text(instant)


def _minute(instant: datetime | None) -> str:
    return "?" if instant is None else f"{to_text(instant)[:16].replace('T', ' ')}Z"
