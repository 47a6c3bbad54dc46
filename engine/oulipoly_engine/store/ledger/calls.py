"""The ledger of API calls: rows that only ever join, cursors of transcripts, and sums."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import NamedTuple

from oulipoly_engine.core.ledger.calls import Damage, Entry, Place, Tokens, call_id, place_id, storable
from oulipoly_engine.records import Record, field
from oulipoly_engine.store.base.db import Store

# Row values compare field by field, and a place's last bits are its rank: the rule that merges lines before they come
# here (core/ledger/calls.py, `merged`), once more.
_JOIN = (
    "INSERT INTO ledger_calls (id, at_ms, place, input, output, cache_read, cache_write, cache_write_1h, reasoning)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
    " place = CASE WHEN (excluded.place & 3, excluded.at_ms) < (place & 3, at_ms) THEN excluded.place ELSE place END,"
    " at_ms = min(at_ms, excluded.at_ms), input = max(input, excluded.input), output = max(output, excluded.output),"
    " cache_read = max(cache_read, excluded.cache_read), cache_write = max(cache_write, excluded.cache_write),"
    " cache_write_1h = max(cache_write_1h, excluded.cache_write_1h), reasoning = max(reasoning, excluded.reasoning)"
)
_SUMS = "SUM(c.input), SUM(c.output), SUM(c.cache_read), SUM(c.cache_write), SUM(c.cache_write_1h), SUM(c.reasoning)"


class Cursor(NamedTuple):
    """How far a transcript has been read."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    offset: int = 0  # of the first byte behind the whole lines that were read
    head: bytes = b""  # digest of the first bytes, none of them behind the offset
    tail: bytes = b""  # digest of the bytes before the offset
    state: str | None = None  # what the parser has to know there
    generation: int = 0  # how often the file was found rewritten


Row = tuple[int, ...]  # of a call: its number, instant, place's number, and counts


class Batch(Record, frozen=False):
    """What one transaction writes."""

    calls: Iterable[Row] = ()  # best in order of their numbers: pages are then filled one after the other
    places: Mapping[int, Place] = field(default_factory=dict)  # by number
    cursors: dict[str, Cursor] = field(default_factory=dict)  # by path
    damaged: dict[str, list[Damage]] = field(default_factory=dict)  # by path
    roots: Mapping[str, str] = field(default_factory=dict)  # session -> first ancestor
    gone: Collection[str] = ()  # paths that are no more


def rows_of(calls: Mapping[str, Entry], known: Mapping[Place, int]) -> tuple[dict[int, Place], list[Row]]:
    """Return the places of some calls that are not known yet, by number, and the calls' rows in order."""
    fresh = {place: place_id(place) for place in {entry[1] for entry in calls.values()} if place not in known}
    rows = list(_rows(calls, {**known, **fresh} if fresh else known))
    rows.sort(key=itemgetter(0))
    return {number: place for place, number in fresh.items()}, rows


def _rows(calls: Mapping[str, Entry], known: Mapping[Place, int]) -> Iterator[Row]:
    last, number = None, 0
    for key, (at, place, counts, _) in calls.items():
        if place is not last:  # calls that come together share it
            last, number = place, known[place]
        yield (call_id(key), at, number, *counts)


def write(store: Store, batch: Batch) -> None:
    """Write a batch, all of it or nothing."""
    with store.write():
        store.execute_many(
            "INSERT OR IGNORE INTO ledger_places VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((number, *map(storable, place[:5]), place[5]) for number, place in batch.places.items()),
        )
        store.execute_many(_JOIN, batch.calls)
        store.execute_many(
            "INSERT OR REPLACE INTO ledger_files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((os.fsencode(path), *cursor) for path, cursor in batch.cursors.items()),
        )
        store.execute_many("DELETE FROM ledger_files WHERE path = ?", ((os.fsencode(path),) for path in batch.gone))
        store.execute_many(
            "INSERT OR REPLACE INTO ledger_errors VALUES (?, ?, ?, ?)",
            ((os.fsencode(path), *one) for path, found in batch.damaged.items() for one in found),
        )
        store.execute_many("INSERT OR REPLACE INTO ledger_roots VALUES (?, ?)", batch.roots.items())


def index_calls(store: Store) -> None:
    """Make the index of calls by time, unless it is there."""
    if not store.rows("SELECT 1 FROM sqlite_master WHERE name = 'idx_ledger_calls_at'"):
        with store.write():
            store.execute("CREATE INDEX IF NOT EXISTS idx_ledger_calls_at ON ledger_calls (at_ms)")


def cursors(store: Store) -> dict[str, Cursor]:
    """Return every transcript's cursor by path."""
    rows = store.rows(
        "SELECT path, device, inode, size, mtime_ns, offset, head, tail, state, generation FROM ledger_files"
    )
    decode, make = os.fsdecode, Cursor._make
    return {decode(path): make(values) for path, *values in rows}


def roots(store: Store) -> dict[str, str]:
    """Return the first ancestor of every forked session."""
    return {str(session): str(root) for session, root in store.rows("SELECT session, root FROM ledger_roots")}


def sums(store: Store, account: str, since_ms: int, until_ms: int | None = None) -> tuple[int, Tokens]:
    """Return how many calls an account made from an instant on, and their tokens. until_ms: not included."""
    row = store.rows(
        f"SELECT COUNT(*), {_SUMS} FROM ledger_calls AS c JOIN ledger_places AS p ON p.id = c.place"  # noqa: S608 - ours
        " WHERE c.at_ms >= ? AND c.at_ms < ? AND p.account = ?",
        (since_ms, 1 << 62 if until_ms is None else until_ms, account),
    )[0]
    return int(row[0]), Tokens(*(int(value or 0) for value in row[1:]))


class Summed(NamedTuple):
    """Calls of one place within one stretch of time and one tier of prices."""

    place: Place
    begin_ms: int
    tier: int  # how many of the thresholds their input exceeds
    calls: int
    tokens: Tokens


def shares(
    store: Store, since_ms: int, until_ms: int, stretch_ms: int, thresholds: Iterable[int] = ()
) -> Iterable[Summed]:
    """Yield all calls between two instants, summed by place, stretch and tier. until_ms: not included."""
    tiers = "".join(f" + (c.input + c.cache_read + c.cache_write > {int(least)})" for least in thresholds)
    with store.read():
        places = {
            row[0]: Place(row[1], row[2], row[3], row[4], row[5], bool(row[6]))
            for row in store.rows("SELECT id, account, cli, session, project, model, is_sidechain FROM ledger_places")
        }
        rows = store.rows(
            f"SELECT c.place, c.at_ms / ?1, 0{tiers} AS tier, COUNT(*), {_SUMS} FROM ledger_calls AS c"  # noqa: S608 - ours
            " WHERE c.at_ms >= ?2 AND c.at_ms < ?3 GROUP BY 1, 2, 3",
            (stretch_ms, since_ms, until_ms),
        )
    for place, stretch, tier, calls, *counts in rows:
        yield Summed(places[place], stretch * stretch_ms, tier, calls, Tokens(*counts))


def models(store: Store) -> tuple[str, ...]:
    """Return the names of all models that calls were made to."""
    return tuple(str(row[0]) for row in store.rows("SELECT DISTINCT model FROM ledger_places ORDER BY model"))


def accounts(store: Store) -> tuple[str, ...]:
    """Return the names of all accounts that calls were made by."""
    return tuple(str(row[0]) for row in store.rows("SELECT DISTINCT account FROM ledger_places ORDER BY account"))


def damaged_lines(store: Store) -> int:
    """Return how many lines that may tell of a call could not be read."""
    return int(store.rows("SELECT COUNT(*) FROM ledger_errors")[0][0])
