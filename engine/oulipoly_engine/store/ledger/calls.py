"""The ledger of API calls: rows that only ever join, cursors of transcripts, and sums."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from oulipoly_engine.core.ledger.calls import Damage, Entry, Place, Tokens, call_id, place_id, storable
from oulipoly_engine.records import Record, field
from oulipoly_engine.store.base.compiled import Parameter, compile_query, insertion
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import SQL, Case, Field, Function, Query, Value, fn
from oulipoly_engine.store.ledger.copied_calls import Row, book_to_makers
from oulipoly_engine.store.models.ledger import CallRow, CursorRow, DamageRow, PlaceRow, RootRow

# SQL, for the sake of row values: they compare field by field, and a place's last bits are its rank. It is the rule
# that merges lines before they come here (core/ledger/calls.py, `merged`), once more.
_JOIN = (
    "INSERT INTO ledger_calls (id, at_ms, place, input, output, cache_read, cache_write, cache_write_1h, reasoning)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
    " place = CASE WHEN (excluded.place & 3, excluded.at_ms) < (place & 3, at_ms) THEN excluded.place ELSE place END,"
    " at_ms = min(at_ms, excluded.at_ms), input = max(input, excluded.input), output = max(output, excluded.output),"
    " cache_read = max(cache_read, excluded.cache_read), cache_write = max(cache_write, excluded.cache_write),"
    " cache_write_1h = max(cache_write_1h, excluded.cache_write_1h), reasoning = max(reasoning, excluded.reasoning)"
)


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


_NEW_PLACES = insertion(*PlaceRow._meta.sorted_fields, conflict="ignore")
_CURSORS = insertion(*CursorRow._meta.sorted_fields, conflict="update")
_DAMAGED = insertion(*DamageRow._meta.sorted_fields, conflict="update")
_ROOTS = insertion(*RootRow._meta.sorted_fields, conflict="update")


@compile_query
def _forget(path: Parameter) -> Query:
    return CursorRow.delete().where(CursorRow.path == path)


def write(store: Store, batch: Batch) -> None:
    """Write a batch, all of it or nothing."""
    with store.write():
        store.execute_many(_NEW_PLACES, _place_rows(batch.places))
        found: dict[int, Place] = {}
        store.execute_many(_JOIN, book_to_makers(store, batch.calls, found.__setitem__))
        store.execute_many(_NEW_PLACES, _place_rows(found))
        store.execute_many(_CURSORS, map(_cursor_row, batch.cursors.items()))
        store.execute_many(_forget, ((os.fsencode(path),) for path in batch.gone))
        store.execute_many(
            _DAMAGED,
            ((os.fsencode(path), *one) for path, found in batch.damaged.items() for one in found),
        )
        store.execute_many(_ROOTS, (tuple(map(storable, pair)) for pair in batch.roots.items()))


def _cursor_row(known: tuple[str, Cursor]) -> tuple[object, ...]:
    path, cursor = known
    state = None if cursor.state is None else storable(cursor.state)
    return (os.fsencode(path), *cursor._replace(state=state))


def _place_rows(places: Mapping[int, Place]) -> Iterator[tuple[object, ...]]:
    return ((number, *map(storable, place[:5]), place[5]) for number, place in places.items())


def index_calls(store: Store) -> None:
    """Make the index of calls by time, unless it is there."""
    if not store.rows("SELECT 1 FROM sqlite_master WHERE name = 'idx_ledger_calls_at'"):
        with store.write():
            store.execute("CREATE INDEX IF NOT EXISTS idx_ledger_calls_at ON ledger_calls (at_ms)")


def cursors(store: Store) -> dict[str, Cursor]:
    """Return every transcript's cursor by path."""
    decode, make = os.fsdecode, Cursor._make
    return {decode(path): make(values) for path, *values in store.rows(CursorRow.select())}


def roots(store: Store) -> dict[str, str]:
    """Return the first ancestor of every forked session."""
    return {str(session): str(root) for session, root in store.rows(RootRow.select(RootRow.session, RootRow.root))}


def _sums() -> tuple[Function, ...]:
    row = CallRow
    counts = (row.input, row.output, row.cache_read, row.cache_write, row.cache_write_1h, row.reasoning)
    return tuple(fn.SUM(count) for count in counts)


@compile_query
def _all_places() -> Query:
    row = PlaceRow
    return row.select(row.id, row.account, row.cli, row.session, row.project, row.model, row.is_sidechain)


def sums(store: Store, account: str, since_ms: int, until_ms: int | None = None) -> tuple[int, Tokens]:
    """Return how many calls an account made from an instant on, and their tokens. until_ms: not included."""
    question = (
        CallRow.select(fn.COUNT(CallRow.id), *_sums())
        .join(PlaceRow, on=PlaceRow.id == CallRow.place)
        .where(CallRow.at_ms >= since_ms, PlaceRow.account == account)
    )
    row = store.rows(question if until_ms is None else question.where(CallRow.at_ms < until_ms))[0]
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
    row, told = CallRow, CallRow.input + CallRow.cache_read + CallRow.cache_write
    tier: Any = Value(0)
    for least in thresholds:
        tier += Case(None, [(told > int(least), 1)], 0)
    stretch = row.at_ms / stretch_ms
    by_place = (row.place, stretch.alias("stretch"), tier.alias("tier"))
    with store.read():
        places = {
            number: Place(account, cli, session, project, model, bool(is_sidechain))
            for number, account, cli, session, project, model, is_sidechain in store.rows(_all_places())
        }
        rows = store.rows(
            row.select(*by_place, fn.COUNT(row.id), *_sums())
            .where(row.at_ms >= since_ms, row.at_ms < until_ms)
            .group_by(SQL("1"), SQL("2"), SQL("3"))
        )
    for place, begin, exceeded, calls, *counts in rows:
        yield Summed(places[place], begin * stretch_ms, exceeded, calls, Tokens(*counts))


def models(store: Store) -> tuple[str, ...]:
    """Return the names of all models that calls were made to."""
    return tuple(str(row[0]) for row in store.rows(_distinct(PlaceRow.model)))


def accounts(store: Store) -> tuple[str, ...]:
    """Return the names of all accounts that calls were made by."""
    return tuple(str(row[0]) for row in store.rows(_distinct(PlaceRow.account)))


def count_damaged_lines(store: Store) -> int:
    """Return how many lines that may tell of a call could not be read."""
    return int(store.rows(DamageRow.select(fn.COUNT(SQL("*"))))[0][0])


def _distinct(column: Field[str]) -> Query:
    return PlaceRow.select(column).distinct().order_by(column)
