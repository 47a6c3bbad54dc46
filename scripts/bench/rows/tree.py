"""The tree of a session of 100,000 entries with 200 branches: to open it, go on elsewhere and append; and its files."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measure import BenchBroken, Series, calls, isolated
from report import Limit, Result
from world import World

# ruff: noqa: PLC0415 - the harness itself must stay small (measure.py)

_ENTRIES, _SHORTER, _BRANCH_EACH = 100_000, 10_000, 500
_OPEN_LIMIT_MS, _SCREEN_LIMIT_MS, _BRANCH_LIMIT_MS, _APPEND_LIMIT_MS = 1000.0, 150.0, 50.0, 1.0
_SCREEN = 40  # lines
_FILES, _SNAPSHOT_LIMIT_MS = 20_000, 150.0
_ACCOUNT, _LONG, _SHORT = "tree", "ffffffff-0000-4000-8000-000000000001", "eeeeeeee-0000-4000-8000-000000000001"
_ENTRY = (
    "INSERT INTO session_turns (provider_name, session_id, turn_id, parent_turn_id, timestamp, role, ingested_at, body)"
    " VALUES (?, ?, ?, ?, ?, ?, '9999', ?)"
)


def opened(world: World) -> Result:
    """Time the commands `session tree` and `session show` until a screen full of lines has come."""
    _prepare(world)
    tree, show = (
        Series(tuple(_until_screen(world, verb) for _ in range(world.rounds(12)))) for verb in ("tree", "show")
    )
    facts = {"show, minimum ms": round(show.least)}
    slower = max(tree, show, key=lambda series: series.least)
    meaning = f"the first {_SCREEN} lines of {_ENTRIES:,} entries, tree or show, minimum"
    return Result(meaning, slower.least, "ms", Limit(_OPEN_LIMIT_MS), tree, facts=facts)


def screen(world: World) -> Result:
    """Time what the app does for the first screen of a tree; of a session ten times as long it is told beside."""
    _prepare(world)
    shorter = Series(tuple(isolated(lambda: _screens(world, _SHORT, world.rounds(12)))))
    long = Series(tuple(isolated(lambda: _screens(world, _LONG, world.rounds(12)))))
    facts = {f"{_ENTRIES:,} entries, minimum ms": round(long.least)}
    meaning = f"a tree of {_SHORTER:,} entries until its first screen, minimum"
    return Result(meaning, shorter.least, "ms", Limit(_SCREEN_LIMIT_MS), shorter, facts=facts)


def branch(world: World) -> Result:
    """Time a session's going on elsewhere, and before all that was said."""
    _prepare(world)
    series = Series(tuple(isolated(lambda: _branches(world, world.rounds(40)))))
    return Result(
        f"to go on behind another of {_ENTRIES:,} entries", series.median, "ms", Limit(_BRANCH_LIMIT_MS), series
    )


def append(world: World) -> Result:
    """Time an entry that is added to the session, without what the least of all writes takes: the disk's share."""
    _prepare(world)
    adds, least = (Series(tuple(values)) for values in isolated(lambda: _appends(world, world.rounds(200))))
    meaning = f"an entry behind {_ENTRIES:,}, beside the sync"
    return Result(meaning, adds.median - least.median, "ms", Limit(_APPEND_LIMIT_MS), adds, least)


def snapshot(world: World) -> Result:
    """Time the snapshot of a turn that has changed one of 20,000 files; of one that has changed none, it is beside."""
    series, unchanged = (Series(tuple(values)) for values in isolated(lambda: _snapshots(world, world.rounds(20))))
    facts = {"nothing changed, median ms": round(unchanged.median)}
    meaning = f"a turn's snapshot of {_FILES:,} files, one changed, median"
    return Result(meaning, series.median, "ms", Limit(_SNAPSHOT_LIMIT_MS), series, facts=facts)


def _prepare(world: World) -> None:
    state = Path(world.env("tree")["OULIPOLY_DATA_DIR"])
    if not (state / "state.db").exists():
        world.serve(_ACCOUNT, "true")
        isolated(lambda: _fill(state))


def _fill(state: Path) -> int:
    from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds
    from oulipoly_engine.store.base.db import open_store
    from oulipoly_engine.store.sessions import imported

    state.mkdir(parents=True)
    store = open_store(state / "state.db")
    with store.write():
        for session, count in ((_LONG, _ENTRIES), (_SHORT, _SHORTER)):
            store.execute_many(_ENTRY, _entries(session, count))
        imported.adopt(store, _ACCOUNT, [_LONG, _SHORT])
    Catalogue(store, Kinds({}, {})).refresh()
    store.close()
    return 1


def _entries(session: str, count: int) -> Iterator[tuple[object, ...]]:
    """Yield entries, of which every 500th goes back and begins a branch."""
    dice = random.Random(1)  # noqa: S311 - the same history in every run
    begun = datetime(2026, 11, 1, tzinfo=UTC)
    for number in range(count):
        back = 1 if number % _BRANCH_EACH else dice.randint(2, 50)
        parent = _id(max(0, number - back)) if number else ""
        body = [{"type": ("text", "tool_result")[number % 5 == 1], "text": "words of it " * dice.choice((1, 9, 90))}]
        at = f"{begun + timedelta(seconds=15 * number):%Y-%m-%dT%H:%M:%S}.000000Z"
        yield _ACCOUNT, session, _id(number), parent, at, ("user", "assistant")[number % 2], json.dumps(body)


def _id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def _until_screen(world: World, verb: str) -> float:
    command = world.agents("session", verb, _LONG, state="tree")
    begun = time.perf_counter()
    with subprocess.Popen(command.argv, env=dict(command.env), stdout=subprocess.PIPE) as process:
        lines = [process.stdout.readline() for _ in range(_SCREEN)] if process.stdout is not None else [b""]
        taken = (time.perf_counter() - begun) * 1000
        process.kill()
    if not lines[-1]:
        raise BenchBroken(f"session {verb} wrote fewer than {_SCREEN} lines")
    return taken


def _screens(world: World, session: str, rounds: int) -> list[float]:
    os.environ.update(world.env("tree"))
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_tui.view.sessions.tree import TreeLook, TreeRows

    engine = Engine()

    def show() -> None:
        rows = TreeRows(engine.sessions.branches.tree(session), TreeLook())
        if len(rows[-_SCREEN:]) < _SCREEN:
            raise BenchBroken("the tree has too few rows")

    return list(calls(show, rounds, 1).values)


def _branches(world: World, rounds: int) -> list[float]:
    os.environ.update(world.env("tree"))
    from oulipoly_engine.facade.engine import Engine

    branches = Engine().sessions.branches
    places = iter(range(0, _ENTRIES, _ENTRIES // (2 * rounds)))
    return list(calls(lambda: branches.branch(_LONG, _id(next(places))), rounds, 2).values)


def _appends(world: World, rounds: int) -> tuple[list[float], list[float]]:
    from oulipoly_engine.core.transcripts.turn_script import BodyChunk, EntryLine, encode_body
    from oulipoly_engine.store.base.db import open_store
    from oulipoly_engine.store.sessions import chains, labels
    from oulipoly_engine.store.transcripts import entries

    store = open_store(Path(world.env("tree")["OULIPOLY_DATA_DIR"]) / "state.db")
    chain_id = chains.chain_of(store, _ACCOUNT, _LONG) or ""
    now = datetime(2026, 12, 1, tzinfo=UTC)
    body = encode_body((BodyChunk("text", "words of it " * 20),))
    numbers = iter(range(_ENTRIES, 2 * _ENTRIES))

    def add() -> None:
        number = next(numbers)
        at = f"{now + timedelta(seconds=number):%Y-%m-%dT%H:%M:%S}.000000Z"
        line = EntryLine(_LONG, _id(number), at, "user", parent_entry_id=_id(number - 1), body=body)
        with store.write():
            entries.insert_new(store, _ACCOUNT, [line], now)

    adds, least = [], []
    for _ in range(rounds):
        adds += calls(add, 1, 0).values
        least += calls(lambda: labels.put(store, chain_id, "x", str(next(numbers)), now), 1, 0).values
    store.close()
    return adds, least


def _snapshots(world: World, rounds: int) -> tuple[list[float], list[float]]:
    from oulipoly_engine.service.worktrees.base.place import Place, open_checkout
    from oulipoly_engine.service.worktrees.snapshot.turns import take_turn

    checkout = open_checkout(Place(_LONG, _repository(world)))
    numbers = iter(range(10_000))

    def take(*, is_new: bool) -> None:
        if take_turn(checkout, f"turn-{next(numbers)}", datetime.now(UTC)).is_new is not is_new:
            raise BenchBroken("a snapshot was taken of no change, or none of one")

    def change() -> None:
        (checkout.root / "0" / "7.txt").write_text(f"changed {next(numbers)}\n")
        take(is_new=True)

    take(is_new=True)
    unchanged = calls(lambda: take(is_new=False), rounds, 2)
    return list(calls(change, rounds, 2).values), list(unchanged.values)


def _repository(world: World) -> Path:
    root = world.folder.resolve() / "many-files"
    for number in range(_FILES):
        path = root / str(number // 200) / f"{number % 200}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}\n")
    who = ("-c", "user.name=A Person", "-c", "user.email=person@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "Begin")):
        subprocess.run(("git", "-C", root, *words), check=True)
    return root
