"""Start-up of each path that has a budget, beside the same interpreter doing nothing."""

from __future__ import annotations

import os
import re
import sqlite3
import uuid
from contextlib import closing

from measure import BenchBroken, Command, pairs, run, signalled
from report import Limit, Result
from world import World

# DESIGN.md, "Start-up budgets": milliseconds, minimum of 10 runs, on 2 cores.
_NO_STATE_MS, _STATE_MS, _TO_SPAWN_MS = 40, 100, 200
_WORD_MS = 60  # a completed word
_AT = "2026-11-20T10:00:00.000000Z"
_ROUNDS = 20


def version(world: World) -> Result:
    """Measure `--version`."""
    return _start(world, world.agents("--version"), _NO_STATE_MS)


def help_text(world: World) -> Result:
    """Measure `--help`."""
    return _start(world, world.agents("--help"), _NO_STATE_MS)


def usage_error(world: World) -> Result:
    """Measure an unknown option, which costs a look for its nearest known one."""
    return _start(world, world.agents("--modle", "x", expects=2), _NO_STATE_MS)


def completion_word(world: World) -> Result:
    """Measure what a shell waits for at a key: the slowest of a session of 1,000, an account, a terminal, a model."""
    run(world.agents("state", "backfill", state="completed"))
    path = f"{world.env('completed')['OULIPOLY_DATA_DIR']}/state.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO session_chains (chain_id, created_at, last_used_at, model_name) VALUES (?, ?, ?, 'm')",
            [(str(uuid.UUID(int=number)), _AT, _AT) for number in range(1000)],
        )
    words = (("session", "show", ""), ("account", "drain", ""), ("terminal", "attach", ""), ("-m", ""))
    found = [_start(world, world.agents("__complete", "bash", *line, state="completed"), _WORD_MS) for line in words]
    return max(found, key=lambda result: result.figure)


def schema_probe(world: World) -> Result:
    """Measure the check that other programs make before they use the state file."""
    world.serve("probed", "true")
    run(world.one_shot("probed", state="probed"))
    return _start(world, world.agents("session", "schema-probe", state="probed"), _STATE_MS)


def trace(world: World) -> Result:
    """Measure `trace` of an invocation that was recorded."""
    world.serve("traced", "true")
    kept = world.folder / "traced-result"
    run(world.one_shot("traced", state="traced"), stdout=kept)
    found = re.search(r'OULIPOLY_RESULT=.*?"id":"([0-9a-f-]{36})"', kept.read_text(encoding="utf-8"))
    if found is None:
        raise BenchBroken("the one-shot printed no OULIPOLY_RESULT with an id")
    return _start(world, world.agents("trace", found[1], state="traced"), _STATE_MS)


def to_spawn(world: World) -> Result:
    """Measure from our start until the CLI says that it runs, beside the CLI alone."""
    fifo = world.folder / "runs"
    os.mkfifo(fifo)
    script = f"echo >'{fifo}'"
    world.serve("speaks", "sh", "-c", script)
    ours, bare = world.one_shot("speaks", state="speaks"), world.bare("sh", "-c", script)

    def until_it_runs(command: Command) -> float:
        return signalled(command, fifo).signal_s * 1000

    taken = pairs(lambda: until_it_runs(ours), lambda: until_it_runs(bare), world.rounds(_ROUNDS))
    return Result(
        "from our start until the CLI runs, its own start taken off; of the minimums",
        taken.subject.least - taken.beside.least,
        "ms",
        Limit(_TO_SPAWN_MS),
        taken.subject,
        taken.beside,
        taken.ratios,
    )


def _start(world: World, command: Command, budget_ms: float) -> Result:
    nothing = world.nothing()
    taken = pairs(lambda: run(command).seconds * 1000, lambda: run(nothing).seconds * 1000, world.rounds(_ROUNDS))
    return Result(
        "whole run, minimum; beside `python -c pass`",
        taken.subject.least,
        "ms",
        Limit(budget_ms),
        taken.subject,
        taken.beside,
        taken.ratios,
    )
