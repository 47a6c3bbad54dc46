"""Measure the installed program: `scripts/bench/run [--quick] [--json FILE] [--strict] [--list] [ROW...]`."""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import machine
import report
from measure import BenchBroken
from rows import ROWS, Row
from world import World


def main() -> int:
    """Measure the rows that were asked for; exit 1 when one could not be measured, or, if strict, missed its limit."""
    options = _options()
    if options.list:
        for row in ROWS:
            print(f"{row.name:<20}{row.summary}")
        return 0
    described = machine.describe()
    print("\n".join(f"{key.replace('_', ' ')}: {value}" for key, value in described.items()))
    _compile()
    results, broken = _measure(_chosen(options.rows), quick=options.quick)
    described["load_after"] = machine.load()
    print(f"load after: {described['load_after']}\n")
    print("\n".join(report.lines(results)))
    for name, reason in broken.items():
        print(f"{name}: BROKEN: {reason}", file=sys.stderr)
    if options.json is not None:
        document = report.document(described, results, broken, quick=options.quick)
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    missed = options.strict and not all(result.holds for result in results.values())
    return 1 if broken or missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench/run", description="Measure the installed program.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="part of a row's name; none: all rows")
    parser.add_argument("--quick", action="store_true", help="fewer rounds; sizes stay as they are")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to a file")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a limit is missed")
    parser.add_argument("--list", action="store_true", help="show the rows")
    options = parser.parse_args()
    if unknown := [word for word in options.rows if not _chosen([word])]:
        parser.error(f"no row's name contains {unknown[0]!r}; the rows are {', '.join(row.name for row in ROWS)}")
    return options


def _chosen(words: Sequence[str]) -> tuple[Row, ...]:
    return tuple(row for row in ROWS if not words or any(word in row.name for word in words))


def _measure(rows: Sequence[Row], *, quick: bool) -> tuple[dict[str, report.Result], dict[str, str]]:
    results: dict[str, report.Result] = {}
    broken: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="agent-runner-bench-", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = folder  # where measure.py keeps what a measured process complains of
        world = World(Path(folder), quick)
        for row in rows:
            print(f"measuring {row.name} ...", file=sys.stderr)
            try:
                results[row.name] = row.measure(world)
            except BenchBroken as error:
                broken[row.name] = str(error)
    return results, broken


def _compile() -> None:
    """Make sure that bytecode is there: without it, start-up figures measure the compiler."""
    for name in ("oulipoly_engine", "oulipoly_tui"):
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:
            raise SystemExit(f"{name} is not installed for {sys.executable}: use scripts/bench/run")
        compileall.compile_dir(Path(found.origin).parent, quiet=1)


if __name__ == "__main__":
    sys.exit(main())
