"""Clairvoyant plays: they know all demand, all windows and each prompt's true cost, and play by the same rules.

Each is feasible: one account from a prompt's beginning to its end, begun when its turn comes, or left undone. What a
clairvoyant could do at best is not known, so that the best of some dozens of plays stands for it: random rules first,
then rules near the best ones, and on short instances a search for prompts that had better gone elsewhere. A clairvoyant
may also repeat what any other rule played, so it is never worse.
"""

# ruff: noqa: S311 - seeded on purpose

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from fortnight_sim.known import View
from fortnight_sim.scenario import Instance
from fortnight_sim.simulate import SLICE_TURNS, Outcome, Simulation
from fortnight_sim.vendor import Meter
from fortnight_sim.work import Prompt
from oulipoly_engine.records import Record, replace

PLAYS = (10, 12)  # besides two fixed rules: by rules drawn at random, then by rules near the best
_BEST = 3  # so many rules are searched around, by turns of those that lose least and that leave least unused
_SEARCH_PROMPTS = 20_000  # that are played again in a local search, and none on instances of more than the next number
_LONGEST_SEARCHED = 400
_NEAR = 12  # a prompt that was lost is helped by one of so many before it, or by itself
_DECLINE = -1
_MARGIN = 1e-9


class Weights(Record):
    """How a clairvoyant rule ranks the accounts on which a prompt fits; the highest sum wins."""

    weekly: float  # of the log of what is left of the week over the demand until its reset
    burst: float  # the same of the 5 h window
    no_burst: float  # what stands for it where an account has none
    fit: float  # against what would be left of the tightest window
    soon: float  # against the hours to the week's reset
    open: float  # for a 5 h window that runs already
    noise: float
    tries: bool = False  # begins a prompt that fits nowhere, as rules do that do not know its cost


# One that lost little on seeds for design, and one that spends what lapses first even where a prompt will be cut off.
_FIRST = (
    Weights(weekly=0.8, burst=0.4, no_burst=-1.8, fit=0.2, soon=0.4, open=0.0, noise=0.0),
    Weights(weekly=0.0, burst=0.0, no_burst=0.0, fit=0.0, soon=5.0, open=0.0, noise=0.0, tries=True),
)


def draw(rng: random.Random) -> Weights:
    """Draw a rule at random."""
    return Weights(
        weekly=rng.choice([0.0, 0.5, 1.0]) * rng.uniform(0.5, 1.5),
        burst=rng.choice([0.0, 0.5, 1.0]) * rng.uniform(0.5, 1.5),
        no_burst=rng.uniform(-3.0, 1.0),
        fit=rng.choice([0.0, 0.3, 1.0]) * rng.uniform(0.5, 1.5),
        soon=rng.choice([0.0, 0.5, 1.0]) * rng.uniform(0.5, 1.5),
        open=rng.choice([0.0, 0.5]) * rng.uniform(-1.0, 2.0),
        noise=rng.choice([0.0, 0.0, 0.1]),
        tries=rng.random() < 0.3,
    )


def near(weights: Weights, rng: random.Random) -> Weights:
    """Draw a rule near another one."""
    return replace(
        weights,
        **{
            name: getattr(weights, name) + rng.gauss(0, 0.25)
            for name in ("weekly", "burst", "no_burst", "fit", "soon", "open")
            if rng.random() < 0.5
        },
    )


class Demand:
    """The units that prompts want by any moment."""

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self._times = [prompt.at_s for prompt in prompts]
        self._sums = [0.0, *accumulate(prompt.cost for prompt in prompts)]
        self._known: dict[float, float] = {}

    def until(self, end_s: float) -> float:
        """Return the units that are wanted up to a moment, such as a reset, of which there are few."""
        if (units := self._known.get(end_s)) is None:
            units = self._known[end_s] = self._sums[bisect_right(self._times, end_s)]
        return units


def clairvoyant(
    weights: Weights, demand: Demand, seed: int, overrides: Mapping[Prompt, int] | None = None
) -> Callable[[View], int | None]:
    """Return the policy of a rule: of the accounts on which the prompt fits the best ranked, or none.

    overrides: prompts that begin elsewhere, or not at all.
    """
    rng = random.Random(seed)

    def decide(view: View) -> int | None:
        simulation, prompt, now_s = view.truth, view.prompt, view.now_s
        assert simulation is not None  # noqa: S101 - for type checkers
        assert prompt is not None  # noqa: S101
        duration_s = prompt.turns * simulation.instance.turn_s
        if overrides and not view.attempted and (place := overrides.get(prompt)) is not None:
            if place == _DECLINE:
                return None
            if not simulation.logins[place].refuses(now_s):
                return place
        cost = prompt.cost
        last = ((prompt.turns - 1) % SLICE_TURNS + 1) * prompt.turn_cost
        until_now = demand.until(now_s)
        best, best_value, is_fit = None, -math.inf, False
        for place, login in enumerate(simulation.logins):
            if place in view.attempted:
                continue
            fits, lefts, promised = True, [], simulation.promised[place]
            for meter in login.meters:
                resets_s = meter.resets_s
                if resets_s is not None and now_s >= resets_s:
                    meter.pass_time(now_s)
                    resets_s = meter.resets_s
                needed, ahead_s = cost - last, meter.length_s if resets_s is None else resets_s - now_s
                if ahead_s < duration_s:  # what comes after the reset does not count
                    needed *= ahead_s / duration_s
                left = meter.size - meter.spent - promised
                fits = fits and needed < left - _MARGIN
                lefts.append((meter, left, now_s + ahead_s))
            if not fits and (is_fit or not weights.tries or login.refuses(now_s)):
                continue
            if fits and place == view.stays_on:
                return place
            value = _rank(weights, lefts, cost, now_s, demand, until_now)
            if weights.noise:
                value += rng.gauss(0, weights.noise)
            if value > best_value or (fits and not is_fit):
                best, best_value, is_fit = place, value, fits
        return best

    return decide


def play(instance: Instance, plays: tuple[int, int] = PLAYS) -> list[Outcome]:
    """Return what came of each clairvoyant play."""
    rng, demand = random.Random(instance.scenario.seed), Demand(instance.prompts)
    runs: list[tuple[Weights, Outcome]] = []

    def run(weights: Weights) -> None:
        policy = clairvoyant(weights, demand, len(runs))
        runs.append((weights, Simulation(instance, policy, has_readings=False).run()))

    for weights in _FIRST:
        run(weights)
    for _ in range(plays[0]):
        run(draw(rng))
    for turn in range(plays[1]):
        best = sorted(runs, key=lambda each: each[1].weekly_unused if turn % 2 else each[1].lost)[:_BEST]
        run(near(rng.choice(best)[0], rng))
    outcomes = [outcome for _, outcome in runs]
    if any(plays) and len(instance.prompts) <= _LONGEST_SEARCHED:
        outcomes.append(_search(instance, min(runs, key=lambda each: each[1].lost)[0], rng, demand))
    return outcomes


def _search(instance: Instance, weights: Weights, rng: random.Random, demand: Demand) -> Outcome:
    """Send prompts elsewhere that came before one that was lost, as long as no more is lost."""
    places = {prompt: place for place, prompt in enumerate(instance.prompts)}
    choices = [_DECLINE, *range(len(instance.plans))]

    def run(overrides: Mapping[Prompt, int]) -> tuple[Outcome, list[Prompt]]:
        policy = clairvoyant(replace(weights, noise=0.0), demand, 0, overrides)
        simulation = Simulation(instance, policy, has_readings=False)
        return simulation.run(), simulation.lost

    overrides: dict[Prompt, int] = {}
    best, lost = run(overrides)
    for _ in range(_SEARCH_PROMPTS // len(instance.prompts)):
        if not lost:
            break
        trial = dict(overrides)
        end = places[rng.choice(lost)]
        for _ in range(rng.randint(1, 3)):
            trial[instance.prompts[rng.randint(max(0, end - _NEAR), end)]] = rng.choice(choices)
        outcome, still_lost = run(trial)
        if outcome.lost <= best.lost:
            best, lost, overrides = outcome, still_lost, trial
    return best


def _rank(  # noqa: PLR0913, RUF100 - all that a rule may weigh
    weights: Weights,
    lefts: Sequence[tuple[Meter, float, float]],
    cost: float,
    now_s: float,
    demand: Demand,
    until_now: float,
) -> float:
    """Return how good an account is. lefts: each window, what it has left beside what is promised, when it resets."""
    value = 0.0
    tightest = math.inf
    for meter, left, resets_s in lefts:
        tightest = min(tightest, left)
        is_weekly = meter.label == "weekly"
        weight = weights.weekly if is_weekly else weights.burst
        if weight:
            wanted = demand.until(resets_s) - until_now
            value += weight * math.log(max(left, 1.0) / max(wanted, cost))
        if is_weekly:
            value -= weights.soon * math.log(max(resets_s - now_s, 600.0))
        elif meter.resets_s is not None:
            value += weights.open
    if len(lefts) == 1:
        value += weights.no_burst
    return value - weights.fit * math.log(max(tightest - cost, 1.0)) if weights.fit else value
