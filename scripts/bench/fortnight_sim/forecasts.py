"""How well ways to forecast do on the simulated fortnight: paces over several look-backs, and ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise

from fortnight_sim.policies import DEFAULT, POLICIES
from fortnight_sim.scenario import Scenario, build
from fortnight_sim.simulate import Simulation
from oulipoly_engine.core.quota.forecast import Forecast, Reading, State, current_cycle, forecast, pace_over
from oulipoly_engine.core.quota.forecast_score import Forecaster, ForecastScore, score
from oulipoly_engine.records import Record

POINTS = (0.1, 0.25, 0.5, 0.75, 0.9)
_ALL = 10**6

Pace = Callable[[Sequence[Reading], float], float]  # (cycle up to now, hours to its reset) -> fraction per hour


class Trial(Record):
    """One window's score under one way to forecast."""

    way: str
    label: str
    score: ForecastScore


def trials(seed: int, load: float, fleet: str) -> list[Trial]:
    """Play a fortnight under our own choice and score each way to forecast on each window's history."""
    played = Simulation(build(Scenario(fleet, load, seed)), POLICIES[DEFAULT])
    played.run()
    return [
        Trial(way, label, found)
        for (_, label), history in played.histories().items()
        for way, forecaster in WAYS.items()
        if (found := score(history, cycles=_ALL, points=POINTS, forecaster=forecaster)) is not None
    ]


def _by(pace: Pace) -> Forecaster:
    """Forecast by a pace alone, carried from now to the reset."""

    def forecaster(readings: Sequence[Reading], now: datetime) -> Forecast:
        if forecast(readings, now).state not in (State.STEADY, State.RUNS_DRY):  # the same windows for all
            return Forecast(State.NOT_ENOUGH_DATA)
        cycle = current_cycle(readings, now)
        last = cycle[-1]
        if now > last.at:
            cycle.append(Reading(now, last.used, last.resets_at))
        hours = (last.resets_at - now).total_seconds() / 3600
        expected = min(1.0, last.used + pace(cycle, hours) * hours)
        return Forecast(State.STEADY, used_at_reset=expected, used_at_reset_low=expected, used_at_reset_high=expected)

    return forecaster


def _weighted(scale_h: float) -> Pace:
    """Return a pace weighted exponentially by age."""

    def pace(cycle: Sequence[Reading], hours: float) -> float:
        del hours
        spent = weights = 0.0
        end = cycle[-1].at
        for before, after in pairwise(cycle):
            length = (after.at - before.at).total_seconds() / 3600
            old, young = ((end - each.at).total_seconds() / 3600 for each in (before, after))
            weight = math.exp(-young / scale_h) - math.exp(-old / scale_h)
            spent += max(0.0, after.used - before.used) / length * weight
            weights += weight
        return spent / weights if weights else 0.0

    return pace


WAYS: dict[str, Forecaster] = {
    "ours": forecast,
    "last half hour": _by(lambda cycle, _: pace_over(cycle, 0.5)),
    "last hour": _by(lambda cycle, _: pace_over(cycle, 1)),
    "last 3 hours": _by(lambda cycle, _: pace_over(cycle, 3)),
    "whole cycle": _by(lambda cycle, _: pace_over(cycle, math.inf)),
    "as long as the horizon": _by(lambda cycle, hours: pace_over(cycle, max(1, hours))),
    "weighted, 1 h": _by(_weighted(1)),
    "weighted, 6 h": _by(_weighted(6)),
    "weighted, 24 h": _by(_weighted(24)),
    "nothing more is used": _by(lambda _, __: 0.0),
}
