"""Finding conversations: full-text search over a million turns, and lists of ten thousand sessions."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import BenchBroken, Series, calls, isolated
from report import Limit, Result
from world import World

if TYPE_CHECKING:
    from oulipoly_engine.store.db import Store

_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_SESSIONS, _TURNS_EACH, _ACCOUNTS = 10_000, 100, 5
_WORDS = 60_000
_SEARCH_LIMIT_MS, _LIST_LIMIT_MS, _READ_LIMIT_MS = 50.0, 150.0, 100.0
_QUERIES = {
    "common word": "w0",
    "rare word": "w30000",
    "common and rare": "w0 w30000",
    "phrase": '"w0 w1"',
    "beginning": "w123*",
    "without": "w0 -w1",
    "account": "w0 account:account-3",
    "role": "w50 role:user",
    "old dates": "w1 date:..2025-08",
    "session": "w1 session:0*",
    "nothing": "zzzzzz",
}


def search(world: World) -> Result:
    """Time the slowest of several kinds of queries over a million indexed turns, newest first and by rank."""
    found = isolated(lambda: _searched(world.folder / "search-million" / "state.db", world.rounds(20)))
    return _answer(found, "the slowest query's minimum, newest first", _SEARCH_LIMIT_MS)


def listing(world: World) -> Result:
    """Time a list of ten thousand sessions, described before."""
    found = isolated(lambda: _listed(world.folder / "list-many" / "state.db", world.rounds(20)))
    return _answer(found, "10,000 listed and the first 50 looked at, minimum", _LIST_LIMIT_MS)


def conversations(world: World) -> Result:
    """Time the app's read model of ten thousand sessions."""
    found = isolated(lambda: _read(world.folder / "read-many" / "state.db", world.rounds(20)))
    return _answer(found, "10,000 conversations as values, minimum", _READ_LIMIT_MS)


def _answer(found: Mapping[str, Any], meaning: str, limit_ms: float) -> Result:
    series = Series(tuple(found["values"]))
    return Result(meaning, series.least, "ms", Limit(limit_ms), series, facts=found["facts"])


def _searched(path: Path, rounds: int) -> dict[str, object]:
    import time  # noqa: PLC0415 - the harness itself must stay small (measure.py)

    from oulipoly_engine.core.query import parse  # noqa: PLC0415 - as above
    from oulipoly_engine.service.conversations import Catalogue, Kinds  # noqa: PLC0415 - as above
    from oulipoly_engine.service.search import catch_up, search  # noqa: PLC0415 - as above

    store = _filled(path, _TURNS_EACH)
    before = _size(store)
    begun = time.process_time()
    catch_up(store)
    indexed_s = time.process_time() - begun
    Catalogue(store, Kinds({}, {})).refresh()
    facts: dict[str, object] = {
        "turns": _SESSIONS * _TURNS_EACH,
        "indexing_us_a_turn": round(1e6 * indexed_s / (_SESSIONS * _TURNS_EACH), 1),
        "texts_mb": round(before / 1e6),
        "index_mb": round((_size(store) - before) / 1e6),
    }
    slowest: tuple[float, ...] | None = None
    for name, text in _QUERIES.items():
        query = parse(text, _NOW, lambda naive: naive.replace(tzinfo=UTC))
        if name != "nothing" and not search(store, query, Kinds({}, {}), 20).hits:
            raise BenchBroken(f"nothing was found for {text}")
        newest = calls(lambda query=query: search(store, query, Kinds({}, {}), 20), rounds)
        ranked = calls(lambda query=query: search(store, query, Kinds({}, {}), 20, by_rank=True), rounds)
        facts[f"{name} ms"] = round(newest.least, 2)
        facts[f"{name} by rank ms"] = round(ranked.least, 2)
        if slowest is None or newest.least > min(slowest):
            slowest = newest.values
    store.close()
    return {"values": slowest, "facts": facts}


def _listed(path: Path, rounds: int) -> dict[str, object]:
    from oulipoly_engine.core.conversations import Sort  # noqa: PLC0415 - as above
    from oulipoly_engine.core.query import Query  # noqa: PLC0415 - as above
    from oulipoly_engine.service.conversations import Catalogue, Kinds  # noqa: PLC0415 - as above

    store = _filled(path, 4)
    known = Catalogue(store, Kinds({}, {}))
    known.refresh()

    def once() -> None:
        known.refresh()
        if known.list(Query(), Sort.USED, 50).total != _SESSIONS:
            raise BenchBroken("not every session was listed")

    taken = calls(once, rounds)
    everything = calls(lambda: known.list(Query()), rounds)
    store.close()
    return {"values": taken.values, "facts": {"sessions": _SESSIONS, "all looked at ms": round(everything.least, 1)}}


def _read(path: Path, rounds: int) -> dict[str, object]:
    from oulipoly_engine.service.conversations import Catalogue, Kinds, conversations  # noqa: PLC0415 - as above
    from oulipoly_engine.store.turn_pages import TurnPages  # noqa: PLC0415 - as above

    store = _filled(path, 4)
    Catalogue(store, Kinds({}, {})).refresh()
    _fill(store, [("account-0", _session(_SESSIONS), 100_000)], 3)
    taken = calls(lambda: conversations(store), rounds)
    pages = TurnPages(store, "account-0", _session(_SESSIONS))
    first = calls(lambda: pages.page(0, 50), rounds)
    last = calls(lambda: pages.page(len(pages) - 50, 50), rounds)
    store.close()
    facts = {"first page of 100,000 ms": round(first.least, 3), "last page ms": round(last.least, 3)}
    return {"values": taken.values, "facts": facts}


def _filled(path: Path, turns_each: int) -> Store:
    from oulipoly_engine.store import imported  # noqa: PLC0415 - as above
    from oulipoly_engine.store.db import open_store  # noqa: PLC0415 - as above

    store = open_store(path)
    owners = [(f"account-{number % _ACCOUNTS}", _session(number), turns_each) for number in range(_SESSIONS)]
    _fill(store, owners, 7)
    for account in range(_ACCOUNTS):
        name = f"account-{account}"
        with store.write():
            imported.adopt(store, name, [session for owner, session, _ in owners if owner == name])
    return store


def _fill(store: Store, owners: list[tuple[str, str, int]], seed: int) -> None:
    with store.write():
        store.execute_many(
            "INSERT INTO session_turns (provider_name, session_id, turn_id, timestamp, role, ingested_at, body)"
            " VALUES (?, ?, ?, ?, ?, '9999', ?)",
            _turns(owners, random.Random(seed)),  # noqa: S311 - the same history in every run
        )


def _turns(owners: list[tuple[str, str, int]], dice: random.Random) -> Iterator[tuple[object, ...]]:
    """Yield turns over 600 days whose words are as uneven as those of a language (Zipf)."""
    from oulipoly_engine.clock import to_text  # noqa: PLC0415 - as above

    words = [f"w{number}" for number in range(_WORDS)]
    weights = list(itertools.accumulate(1 / (number + 2.7) for number in range(_WORDS)))
    lengths = (5, 10, 30, 60, 120, 150)
    for account, session, count in owners:
        at = _NOW - timedelta(seconds=dice.randint(86_400, 600 * 86_400))
        for number in range(count):
            at += timedelta(seconds=dice.randint(1, 120))
            text = " ".join(dice.choices(words, cum_weights=weights, k=dice.choice(lengths)))
            body = json.dumps([{"type": "text", "text": text}])
            yield account, session, f"{session}-{number}", to_text(at), ("user", "assistant")[number % 2], body


def _session(number: int) -> str:
    return f"{number * 2_654_435_761 % 2**32:08x}-0000-4000-8000-{number:012x}"


def _size(store: Store) -> int:
    pages, size = (int(store.rows(f"PRAGMA {name}")[0][0]) for name in ("page_count", "page_size"))
    return pages * size
