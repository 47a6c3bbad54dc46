"""What is played: a fleet, a load, how many prompts at once, a seed, and named variations that are on or off."""

# ruff: noqa: S311 - seeded on purpose

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from fortnight_sim.vendor import FLEETS, FORTNIGHT, HOUR, REPORT_LAG_S, WEEK, Login, Plan, capacity
from fortnight_sim.work import DAY, TURN_S, Prompt, fortnight
from oulipoly_engine.records import Record, replace

VARIATIONS: Mapping[str, str] = {
    "late": "readings are ten minutes late",
    "rounded": "readings come in steps of 5 %",
    "missing": "each account cannot be read for an hour each day",
    "wrong": "one reading of each account in the fortnight says that nothing was used, or all",
    "changed": "half of the vendors cut their limits to 60 % in the middle of the first week",
    "person": "a person uses the largest account beside us, for a quarter of its week",
    "rolling": "all weekly windows begin at the first use",
    "sessions": "half of the sittings are sessions, which stay on their account; a move costs three turns",
    "models": "a tenth of the prompts go to a model that costs ten times as much",
}
LOADS = (0.4, 0.7, 0.9, 1.1, 1.4)  # work that is wanted, as a share of the weekly windows
BURST = 8  # prompts at once in a burst
MOVE_TURNS = 3  # what a session that goes on with another account spends on being told what was
_GROUP = 2  # a sitting's prompts come in groups of twice the number that may run at once
_BUSY_SHARE = 0.5  # of the hours in which work comes: turns take as long as it needs, and at most TURN_S


class Scenario(Record):
    """One fortnight to play."""

    fleet: str = "five"
    load: float = 0.9
    seed: int = 1000
    in_flight: int | None = None  # prompts that may run at once; the others wait. None: no limit
    burst: int = 1  # prompts of a sitting that come at once; where 2 or more may run at once, twice as many as that
    variations: frozenset[str] = frozenset()
    plans: tuple[Plan, ...] = ()  # instead of the fleet's

    @property
    def at_once(self) -> int:
        """Return how many prompts come at the same moment."""
        return self.burst if self.in_flight in (None, 1) else _GROUP * self.in_flight


class Instance(Record):
    """A scenario's vendors and work: the same for each policy."""

    scenario: Scenario
    plans: tuple[Plan, ...]  # in the order of the accounts
    prompts: tuple[Prompt, ...]  # by time
    turn_s: float  # how long a turn takes
    unread_s: tuple[float, ...]  # by account: the second of each day from which on it cannot be read for an hour
    wrong_s: tuple[float, ...]  # by account: the first reading from then on is wrong
    changes: tuple[tuple[float, int, float], ...]  # when, which account, its limits times what
    charges: tuple[tuple[float, int, float], ...]  # when, which account, units that a person spends beside us

    def logins(self) -> list[Login]:
        """Return the accounts as the fortnight begins."""
        rng = random.Random(self.scenario.seed)
        rng.sample(self.plans, len(self.plans))  # what the order of the accounts took
        return [Login(plan, rng) for plan in self.plans]


def build(scenario: Scenario) -> Instance:
    """Make up a scenario's fortnight. ValueError: a variation has no such name."""
    if unknown := scenario.variations - VARIATIONS.keys():
        raise ValueError(f"{', '.join(sorted(unknown))}: no such variation; there are {', '.join(VARIATIONS)}")
    plans = scenario.plans or FLEETS[scenario.fleet]
    if "rolling" in scenario.variations:
        plans = tuple(replace(plan, weekly_rolls=True) for plan in plans)
    shuffled = tuple(random.Random(scenario.seed).sample(plans, len(plans)))
    rng = random.Random(scenario.seed + 3)
    prompts = fortnight(
        scenario.seed,
        scenario.load * capacity(plans),
        at_once=scenario.at_once,
        has_models="models" in scenario.variations,
        has_sessions="sessions" in scenario.variations,
    )
    return Instance(
        scenario,
        shuffled,
        prompts,
        _turn_s(prompts, scenario.in_flight),
        tuple(rng.uniform(7, 20) * HOUR for _ in plans),
        tuple(rng.uniform(0, FORTNIGHT) for _ in plans),
        _changes(shuffled, rng) if "changed" in scenario.variations else (),
        _person(shuffled, rng) if "person" in scenario.variations else (),
    )


def lag_s(scenario: Scenario) -> float:
    """Return how old what a reading shows is."""
    return 10 * REPORT_LAG_S if "late" in scenario.variations else REPORT_LAG_S


def _turn_s(prompts: tuple[Prompt, ...], in_flight: int | None) -> float:
    """Return how long a turn takes, so that a fortnight's work fits through what may run at once."""
    if in_flight is None:
        return TURN_S
    hours = len({int(prompt.at_s // HOUR) for prompt in prompts})
    turns = sum(prompt.turns for prompt in prompts)
    return min(TURN_S, _BUSY_SHARE * hours * HOUR * in_flight / turns)


def _changes(plans: Sequence[Plan], rng: random.Random) -> tuple[tuple[float, int, float], ...]:
    places = sorted(rng.sample(range(len(plans)), (len(plans) + 1) // 2))
    return tuple((WEEK / 2, place, 0.6) for place in places)


def _person(plans: Sequence[Plan], rng: random.Random) -> tuple[tuple[float, int, float], ...]:
    place = max(range(len(plans)), key=lambda index: plans[index].weekly)
    day_units = plans[place].weekly / 4 / 7
    return tuple(
        (day * DAY + (9 + slot / 6) * HOUR + rng.uniform(0, 600), place, day_units / 48)
        for day in range(14)
        for slot in range(48)
    )
