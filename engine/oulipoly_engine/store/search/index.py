"""The full-text index over entries: filled lazily behind a watermark, in short batches.

Triggers (migration 10) take deleted and changed turns out again, so whoever writes entries need not know of it, and
other processes can write between two batches. Of an entry's text the first 1,048,576 characters are indexed, and the
turns that are longer are counted.

What fills or reads the index is SQL: no other database has it, and rows come in masses. The rest asks with models.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence

from oulipoly_engine.core.search import cjk
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of, greatest
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.models.search import PairsDueRow, SearchCutRow, SearchNumberRow, SearchStateRow
from oulipoly_engine.store.models.transcripts import EntryRow

PER_SECOND = 8  # numbers of documents that share a second; more of them spill into the next ones
# Some 15 ms under the write lock, 45 where pieces of the index are merged; one long text alone may take 400. Ten times
# as many turns a batch would be a tenth faster in all.
_BATCH_ENTRIES, _BATCH_CHARACTERS = 200, 128 << 10
_MOST_CHARACTERS = 1 << 20  # of an entry's text, as in the view search_source
_CLEARED_ROWS, _CLEARED_S = 200, 0.02  # of a table of before: at once, and under one lock

# What migration 10 has left behind: a table, and the tables below it with their keys, the largest first.
_FORMER = {
    "turn_search": (("data", "id"), ("idx", "segid, term"), ("docsize", "id")),
    "turn_search_pairs": (("data", "id"), ("content", "id"), ("idx", "segid, term"), ("docsize", "id")),
    "search_docs": (("", "doc"),),
}
_OPENED = 10  # an index of which these first rows of its data are gone can be opened no more, not even to drop it


class IndexState(Record):
    """How far the index has come."""

    indexed_to: int  # id of an entry; later ones are not indexed yet
    last: int  # id of the last stored entry
    most_spill: int  # by how many numbers a document may lie behind the place of its second
    cut: int  # entries of whose texts only the beginning is indexed

    @property
    def behind(self) -> int:
        """Return about how many entries are not indexed yet; exact where no entry was ever deleted."""
        return max(0, self.last - self.indexed_to)


@compile_query
def _how_far() -> Query:
    row = SearchStateRow
    last = EntryRow.select(fn.COALESCE(fn.MAX(EntryRow.id), 0))
    cut = SearchCutRow.select(fn.COUNT(SearchCutRow.entry))
    return row.select(row.indexed_to, last, row.most_spill, cut)


def state(store: Store) -> IndexState:
    """Return how far the index has come."""
    row = store.rows(_how_far())[0]
    return IndexState(*map(int, row))


def index_batch(store: Store, most: int = _BATCH_ENTRIES) -> int:
    """Index the next entries in a transaction of its own and return their number; 0: nothing was left to do."""
    if not state(store).behind:
        return _pair_due(store, most)
    with store.write():
        before = state(store)  # again under the lock: another process may have indexed meanwhile
        rows = _next(store, before.indexed_to, most)
        if not rows:
            return 0
        documents = _assign_numbers(store, sorted((seconds, entry) for entry, seconds, _ in rows))
        last = max(entry for entry, *_ in rows)
        store.execute(
            "INSERT OR IGNORE INTO search_sessions (account, session_id)"
            " SELECT DISTINCT provider_name, session_id FROM session_turns WHERE id > ? AND id <= ?",
            (before.indexed_to, last),
        )
        store.execute_many(
            "INSERT INTO search_numbers (doc, turn, session) SELECT ?, t.id, x.number FROM session_turns t"
            " JOIN search_sessions x ON x.account = t.provider_name AND x.session_id = t.session_id WHERE t.id = ?",
            ((doc, entry) for doc, entry, _ in documents),
        )
        # In the order of the numbers: the index writes a piece of its own each time that they go back.
        store.execute(
            "INSERT INTO search_words (rowid, text, tags) SELECT d.doc, s.text, s.tags FROM search_numbers d"
            " JOIN search_source s ON s.turn = d.turn WHERE d.turn > ? AND d.turn <= ? ORDER BY d.doc",
            (before.indexed_to, last),
        )
        _pair(store, "> ? AND t.id <= ?", (before.indexed_to, last))
        store.execute_many(
            "INSERT INTO search_cut (turn) SELECT turn FROM search_source WHERE turn = ? AND length(text) >= ?",
            ((entry, _MOST_CHARACTERS) for entry, _, length in rows if length > _MOST_CHARACTERS),
        )
        spill = max(doc - seconds * PER_SECOND for doc, _, seconds in documents)
        most_spill = greatest(SearchStateRow.most_spill, spill)
        store.run(SearchStateRow.update(indexed_to=last, most_spill=most_spill))
    return len(rows)


def clear_batch(store: Store) -> bool:
    """Take away a part of what an index of before migration 10 has left; False: nothing was left."""
    if not _former(store):
        return False
    deadline = time.monotonic() + _CLEARED_S
    with store.write():
        for table in _former(store):  # again under the lock: another process may have dropped some meanwhile
            for suffix, key in _FORMER[table]:
                below = f"{table}_{suffix}" if suffix else table
                kept = f" WHERE id > {_OPENED}" if suffix == "data" else ""
                some = f"SELECT {key} FROM {below}{kept} LIMIT {_CLEARED_ROWS}"  # noqa: S608 - ours
                while store.execute_many(f"DELETE FROM {below} WHERE ({key}) IN ({some})", ((),)):  # noqa: S608 - ours
                    if time.monotonic() > deadline:
                        return True
            store.execute(f"DROP TABLE {table}")
    return True


def _former(store: Store) -> list[str]:
    names = store.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    return [table for table in _FORMER if (table,) in names]


def _pair_due(store: Store, most: int) -> int:
    """Index the pairs of turns that are due, and return how many were."""
    due = PairsDueRow.entry
    if not store.rows(PairsDueRow.select(due).limit(1)):
        return 0
    with store.write():
        rows = store.rows(PairsDueRow.select(due).order_by(due).limit(most))
        entries = [entry for (entry,) in rows]
        _pair(store, "IN (SELECT value FROM json_each(?))", (json.dumps(entries),))
        store.run(PairsDueRow.delete().where(due.in_(each_of(entries))))
    return len(rows)


def _pair(store: Store, which: str, given: Sequence[object]) -> None:
    """Index Chinese and Japanese entries by pairs of signs. Runs inside the caller's write transaction."""
    # Looked at here: a GLOB takes some 80 ns a character, and only what is longer in bytes can hold any.
    rows = store.rows(
        "SELECT d.doc, s.text, s.tags FROM session_turns t JOIN search_numbers d ON d.turn = t.id"  # noqa: S608 - ours
        f" JOIN search_source s ON s.turn = t.id WHERE t.id {which}"
        " AND length(t.body) <> length(CAST(t.body AS BLOB)) ORDER BY d.doc",
        given,
    )
    found = [(doc, cjk.pair_signs(text), tags) for doc, text, tags in rows if text is not None and cjk.has_runs(text)]
    store.execute_many("DELETE FROM search_pairs WHERE rowid = ?", ((doc,) for doc, *_ in found))
    store.execute_many("INSERT INTO search_pairs (rowid, text, tags) VALUES (?, ?, ?)", found)


def _next(store: Store, after: int, most: int) -> list[tuple[int, int, int]]:
    """Return (turn, seconds since 1970, length of its body) of the next entries, as many as make a batch."""
    rows = store.rows(
        "SELECT id, COALESCE(CAST(strftime('%s', timestamp) AS INTEGER), 0), COALESCE(length(body), 0)"
        " FROM session_turns WHERE id > ? ORDER BY id LIMIT ?",
        (after, most),
    )
    taken, characters = [], 0
    for entry, seconds, length in rows:
        taken.append((int(entry), int(seconds), int(length)))
        characters += length
        if characters >= _BATCH_CHARACTERS:
            break
    return taken


def _assign_numbers(store: Store, ordered: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Give each (seconds, turn) the first free number from its second's place on; returns (number, turn, seconds)."""
    numbered: list[tuple[int, int, int]] = []
    previous, second = None, None
    for seconds, entry in ordered:
        place = seconds * PER_SECOND
        if previous is not None and previous >= place:
            place = previous + 1
        if second != seconds or _is_taken(store, place):
            place = _first_free(store, place)
        numbered.append((place, entry, seconds))
        previous, second = place, seconds
    return numbered


@compile_query
def _of_number(number: Parameter) -> Query:
    return SearchNumberRow.select(SearchNumberRow.doc).where(SearchNumberRow.doc == number)


@compile_query
def _first_gap(place: Parameter) -> Query:
    row, behind = SearchNumberRow, SearchNumberRow.alias()
    is_followed = fn.EXISTS(behind.select(behind.doc).where(behind.doc == row.doc + 1))
    return row.select(row.doc + 1).where(row.doc >= place, ~is_followed).order_by(row.doc).limit(1)


def _is_taken(store: Store, number: int) -> bool:
    return bool(store.rows(_of_number(number)))


def _first_free(store: Store, place: int) -> int:
    return int(store.rows(_first_gap(place))[0][0]) if _is_taken(store, place) else place
