"""How many turns a prompt takes, from the lengths of past runs, and what running ones still owe. Pure.

A length is a run's assistant entries: the unit in which burn rates are learned. Lengths lie orders of magnitude apart,
so their spread is kept in the logarithm; what is charged is their plain mean, since quota is spent by the sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from oulipoly_engine.core.balance.decision import UNKNOWN_LENGTH, Expectation
from oulipoly_engine.core.runs.invocations import Lengths
from oulipoly_engine.records import Record

_LEAST_WEIGHT = 0.05  # of a new run: what a project asks for changes
_PRIOR_RUNS = 2.0  # that what lies behind an average counts as: three runs outweigh it
_MOST_RUNS = 1 / _LEAST_WEIGHT  # that an average can rest on with such a weight
_LEAST_OWED = 1.0  # turns of a run that goes on, however many it has taken


class RunningWork(Record):
    """A run that goes on and is charged: a one-shot, or the turn of a live session."""

    account: str
    expected_turns: float
    read_turns: int | None  # those that readings and transcripts know of; None: its session is not known yet


def add_length(before: Lengths | None, turns: int) -> Lengths:
    """Return what is kept once a run has ended. turns: 0 counts as 1."""
    turns = max(1, turns)
    logarithm = math.log(turns)
    if before is None:
        return Lengths(1, float(turns), logarithm, 0.0)
    runs = before.runs + 1
    weight = max(1 / runs, _LEAST_WEIGHT)
    step = logarithm - before.log_turns
    return Lengths(
        runs,
        before.turns + weight * (turns - before.turns),
        before.log_turns + weight * step,
        (1 - weight) * (before.log_variance + weight * step * step),
    )


def expect(project: Lengths | None, pool: Lengths | None) -> Expectation:
    """Return the expectation of a prompt: of its project's runs, drawn to its pool's, and those to the default.

    project, pool: of this model; None: none was counted yet.
    """
    return _draw(project, _draw(pool, UNKNOWN_LENGTH))


def _draw(lengths: Lengths | None, prior: Expectation) -> Expectation:
    if lengths is None:
        return prior
    runs = min(float(lengths.runs), _MOST_RUNS)
    share = runs / (runs + _PRIOR_RUNS)
    variance = share * lengths.log_variance + (1 - share) * prior.spread**2
    turns = share * lengths.turns + (1 - share) * prior.turns
    return Expectation(turns, math.sqrt(variance), lengths.runs)


def promise(works: Iterable[RunningWork], read_elsewhere: Mapping[str, int]) -> dict[str, float]:
    """Return how many turns the running work of each account will still take.

    read_elsewhere: by account, turns since the first of its runs whose session is not known, in sessions that began
    since: they are those runs' together, whichever is whose.
    """
    promised: dict[str, float] = {}
    unknown: dict[str, list[float]] = {}
    for work in works:
        if work.read_turns is None:
            unknown.setdefault(work.account, []).append(work.expected_turns)
            continue
        owed = max(_LEAST_OWED, work.expected_turns - work.read_turns)
        promised[work.account] = promised.get(work.account, 0.0) + owed
    for account, expected in unknown.items():
        owed = max(_LEAST_OWED * len(expected), sum(expected) - read_elsewhere.get(account, 0))
        promised[account] = promised.get(account, 0.0) + owed
    return promised
