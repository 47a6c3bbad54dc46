"""How far off forecasts were: past cycles replayed. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime

from oulipoly_engine.core.quota.forecast import SAME_RESET, SMALL_FALL, Forecast, Reading, State, forecast
from oulipoly_engine.core.quota.window_cycles import near
from oulipoly_engine.records import Record

LAST_CYCLES = 8
POINTS = (0.25, 0.5, 0.75)  # of a cycle, at which the forecast is replayed
_MIN_CYCLES = 2

Forecaster = Callable[[Sequence[Reading], datetime], Forecast]


class ForecastScore(Record):
    """How good the forecasts of the last complete cycles were."""

    cycles: int
    forecasts: int  # of the use at the reset
    mean_error: float  # mean distance of forecast and outcome, 0..1 of the window
    bias: float  # mean of forecast minus outcome: above 0, more was feared than came
    covered: float  # 0..1: share of the outcomes that lay inside the band
    dry_forecasts: int  # said to run out, and did
    dry_error_h: float | None  # mean distance of these from the instant when it did; None: there was none


def score(
    history: Sequence[Reading],
    *,
    cycles: int = LAST_CYCLES,
    points: Sequence[float] = POINTS,
    forecaster: Forecaster = forecast,
) -> ForecastScore | None:
    """Replay the last complete cycles of one window and compare forecasts with what came.

    history: oldest first. None: fewer than two complete cycles whose outcome is known, or no forecast was possible.
    """
    known = [cycle for cycle in complete_cycles(history) if _outcome(cycle) is not None][-cycles:]
    if len(known) < _MIN_CYCLES:
        return None
    replayed = [(_replay(cycle, point, forecaster), cycle) for cycle in known for point in points]
    trials = [trial for found, cycle in replayed if (trial := _trial(found, cycle)) is not None]
    if not trials:
        return None
    dry = [trial.dry_error_h for trial in trials if trial.dry_error_h is not None]
    return ForecastScore(
        cycles=len(known),
        forecasts=len(trials),
        mean_error=sum(abs(trial.error) for trial in trials) / len(trials),
        bias=sum(trial.error for trial in trials) / len(trials),
        covered=sum(trial.covered for trial in trials) / len(trials),
        dry_forecasts=len(dry),
        dry_error_h=sum(dry) / len(dry) if dry else None,
    )


def complete_cycles(history: Sequence[Reading]) -> list[tuple[Reading, ...]]:
    """Split a history into the cycles that ended with their reset; cut-off ones and the last are left out."""
    found: list[tuple[Reading, ...]] = []
    cycle: list[Reading] = []
    for reading in _credible(history):
        if cycle and _begins_anew(reading, cycle[-1]):
            if reading.at >= cycle[-1].resets_at - SAME_RESET:
                found.append(tuple(cycle))
            cycle = []
        cycle.append(reading)
    return found


def score_text(found: ForecastScore) -> str:
    """Say a score in a few words."""
    text = f"{100 * found.mean_error:.0f} % off over {found.cycles} cycles"
    return text if found.dry_error_h is None else f"{text}, running out {found.dry_error_h:.1f} h off"


def score_to_json(found: ForecastScore) -> dict[str, object]:
    """Render a score as JSON values: errors are fractions of the window and hours; unknown is null."""
    return {
        "cycles": found.cycles,
        "forecasts": found.forecasts,
        "mean_error": found.mean_error,
        "bias": found.bias,
        "covered": found.covered,
        "dry_forecasts": found.dry_forecasts,
        "dry_error_hours": found.dry_error_h,
    }


class _Trial(Record):
    error: float
    covered: bool
    dry_error_h: float | None


def _credible(history: Sequence[Reading]) -> list[Reading]:
    """Leave out what cannot be: no number, or later than a newer reading, as a clock that went back leaves them."""
    kept: list[Reading] = []
    for reading in reversed(history):
        if math.isfinite(reading.used) and (not kept or reading.at < kept[-1].at):
            kept.append(Reading(reading.at, min(1.0, max(0.0, reading.used)), reading.resets_at))
    kept.reverse()
    return kept


def _begins_anew(reading: Reading, before: Reading) -> bool:
    moved = abs(reading.resets_at - before.resets_at) > SAME_RESET
    return moved or reading.used < before.used - SMALL_FALL


def _outcome(cycle: Sequence[Reading]) -> float | None:
    """Return the use at the cycle's reset, if its last reading tells: it is near, or nothing was left to spend."""
    last = cycle[-1]
    is_near = last.resets_at - last.at <= near(last.resets_at - cycle[0].at)
    return last.used if last.used >= 1 or is_near else None


def _replay(cycle: Sequence[Reading], point: float, forecaster: Forecaster) -> Forecast:
    now = cycle[0].at + (cycle[-1].resets_at - cycle[0].at) * point
    return forecaster([reading for reading in cycle if reading.at <= now], now)


def _trial(found: Forecast, cycle: Sequence[Reading]) -> _Trial | None:
    outcome = cycle[-1].used
    expected, low, high = found.used_at_reset, found.used_at_reset_low, found.used_at_reset_high
    if found.state is State.SPENT or expected is None or low is None or high is None:
        return None  # that a spent window stays spent is not a forecast
    dry_at = next((reading.at for reading in cycle if reading.used >= 1), None)
    is_dry = found.state is State.RUNS_DRY and found.at is not None and dry_at is not None
    off_h = abs((found.at - dry_at).total_seconds()) / 3600 if is_dry and found.at and dry_at else None
    return _Trial(expected - outcome, low <= outcome <= high, off_h)
