"""The tree of a session of 100,000 entries with 200 branches: to open it, go on elsewhere and append; and its files.

Two more sessions are as long: one with 1,000 branches all over it, and one in which all follow on the first entry.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measure import BenchBroken, Series, calls, isolated
from report import Limit, Result
from world import World

# ruff: noqa: PLC0415 - the harness itself must stay small (measure.py)

_ENTRIES, _SHORTER, _BRANCH_EACH = 100_000, 10_000, 500
_OPEN_LIMIT_MS, _SCREEN_LIMIT_MS, _BRANCH_LIMIT_MS, _APPEND_LIMIT_MS = 1000.0, 150.0, 50.0, 1.0
_SCREEN = 40  # lines
_PREPARED = "filters prepared behind the first screen, ms"
_FILES, _SNAPSHOT_LIMIT_MS = 20_000, 150.0
_ACCOUNT = "tree"
_LONG, _SHORT, _FORKED, _FLAT = (f"{letter * 8}-0000-4000-8000-000000000001" for letter in "fedc")
_SHAPES = {"200 branches": _LONG, "1,000 branches": _FORKED, "one parent": _FLAT}
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
    """Time what the app does for the first screen of a tree; all of it, and of shorter sessions, stands beside."""
    _prepare(world)
    screens = {}
    facts = {}
    for shape, session in _SHAPES.items():
        first, whole = isolated(lambda session=session: _screens(world, session, world.rounds(12)))
        screens[shape] = Series(tuple(first))
        facts |= {f"{shape}, minimum ms": round(min(first)), f"{shape}, all, minimum ms": round(min(whole))}
    facts[f"{_SHORTER:,} entries, all, minimum ms"] = round(min(isolated(lambda: _screens(world, _SHORT, 5))[1]))
    slowest = max(screens.values(), key=lambda series: series.least)
    meaning = f"a tree of {_ENTRIES:,} entries until its first screen, minimum of the slowest shape"
    return Result(meaning, slowest.least, "ms", Limit(_SCREEN_LIMIT_MS), slowest, facts=facts)


def keys(world: World) -> Result:
    """Time what keys do in such a tree: each filter, folding, and a search for what is nowhere, in one, in all."""
    _prepare(world)
    times = isolated(lambda: _keys(world, world.rounds(12)))
    prepared = times.pop(_PREPARED)
    name = max(times, key=lambda name: min(times[name]))
    slowest = Series(tuple(times[name]))
    facts = {f"{name}, minimum ms": round(min(values)) for name, values in times.items()}
    facts[_PREPARED] = round(prepared[0])
    meaning = f"a key in a tree of {_ENTRIES:,} entries, the slowest: {name}, minimum"
    return Result(meaning, slowest.least, "ms", Limit(_SCREEN_LIMIT_MS), slowest, facts=facts)


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
        for session, count, parent_of in (
            (_LONG, _ENTRIES, _goes_back),
            (_SHORT, _SHORTER, _goes_back),
            (_FORKED, _ENTRIES, _goes_anywhere),
            (_FLAT, _ENTRIES, lambda _number, _dice: 0),
        ):
            store.execute_many(_ENTRY, _entries(session, count, parent_of))
        imported.adopt(store, _ACCOUNT, [_LONG, _SHORT, _FORKED, _FLAT])
    Catalogue(store, Kinds({}, {})).refresh()
    store.close()
    return 1


def _goes_back(number: int, dice: random.Random) -> int:
    """Return the entry before one; every 500th goes back a little and begins a branch."""
    return max(0, number - (1 if number % _BRANCH_EACH else dice.randint(2, 50)))


def _goes_anywhere(number: int, dice: random.Random) -> int:
    return number - 1 if number % 100 else dice.randrange(number)


def _entries(session: str, count: int, parent_of: Callable[[int, random.Random], int]) -> Iterator[tuple[object, ...]]:
    """Yield entries, a half of which tools have made."""
    dice = random.Random(1)  # noqa: S311 - the same history in every run
    # Each begins at a time of its own: one with the ids and times of another would be a fork of that.
    begun = datetime(2026, 11, 1, tzinfo=UTC) - timedelta(days=int(session[0], 16))
    for number in range(count):
        parent = _id(parent_of(number, dice)) if number else ""
        kind = ("text", "tool_result", "text", "tool_use")[number % 4]
        body = [{"type": kind, "text": f"{number} words of it " * dice.choice((1, 9, 90))}]
        at = f"{begun + timedelta(seconds=15 * number):%Y-%m-%dT%H:%M:%S}.000000Z"
        text = json.dumps(body, separators=(",", ":"))
        yield _ACCOUNT, session, _id(number), parent, at, ("user", "assistant")[number % 2], text


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


def _screens(world: World, session: str, rounds: int) -> tuple[list[float], list[float]]:
    """Return how long the first screen took, and that of all entries."""
    os.environ.update(world.env("tree"))
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_tui.screens.sessions.tree import LAST_ENTRIES
    from oulipoly_tui.view.sessions.tree import TreeLook, TreeRows

    engine = Engine()

    def show(last: int) -> None:
        rows = TreeRows(engine.sessions.branches.tree(session, last=last), TreeLook())
        if len(rows[-_SCREEN:]) < _SCREEN:
            raise BenchBroken("the tree has too few rows")

    first, whole = (calls(lambda last=last: show(last), rounds, 1).values for last in (LAST_ENTRIES, -1))
    return list(first), list(whole)


def _keys(world: World, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds that keys took, by what they do."""
    os.environ.update(world.env("tree"))
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_tui.view.sessions.tree import FILTERS, TreeLook, TreeRows

    branches = Engine().sessions.branches
    tree = branches.tree(_FORKED)
    rows = TreeRows(tree, TreeLook())
    places = iter(range(0, _ENTRIES, 97))

    begun = time.perf_counter()
    branches.prepare_filters(tree)  # as the app does once it shows all of a tree
    prepared = (time.perf_counter() - begun) * 1000

    def show(kept: str) -> None:
        TreeRows(branches.tree(_FORKED, kept, known=tree), TreeLook())[-_SCREEN:]

    acts: dict[str, Callable[[], object]] = {
        **{f"filter {kept}": lambda kept=kept: show(kept) for kept in FILTERS},
        "fold all": lambda: TreeRows(tree, TreeLook(folded=rows.find_branches()))[-_SCREEN:],
        "go anywhere": lambda: rows[rows.place_of(tree.entry_ids[next(places)]) or 0],
        "find nowhere": lambda: branches.find(_FORKED, "in no message"),
        "find in one": lambda: branches.find(_FORKED, "77777 words"),
        "find in all": lambda: branches.find(_FORKED, "words"),
    }
    times = {name: list(calls(act, rounds, 1).values) for name, act in acts.items()}
    return times | {_PREPARED: [prepared]}


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
