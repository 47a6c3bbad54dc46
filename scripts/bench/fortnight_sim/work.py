"""The work of a fortnight: a seeded stream of prompts, the same for every policy.

Four projects, each with its own days, hours, size of prompts and cost of turns. On a working day a project has one to
three sittings of prompts; a fifth of the sittings are heavy. Nights are quiet but for one project, weekends are thin.
"""

# ruff: noqa: S311 - seeded on purpose

from __future__ import annotations

import random

from fortnight_sim.vendor import HOUR
from oulipoly_engine.records import Record

DAY = 24 * HOUR
TURN_S = 10.0  # how long a turn takes


class Prompt(Record):
    """One piece of work, to be served by one account from beginning to end."""

    at_s: float
    turns: int
    turn_cost: float  # units


class _Project(Record):
    turns: float  # median of a prompt
    turn_cost: float  # median, units
    hours: tuple[float, float]  # of the day in which sittings begin
    gap_s: float  # mean pause between prompts of a sitting
    weekend: float = 0.25  # chance of work on a Saturday or Sunday
    weekday: float = 0.85


_PROJECTS = (
    _Project(turns=6, turn_cost=0.6, hours=(8, 18), gap_s=240),
    _Project(turns=15, turn_cost=1.0, hours=(9, 17), gap_s=420),
    _Project(turns=30, turn_cost=1.6, hours=(10, 20), gap_s=900),
    _Project(turns=20, turn_cost=1.2, hours=(22, 26), gap_s=900, weekday=0.5, weekend=0.5),
)
_HEAVY_SHARE, _HEAVY_PACE = 0.2, 4.0  # how many sittings are heavy, and how much faster their prompts come


def fortnight(seed: int, demand: float) -> tuple[Prompt, ...]:
    """Return the prompts of a fortnight by time; together they want `demand` units.

    The pauses between prompts are fitted to the demand, so that a busier fortnight has more prompts, not dearer ones.
    """
    pace = 1.0
    for _ in range(8):
        prompts = _generate(random.Random(seed), pace)
        wanted = sum(prompt.turns * prompt.turn_cost for prompt in prompts)
        pace *= demand / wanted
    rest = demand / wanted  # what the fitting leaves: a few percent
    return tuple(Prompt(prompt.at_s, prompt.turns, prompt.turn_cost * rest) for prompt in prompts)


def _generate(rng: random.Random, pace: float) -> list[Prompt]:
    prompts: list[Prompt] = []
    for project in _PROJECTS:
        for day in range(14):
            chance = project.weekend if day % 7 >= 5 else project.weekday
            if rng.random() < chance:
                for _ in range(rng.randint(1, 3)):
                    begin = day * DAY + rng.uniform(*project.hours) * HOUR
                    prompts += _sitting(rng.getrandbits(32), project, begin, pace)
    return sorted((prompt for prompt in prompts if prompt.at_s < 14 * DAY), key=lambda prompt: prompt.at_s)


def _sitting(seed: int, project: _Project, begin_s: float, pace: float) -> list[Prompt]:
    rng = random.Random(seed)  # its own, so that another pace changes this sitting alone
    length_s = min(4 * HOUR, rng.lognormvariate(0.3, 0.6) * HOUR)
    pace *= _HEAVY_PACE if rng.random() < _HEAVY_SHARE else 1
    prompts, at_s = [], begin_s
    while at_s < begin_s + length_s:
        turns = max(1, min(300, round(project.turns * rng.lognormvariate(0, 0.8))))
        prompts.append(Prompt(at_s, turns, project.turn_cost * rng.lognormvariate(0, 0.4)))
        at_s += rng.expovariate(pace / project.gap_s)
    return prompts
