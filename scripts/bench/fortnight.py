#!/usr/bin/env python3
"""Judge our choice of account: other tools' rules, and what a clairvoyant could do, over simulated fortnights.

Run `python scripts/bench/fortnight.py` inside the project's environment, or anywhere with PYTHONPATH=engine: the quick
form takes a minute or two, `--whole` plays 40 cells with 15 seeds each and more, in half an hour on two cores, and
`--docs` writes what `--whole` says into the docs. `--fleet`, `--load`, `--in-flight`, `--burst` and `--with` play cells
of your own. `--exact` sets rules and clairvoyant beside the best plan, on small instances of which a solver knows it
(the extra `solver`; `--whole` does so too where that is installed). `--forecasts` scores the forecast instead,
`--alerts` its alerts.

Accounts (`fortnight_sim/vendor.py`) get the same seeded work (`fortnight_sim/work.py`) under each rule; a load is the
work wanted as a share of what the weekly windows offer. Rules see stored readings alone: whole percents, a minute late,
refreshed when older than 30 s, 2 % of the requests refused and then left alone for 5 minutes. An account that refuses
or cuts off a prompt is marked, and the prompt begins again on another; when nobody is left it is lost.

  work lost         share of the work wanted that nobody served
  refusals          how often accounts refused or cut off a prompt
  before the first  prompts served before an account first refused or cut off one; all, if none ever did
  unused            quota left at the weekly resets, weighted by plan size
  unused or wasted  the same, with what went into prompts that were cut off

Rules are designed on seeds 20000 to 20999; what is published begins at 40000. The most-headroom rule was designed on
seeds 0 to 29, the rule of alerts on 5000 to 5029, with fresh seeds from 7000.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any

from fortnight_sim import exact, oracle, tables
from fortnight_sim.alerts import RULES, count_alerts
from fortnight_sim.forecasts import WAYS, Trial, trials
from fortnight_sim.judge import Results, play
from fortnight_sim.policies import DEFAULT, JUDGED, OURS, POLICIES
from fortnight_sim.scenario import BURST, LOADS, VARIATIONS, Scenario
from fortnight_sim.vendor import FLEETS

from oulipoly_engine.records import asdict

FIRST_SEED = 40000
_NEAR_CAPACITY = 0.9
_MAIN, _MANY, _FAULTS = "In sequence and 8 in flight", "30 accounts", "What goes wrong"
_LONG_SEEDS = 30  # of forecasts and alerts
_QUICK_SEEDS, _QUICK_PLAYS = 4, (8, 4)  # seeds a cell, and plays of the clairvoyant
_WHOLE = {_MAIN: (15, oracle.PLAYS), _MANY: (3, (3, 3))}
_WHOLE_ELSE = (6, oracle.PLAYS)

Counts = Counter[tuple[str, str, str]]  # (rule of alerts, window, what came of it) -> cycles


def main() -> int:
    """Play the fortnights and print the tables."""
    options = _parse()
    seeds = range(options.first_seed, options.first_seed + max(2, options.seeds or _LONG_SEEDS))
    fleets = options.fleet or ["five"]
    with ProcessPoolExecutor(options.processes, initializer=_begin_worker, initargs=(options.nice,)) as workers:
        if options.exact:
            print("\n".join(_exact_lines(workers, options.first_seed)))
        elif options.alerts:
            alerts = {fleet: _play_alerts(workers, seeds, fleet) for fleet in fleets}
            _print(options, {fleet: _alert_document(counts) for fleet, counts in alerts.items()}, alerts, _alert_lines)
        elif options.forecasts:
            scores = {fleet: _play_forecasts(workers, seeds, fleet) for fleet in fleets}
            _print(options, {fleet: [*map(asdict, found)] for fleet, found in scores.items()}, scores, _forecast_lines)
        else:
            sections = _play(workers, options)
            lines = list(_lines(sections, options.judge, options.first_seed))
            if options.whole:
                lines += ["", *_exact_lines(workers, options.first_seed)]
            print(json.dumps(tables.document(sections)) if options.json else "\n".join(lines))
            if options.docs:
                tables.write_page(lines)
    return 0


def _print(
    options: argparse.Namespace, document: object, by_fleet: Mapping[str, Any], lines: Callable[[Any], Iterator[str]]
) -> None:
    if options.json:
        print(json.dumps(document))
        return
    for fleet, found in by_fleet.items():
        print(f"{fleet}:", *lines(found), sep="\n")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whole", action="store_true", help="all cells, 15 seeds each")
    parser.add_argument("--docs", action="store_true", help="the whole form, written into docs/choosing-an-account.md")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds a cell")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, metavar="SEED", help=f"default {FIRST_SEED}")
    parser.add_argument("--fleet", type=_names(FLEETS), metavar="NAMES", help=", ".join(FLEETS))
    parser.add_argument("--load", type=_list(float), metavar="SHARES", help=f"such as {LOADS[0]},{LOADS[-1]}")
    parser.add_argument("--in-flight", type=_list(int), metavar="NUMBERS", help="1 to 16; 0: no limit, no queue")
    parser.add_argument("--burst", type=int, default=1, metavar="N", help=f"prompts that come at once, such as {BURST}")
    parser.add_argument("--with", dest="variations", type=_names(VARIATIONS), default=[], metavar="NAMES")
    parser.add_argument("--rules", type=_names(POLICIES), help="play these alone")
    parser.add_argument("--judge", choices=OURS, default=JUDGED, help=f"default {JUDGED}")
    parser.add_argument("--no-clairvoyant", action="store_true")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--nice", type=int, default=10, metavar="N", help="of the processes that play; default 10")
    parser.add_argument("--exact", action="store_true", help="small instances, beside the best plan")
    parser.add_argument("--forecasts", action="store_true", help="score the forecast, near capacity")
    parser.add_argument("--alerts", action="store_true", help="count which alerts came true")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    options.whole = options.whole or options.docs
    if options.docs and (_has_own_cells(options) or options.rules or options.no_clairvoyant or options.json):
        parser.error("--docs writes all cells and all rules: leave the others out, but --seeds and --first-seed")
    if (options.docs or options.exact) and not exact.is_solver_installed():
        parser.error(exact.HOW_TO_INSTALL)
    return options


def _begin_worker(niceness: int) -> None:
    os.nice(niceness)
    os.dup2(2, 1)  # what the solver prints is no part of the tables


def _names(known: Mapping[str, object]):  # noqa: ANN202 - a parser of argparse
    def parse(text: str) -> list[str]:
        names = text.split(",")
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not among {', '.join(known)}")
        return names

    return parse


def _list(kind: type):  # noqa: ANN202 - a parser of argparse
    return lambda text: [kind(part) for part in text.split(",")]


def _has_own_cells(options: argparse.Namespace) -> bool:
    return options.burst > 1 or any((options.fleet, options.load, options.in_flight, options.variations))


def _sections(options: argparse.Namespace) -> dict[str, list[Scenario]]:
    """Return the cells to play, by the name of their table."""
    if _has_own_cells(options):
        grid = itertools.product(options.fleet or ["five"], options.load or [_NEAR_CAPACITY], options.in_flight or [8])
        return {
            "Cells of your own": [
                Scenario(fleet, load, 0, count or None, options.burst, frozenset(options.variations))
                for fleet, load, count in grid
            ]
        }
    if not options.whole:
        return {_MAIN: _grid(["two", "five"], (0.7, 0.9, 1.1), (1, 8))}
    return {
        _MAIN: _grid(["two", "two-equal", "five", "five-equal"], LOADS, (1, 8)),
        _MANY: _grid(["thirty"], (0.7, 1.1), (1, 8)),
        "Other numbers in flight, and bursts": [
            *_grid(["five"], (0.7, 1.1), (2, 4, 16)),
            *(Scenario("five", load, 0, None, BURST) for load in (0.7, 1.1)),
        ],
        _FAULTS: [
            Scenario("five", _NEAR_CAPACITY, 0, 8, 1, frozenset(names))
            for names in [(), *((name,) for name in VARIATIONS)]
        ],
    }


def _grid(fleets: Sequence[str], loads: Sequence[float], counts: Sequence[int]) -> list[Scenario]:
    return [Scenario(fleet, load, 0, count) for fleet, load, count in itertools.product(fleets, loads, counts)]


def _play(workers: Executor, options: argparse.Namespace) -> dict[str, Results]:
    rules = options.rules or list(POLICIES)
    played = {}
    for name, cells in _sections(options).items():
        count, plays = options.seeds or _QUICK_SEEDS, _QUICK_PLAYS
        if options.whole:
            count, plays = _WHOLE.get(name, _WHOLE_ELSE)
            count = options.seeds or count
        seeds = range(options.first_seed, options.first_seed + max(2, count))
        print(f"{name}: {len(cells)} cells, {len(seeds)} seeds each", file=sys.stderr)
        played[name] = play(workers, cells, seeds, rules, (0, 0) if options.no_clairvoyant else plays)
    return played


def _lines(sections: Mapping[str, Results], judged: str, first_seed: int) -> Iterator[str]:
    for place, (name, results) in enumerate(sections.items()):
        ours = [rule for rule in dict.fromkeys((judged, DEFAULT)) if rule in results.rules]
        count = len(next(iter(results.cells.values())))
        if place:
            yield ""
        yield f"### {name}"
        yield ""
        yield f"{len(results.cells)} cells, {count} seeds each from {first_seed}; in brackets 95 % by bootstrap."
        yield ""
        yield from tables.rules_table(results)
        if "clairvoyant" in results.rules and results.rivals:
            yield ""
            yield from tables.way_table(results, ours)
            yield ""
            yield from tables.cells_table(results, ours, variations=name == _FAULTS)
            yield ""
            yield from tables.worse_lines(results, ours)


def _exact_lines(workers: Executor, first_seed: int) -> Iterator[str]:
    if not exact.is_solver_installed():
        yield exact.HOW_TO_INSTALL
        return
    yield "### Beside the best plan"
    yield ""
    yield f"{exact.INSTANCES} small instances, seeds from {first_seed}: three accounts, some dozens of prompts."
    yield ""
    seeds = range(first_seed, first_seed + exact.INSTANCES)
    yield from tables.exact_table(exact.play_all(workers, seeds), exact.INSTANCES)


def _score(job: tuple[int, float, str]) -> list[Trial]:
    return trials(*job)


def _play_forecasts(workers: Executor, seeds: Sequence[int], fleet: str) -> list[Trial]:
    jobs = [(seed, _NEAR_CAPACITY, fleet) for seed in seeds]
    return [trial for each in workers.map(_score, jobs) for trial in each]


def _play_alerts(workers: Executor, seeds: Sequence[int], fleet: str) -> dict[str, Counts]:
    loads = {"light": 0.4, "near capacity": _NEAR_CAPACITY, "overload": 1.4}
    jobs = [(seed, load, DEFAULT, fleet) for load in loads.values() for seed in seeds]
    found = workers.map(_count_alerts, jobs)
    return {load: sum((next(found) for _ in seeds), Counter()) for load in loads}


def _count_alerts(job: tuple[int, float, str, str]) -> Counts:
    return count_alerts(*job)


def _alert_document(counts: Mapping[str, Counts]) -> Mapping[str, object]:
    return {load: [[*key, count] for key, count in found.items()] for load, found in counts.items()}


def _alert_lines(counts: Mapping[str, Counts]) -> Iterator[str]:
    kinds = ("true", "false", "at 90 %", "untold", "in time")
    for load, found in counts.items():
        yield f"{load:26}{'window':10}" + "".join(f"{kind:>9}" for kind in kinds)
        for label in sorted({label for _, label, _ in found}):
            for rule in RULES:
                yield f"{rule:26}{label:10}" + "".join(f"{found[rule, label, kind]:>9}" for kind in kinds)
        yield ""


def _forecast_lines(found: Sequence[Trial]) -> Iterator[str]:
    yield f"{'use at the reset':26}{'window':10}{'mean error':>12}{'bias':>8}{'in the band':>13}{'forecasts':>11}"
    for label in sorted({trial.label for trial in found}):
        for way in WAYS:
            scores = [trial.score for trial in found if (trial.way, trial.label) == (way, label)]
            count = sum(score.forecasts for score in scores)
            error = sum(score.mean_error * score.forecasts for score in scores) / count
            bias = sum(score.bias * score.forecasts for score in scores) / count
            band = f"{sum(score.covered * score.forecasts for score in scores) / count:.0%}" if way == "ours" else "-"
            yield f"{way:26}{label:10}{error:>12.1%}{bias:>+8.1%}{band:>13}{count:>11}"


if __name__ == "__main__":
    raise SystemExit(main())
