"""The work of a fortnight: a seeded stream of prompts, the same for every policy.

Four projects, each with its own days, hours, size of prompts and cost of turns. On a working day a project has one to
three sittings of prompts; a fifth of the sittings are heavy. Nights are quiet but for one project, weekends are thin.
"""

# ruff: noqa: S311 - seeded on purpose

from __future__ import annotations

import random
from collections.abc import Sequence

from fortnight_sim.vendor import HOUR
from oulipoly_engine.records import Record, replace

DAY = 24 * HOUR
TURN_S = 10.0  # how long a turn takes
DEAR = "dear"  # the model that costs ten times as much
DEAR_FACTOR = 10.0
_MOST_DEAR_TURNS = 30  # a longer one would want more than any 5 h window has
_DEAR_SHARE, _SESSION_SHARE = 0.1, 0.5  # of the prompts, and of the sittings


class Prompt(Record):
    """One piece of work, to be served by one account from beginning to end."""

    at_s: float
    turns: int
    turn_cost: float  # units
    project: int = 0
    sitting: int = 0
    session: int | None = None  # what stays on its account; None: a one-shot
    model: str = "model"

    @property
    def cost(self) -> float:
        """Return the units that it wants in all."""
        return self.turns * self.turn_cost


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


def fortnight(
    seed: int, demand: float, *, at_once: int = 1, has_models: bool = False, has_sessions: bool = False
) -> tuple[Prompt, ...]:
    """Return the prompts of a fortnight by time; together they want `demand` units.

    The pauses between prompts are fitted to the demand, so that a busier fortnight has more prompts, not dearer ones.
    at_once: so many prompts of a sitting, one after another otherwise, come at the same moment.
    """
    pace = 1.0
    for _ in range(8):
        prompts = _generate(random.Random(seed), pace, has_models=has_models, has_sessions=has_sessions)
        wanted = sum([prompt.turns * prompt.turn_cost for prompt in prompts])
        if abs(demand / wanted - 1) < 0.01:
            break
        pace *= demand / wanted
    rest = demand / wanted  # what the fitting leaves: a few percent
    scaled = [replace(prompt, turn_cost=prompt.turn_cost * rest) for prompt in prompts]
    return tuple(scaled if at_once == 1 else _bundle(scaled, at_once))


def _bundle(prompts: Sequence[Prompt], at_once: int) -> list[Prompt]:
    """Let each sitting's prompts come in groups, when the first of a group would; a session's come one by one."""
    begins: dict[tuple[int, int], float] = {}
    places: dict[int, int] = {}
    grouped: list[Prompt] = []
    for prompt in prompts:
        if prompt.session is not None:
            grouped.append(prompt)
            continue
        place = places.get(prompt.sitting, 0)
        places[prompt.sitting] = place + 1
        at_s = begins.setdefault((prompt.sitting, place // at_once), prompt.at_s)
        grouped.append(replace(prompt, at_s=at_s))
    return sorted(grouped, key=lambda prompt: prompt.at_s)


def _generate(rng: random.Random, pace: float, *, has_models: bool, has_sessions: bool) -> list[Prompt]:
    prompts: list[Prompt] = []
    sitting = 0
    for place, project in enumerate(_PROJECTS):
        for day in range(14):
            chance = project.weekend if day % 7 >= 5 else project.weekday
            if rng.random() < chance:
                for _ in range(rng.randint(1, 3)):
                    begin = day * DAY + rng.uniform(*project.hours) * HOUR
                    sitting += 1
                    own = random.Random(rng.getrandbits(32))  # so that another pace changes this sitting alone
                    session = sitting if has_sessions and own.random() < _SESSION_SHARE else None
                    model_rng = random.Random(own.getrandbits(32)) if has_models else None
                    for at_s, turns, cost in _sitting(own, project, begin, pace):
                        is_dear = model_rng is not None and model_rng.random() < _DEAR_SHARE
                        if is_dear:
                            turns, cost = min(turns, _MOST_DEAR_TURNS), cost * DEAR_FACTOR
                        model = DEAR if is_dear else "model"
                        prompts.append(Prompt(at_s, turns, cost, place, sitting, session, model))
    return sorted((prompt for prompt in prompts if prompt.at_s < 14 * DAY), key=lambda prompt: prompt.at_s)


def _sitting(rng: random.Random, project: _Project, begin_s: float, pace: float) -> list[tuple[float, int, float]]:
    length_s = min(4 * HOUR, rng.lognormvariate(0.3, 0.6) * HOUR)
    pace *= _HEAVY_PACE if rng.random() < _HEAVY_SHARE else 1
    prompts, at_s = [], begin_s
    while at_s < begin_s + length_s:
        turns = max(1, min(300, round(project.turns * rng.lognormvariate(0, 0.8))))
        prompts.append((at_s, turns, project.turn_cost * rng.lognormvariate(0, 0.4)))
        at_s += rng.expovariate(pace / project.gap_s)
    return prompts
