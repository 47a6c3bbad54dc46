"""Play many scenarios, and say how far each rule is on the way from the best rival to the best clairvoyant run.

A measure's best rival is the one with the best mean over all cells of a table; the way is 0 there and 1 at the mean of
the best clairvoyant runs. What is printed in brackets holds in 95 of 100 bootstraps over the seeds of each cell.
"""

# ruff: noqa: S311 - seeded on purpose

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor

from fortnight_sim import oracle
from fortnight_sim.policies import POLICIES
from fortnight_sim.rivals import RIVALS
from fortnight_sim.scenario import Scenario, build
from fortnight_sim.simulate import Outcome, Simulation
from fortnight_sim.vendor import FLEETS, capacity
from oulipoly_engine.records import Record, replace

CLAIRVOYANT = "clairvoyant"
_RESAMPLES, _LEVEL = 400, 0.025
_HIGHER_IS_BETTER = "first_refusal"

Cell = Scenario  # with seed 0
Values = Mapping[str, float]  # a measure -> its value


class Job(Record):
    """One scenario to play by some rules."""

    scenario: Scenario
    rules: tuple[str, ...]
    plays: tuple[int, int]  # of the clairvoyant; (0, 0): none


class Mean(Record):
    """A mean, and the ends of its 95 %."""

    mean: float
    low: float
    high: float


def run(job: Job) -> dict[str, Values]:
    """Play a scenario by each rule and by the clairvoyant, and return the measures by rule."""
    instance = build(job.scenario)
    outcomes = {rule: Simulation(instance, POLICIES[rule]).run() for rule in job.rules}
    values = {rule: measure(outcome) for rule, outcome in outcomes.items()}
    if any(job.plays):
        values[CLAIRVOYANT] = best_of([*values.values(), *map(measure, oracle.play(instance, job.plays))], values)
    return values


def measure(outcome: Outcome) -> Values:
    """Return the measures of one fortnight."""
    return {
        "lost": outcome.lost,
        "refusals": outcome.refusals,
        "first_refusal": outcome.first_refusal,
        "weekly_unused": outcome.weekly_unused,
        "weekly_useless": outcome.weekly_useless,
    }


def best_of(plays: Sequence[Values], rules: Mapping[str, Values]) -> Values:
    """Return each measure's best over all plays; refusals of those alone that lose no more than the best rule.

    Else whoever begins nothing would be refused nothing.
    """
    least_lost = min(values["lost"] for values in rules.values())
    sound = [values for values in plays if values["lost"] <= least_lost + 1e-9]
    return {
        "lost": min(values["lost"] for values in plays),
        "refusals": min(values["refusals"] for values in sound),
        "first_refusal": max(values["first_refusal"] for values in sound),
        "weekly_unused": min(values["weekly_unused"] for values in plays),
        "weekly_useless": min(values["weekly_useless"] for values in plays),
    }


class Results:
    """The measures of a table's cells: by cell, a list over the seeds of measures by rule."""

    def __init__(self, cells: Mapping[Cell, Sequence[Mapping[str, Values]]]) -> None:
        self.cells = cells
        first = next(iter(cells.values()))[0]
        self.rules = tuple(first)
        self.rivals = [rule for rule in self.rules if rule in RIVALS]
        rng = random.Random(1)
        self._picks = [
            [[rng.randrange(len(seeds)) for _ in seeds] for seeds in cells.values()] for _ in range(_RESAMPLES)
        ]
        self._means: dict[tuple[str, str], tuple[float, list[float]]] = {}

    def mean(self, rule: str, measure: str) -> Mean:
        """Return a rule's mean of a measure over the cells."""
        mean, samples = self._sampled(rule, measure)
        return Mean(mean, *_ends(samples))

    def best_rival(self, measure: str) -> str:
        """Return the rival with the best mean of a measure."""
        pick = max if measure == _HIGHER_IS_BETTER else min
        return pick(self.rivals, key=lambda rule: self._sampled(rule, measure)[0])

    def way(self, rule: str, measure: str) -> Mean | None:
        """Return how far a rule is on the way from the best rival to the clairvoyant; None if these are the same."""
        parts = [self._sampled(who, measure) for who in (self.best_rival(measure), rule, CLAIRVOYANT)]
        samples = [_share(*values) for values in zip(*(samples for _, samples in parts), strict=True)]
        way = _share(*(mean for mean, _ in parts))
        if way is None or None in samples:
            return None
        return Mean(way, *_ends([value for value in samples if value is not None]))

    def ratio(self, rule: str, measure: str) -> Mean | None:
        """Return a rule's mean as a multiple of the best rival's; None if that is 0."""
        (own, owns), (other, others) = (self._sampled(who, measure) for who in (rule, self.best_rival(measure)))
        if not other or not all(others):
            return None
        return Mean(own / other, *_ends([one / two for one, two in zip(owns, others, strict=True)]))

    def worse_cells(self, rule: str) -> list[tuple[Cell, Mean]]:
        """Return the cells in which a rule loses more than the best rival by more than noise, and how much."""
        rival = self.best_rival("lost")
        worse = []
        rng = random.Random(2)
        for cell, seeds in self.cells.items():
            gaps = [values[rule]["lost"] - values[rival]["lost"] for values in seeds]
            means = [sum(rng.choices(gaps, k=len(gaps))) / len(gaps) for _ in range(_RESAMPLES)]
            gap = Mean(sum(gaps) / len(gaps), *_ends(means))
            if gap.low > 0:
                worse.append((cell, gap))
        return worse

    def _sampled(self, rule: str, measure: str) -> tuple[float, list[float]]:
        if (known := self._means.get((rule, measure))) is not None:
            return known
        columns = [[values[rule][measure] for values in seeds] for seeds in self.cells.values()]
        mean = sum(sum(column) / len(column) for column in columns) / len(columns)
        samples = [
            sum(sum([column[place] for place in pick]) / len(pick) for column, pick in zip(columns, picks, strict=True))
            / len(columns)
            for picks in self._picks
        ]
        self._means[rule, measure] = mean, samples
        return mean, samples


def play(
    workers: Executor, cells: Iterable[Cell], seeds: Sequence[int], rules: Sequence[str], plays: tuple[int, int]
) -> Results:
    """Play each cell with each seed."""
    cells = list(cells)
    jobs = [Job(replace(cell, seed=seed), tuple(rules), plays) for cell in cells for seed in seeds]
    jobs.sort(key=lambda job: -job.scenario.load * capacity(FLEETS[job.scenario.fleet]))  # the longest first
    found = {job.scenario: values for job, values in zip(jobs, workers.map(run, jobs), strict=True)}
    return Results({cell: [found[replace(cell, seed=seed)] for seed in seeds] for cell in cells})


def _ends(samples: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(samples)
    cut = int(_LEVEL * len(ordered))
    return ordered[cut], ordered[-1 - cut]


def _share(rival: float, own: float, clairvoyant: float) -> float | None:
    gap = rival - clairvoyant
    return None if abs(gap) < 1e-9 else (rival - own) / gap
