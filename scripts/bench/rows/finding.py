"""Finding sessions: full-text search over a million entries, and lists of ten thousand sessions."""

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
    from oulipoly_engine.store.base.db import Store

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_SESSIONS, _ENTRIES_EACH, _ACCOUNTS = 10_000, 100, 5
_WORDS = 60_000
_ENTRY = (
    "INSERT INTO session_turns (provider_name, session_id, turn_id, timestamp, role, ingested_at, body)"
    " VALUES (?, ?, ?, ?, ?, '9999', ?)"
)
_SEARCH_LIMIT_MS, _LIST_LIMIT_MS, _READ_LIMIT_MS = 50.0, 150.0, 100.0
_CJK_ENTRIES, _CJK_SIGNS = 40_000, 3_000
_CJK = "\u4e00"  # the sign that is said most
_FOLDERS, _MODELS = 40, ("claude-opus-4-5", "claude-sonnet-4", "gpt-5-codex")
_QUERIES = {
    "common word": "w0",
    "rare word": "w30000",
    "common and rare": "w0 w30000",
    "phrase": '"w0 w1"',
    "rare phrase": '"w300 w700"',
    "beginning": "w123*",
    "common beginning": "w10*",
    "two beginnings": "w10* w11*",
    "beginning and rare": "w10* w30000",
    "without": "w0 -w1",
    "without beginning": "w0 -w10*",
    "account": "w0 account:account-3",
    "cli": "w0 cli:other",
    "model": "w0 model:opus",
    "folder": "w0 cwd:project-7",
    "folder, rarer word": "w300 cwd:project-7",
    "role": "w50 role:user",
    "old dates": "w1 date:..2025-08",
    "last days": "w1 date:<7d",
    "session": "w1 session:0*",
    "all fields": "w0 account:account-0 role:user cwd:project-7 date:>30d",
    "one sign": _CJK,
    "two signs": _CJK + chr(ord(_CJK) + 5),
    "without a sign": f"w0 -{_CJK}",
    "nothing": "zzzzzz",
}
# Its words are in most entries, and it is in none: every place of all of them is compared. Told, not held to the limit.
_ABSENT_PHRASE = '"w0 w1 w2 w3 w4 w5"'


def search(world: World) -> Result:
    """Time kinds of queries over a million indexed entries, newest first and by rank; the slowest is the figure."""
    found = isolated(lambda: _searched(world.folder / "search-million" / "state.db", world.rounds(20)))
    series = Series(tuple(found["values"]))
    meaning = f"the slowest kind's median: {found['slowest']}"
    return Result(meaning, series.median, "ms", Limit(_SEARCH_LIMIT_MS), series, facts=found["facts"])


def listing(world: World) -> Result:
    """Time a list of ten thousand sessions, described before."""
    found = isolated(lambda: _listed(world.folder / "list-many" / "state.db", world.rounds(20)))
    return _answer(found, "10,000 listed and the first 50 looked at, minimum", _LIST_LIMIT_MS)


def list_sessions(world: World) -> Result:
    """Time the app's read model of ten thousand sessions."""
    found = isolated(lambda: _read(world.folder / "read-many" / "state.db", world.rounds(20)))
    return _answer(found, "10,000 conversations as values, minimum", _READ_LIMIT_MS)


def _answer(found: Mapping[str, Any], meaning: str, limit_ms: float) -> Result:
    series = Series(tuple(found["values"]))
    return Result(meaning, series.least, "ms", Limit(limit_ms), series, facts=found["facts"])


def _searched(path: Path, rounds: int) -> dict[str, object]:
    import time  # noqa: PLC0415 - the harness itself must stay small (measure.py)

    from oulipoly_engine.core.search.query import parse  # noqa: PLC0415 - as above
    from oulipoly_engine.service.search import catch_up, search  # noqa: PLC0415 - as above
    from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds  # noqa: PLC0415 - as above

    store = open_filled(path, _ENTRIES_EACH)
    _fill_signs(store)
    entries = _SESSIONS * _ENTRIES_EACH + _CJK_ENTRIES
    before = _size(store)
    begun = time.process_time()
    catch_up(store)
    indexed_s = time.process_time() - begun
    Catalogue(store, Kinds({}, {})).refresh()
    _describe(store)
    facts: dict[str, object] = {
        "turns": entries,
        "indexing_us_a_turn": round(1e6 * indexed_s / entries, 1),
        "texts_mb": round(before / 1e6),
        "index_mb": round((_size(store) - before) / 1e6),
    }
    slowest, name_of_slowest = Series((0.0,)), ""
    for name, text in {**_QUERIES, "absent phrase": _ABSENT_PHRASE}.items():
        query = parse(text, NOW, lambda naive: naive.replace(tzinfo=UTC))
        if text not in (_ABSENT_PHRASE, "zzzzzz") and not search(store, query, Kinds({}, {}), 20).hits:
            raise BenchBroken(f"nothing was found for {text}")
        for order, by_rank in (("", False), (" by rank", True)):
            taken = calls(
                lambda query=query, by_rank=by_rank: search(store, query, Kinds({}, {}), 20, by_rank=by_rank), rounds
            )
            facts[f"{name}{order} ms"] = round(taken.median, 2)
            if text != _ABSENT_PHRASE and taken.median > slowest.median:
                slowest, name_of_slowest = taken, name + order
    store.close()
    return {"values": slowest.values, "slowest": name_of_slowest, "facts": facts}


def _listed(path: Path, rounds: int) -> dict[str, object]:
    from oulipoly_engine.core.search.query import Query  # noqa: PLC0415 - as above
    from oulipoly_engine.core.sessions.sessions import Sort  # noqa: PLC0415 - as above
    from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds  # noqa: PLC0415 - as above

    store = open_filled(path, 4)
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
    from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds, list_sessions  # noqa: PLC0415 - as above
    from oulipoly_engine.store.transcripts.entry_pages import EntryPages  # noqa: PLC0415 - as above

    store = open_filled(path, 4)
    Catalogue(store, Kinds({}, {})).refresh()
    _fill(store, [("account-0", _session(_SESSIONS), 100_000)], 3)
    taken = calls(lambda: list_sessions(store), rounds)
    pages = EntryPages(store, "account-0", _session(_SESSIONS))
    first = calls(lambda: pages.page(0, 50), rounds)
    last = calls(lambda: pages.page(len(pages) - 50, 50), rounds)
    store.close()
    facts = {"first page of 100,000 ms": round(first.least, 3), "last page ms": round(last.least, 3)}
    return {"values": taken.values, "facts": facts}


def open_filled(path: Path, entries_each: int) -> Store:
    """Return a state file with ten thousand sessions of so many entries, which the lists know."""
    from oulipoly_engine.store.base.db import open_store  # noqa: PLC0415 - as above
    from oulipoly_engine.store.sessions import imported  # noqa: PLC0415 - as above

    store = open_store(path)
    owners = [(f"account-{number % _ACCOUNTS}", _session(number), entries_each) for number in range(_SESSIONS)]
    _fill(store, owners, 7)
    for account in range(_ACCOUNTS):
        name = f"account-{account}"
        with store.write():
            imported.adopt(store, name, [session for owner, session, _ in owners if owner == name])
    return store


def _fill(store: Store, owners: list[tuple[str, str, int]], seed: int) -> None:
    with store.write():
        store.execute_many(
            _ENTRY,
            _entries(owners, random.Random(seed)),  # noqa: S311 - the same history in every run
        )


def _entries(owners: list[tuple[str, str, int]], dice: random.Random) -> Iterator[tuple[object, ...]]:
    """Yield entries over 600 days whose words are as uneven as those of a language (Zipf)."""
    from oulipoly_engine.clock import to_text  # noqa: PLC0415 - as above

    words = [f"w{number}" for number in range(_WORDS)]
    weights = list(itertools.accumulate(1 / (number + 2.7) for number in range(_WORDS)))
    lengths = (5, 10, 30, 60, 120, 150)
    for account, session, count in owners:
        at = NOW - timedelta(seconds=dice.randint(86_400, 600 * 86_400))
        for number in range(count):
            at += timedelta(seconds=dice.randint(1, 120))
            text = " ".join(dice.choices(words, cum_weights=weights, k=dice.choice(lengths)))
            body = json.dumps([{"type": "text", "text": text}])
            yield account, session, f"{session}-{number}", to_text(at), ("user", "assistant")[number % 2], body


def _fill_signs(store: Store) -> None:
    """Add entries in Chinese to the first sessions, whose signs are as uneven as words are."""
    from oulipoly_engine.clock import to_text  # noqa: PLC0415 - as above

    dice = random.Random(3)  # noqa: S311 - the same history in every run
    signs = [chr(ord(_CJK) + 5 * number) for number in range(_CJK_SIGNS)]
    weights = list(itertools.accumulate(1 / (number + 2.7) for number in range(_CJK_SIGNS)))

    def rows() -> Iterator[tuple[object, ...]]:
        for number in range(_CJK_ENTRIES):
            at = NOW - timedelta(seconds=dice.randint(0, 600 * 86_400))
            text = "".join(dice.choices(signs, cum_weights=weights, k=dice.choice((5, 20, 60, 120, 240))))
            body = json.dumps([{"type": "text", "text": text}], ensure_ascii=False)
            owner = number % 300
            account = f"account-{owner % _ACCOUNTS}"
            yield account, _session(owner), f"sign-{number}", to_text(at), ("user", "assistant")[number % 2], body

    with store.write():
        store.execute_many(_ENTRY, rows())


def _describe(store: Store) -> None:
    """Give each session a folder and a model."""
    dice = random.Random(5)  # noqa: S311 - as above
    keys = store.rows("SELECT account, session_id FROM session_facts ORDER BY account, session_id")
    rows = [(f"/home/u/project-{dice.randrange(_FOLDERS)}", dice.choice(_MODELS), *key) for key in keys]
    with store.write():
        store.execute_many("UPDATE session_facts SET cwd = ?, cli_model = ? WHERE account = ? AND session_id = ?", rows)


def _session(number: int) -> str:
    return f"{number * 2_654_435_761 % 2**32:08x}-0000-4000-8000-{number:012x}"


def _size(store: Store) -> int:
    pages, size = (int(store.rows(f"PRAGMA {name}")[0][0]) for name in ("page_count", "page_size"))
    return pages * size
