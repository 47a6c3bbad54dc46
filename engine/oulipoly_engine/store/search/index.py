"""The full-text index over turns: filled lazily behind a watermark, in short batches.

Triggers (migration 10) take deleted and changed turns out again, so whoever writes turns need not know of it, and
other processes can write between two batches. Of a turn's text the first 1,048,576 characters are indexed, and the
turns that are longer are counted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence

from oulipoly_engine.core.search import cjk
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store

PER_SECOND = 8  # numbers of documents that share a second; more of them spill into the next ones
# Some 15 ms under the write lock, 45 where pieces of the index are merged; one long text alone may take 400. Ten times
# as many turns a batch would be a tenth faster in all.
_BATCH_TURNS, _BATCH_CHARACTERS = 200, 128 << 10
_MOST_CHARACTERS = 1 << 20  # of a turn's text, as in the view search_source
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

    indexed_to: int  # id of a turn; later ones are not indexed yet
    last: int  # id of the last stored turn
    most_spill: int  # by how many numbers a document may lie behind the place of its second
    cut: int  # turns of whose texts only the beginning is indexed

    @property
    def behind(self) -> int:
        """Return about how many turns are not indexed yet; exact where no turn was ever deleted."""
        return max(0, self.last - self.indexed_to)


def state(store: Store) -> IndexState:
    """Return how far the index has come."""
    row = store.rows(
        "SELECT indexed_to, (SELECT COALESCE(MAX(id), 0) FROM session_turns), most_spill,"
        " (SELECT COUNT(*) FROM search_cut) FROM search_state"
    )[0]
    return IndexState(*map(int, row))


def index_batch(store: Store, most: int = _BATCH_TURNS) -> int:
    """Index the next turns in a transaction of its own and return their number; 0: nothing was left to do."""
    if not state(store).behind:
        return _pair_due(store, most)
    with store.write():
        before = state(store)  # again under the lock: another process may have indexed meanwhile
        rows = _next(store, before.indexed_to, most)
        if not rows:
            return 0
        documents = _numbered(store, sorted((seconds, turn) for turn, seconds, _ in rows))
        last = max(turn for turn, *_ in rows)
        store.execute(
            "INSERT OR IGNORE INTO search_sessions (account, session_id)"
            " SELECT DISTINCT provider_name, session_id FROM session_turns WHERE id > ? AND id <= ?",
            (before.indexed_to, last),
        )
        store.execute_many(
            "INSERT INTO search_numbers (doc, turn, session) SELECT ?, t.id, x.number FROM session_turns t"
            " JOIN search_sessions x ON x.account = t.provider_name AND x.session_id = t.session_id WHERE t.id = ?",
            ((doc, turn) for doc, turn, _ in documents),
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
            ((turn, _MOST_CHARACTERS) for turn, _, length in rows if length > _MOST_CHARACTERS),
        )
        spill = max(doc - seconds * PER_SECOND for doc, _, seconds in documents)
        store.execute("UPDATE search_state SET indexed_to = ?, most_spill = MAX(most_spill, ?)", (last, spill))
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
    if not store.rows("SELECT 1 FROM search_pairs_due LIMIT 1"):
        return 0
    with store.write():
        rows = store.rows("SELECT turn FROM search_pairs_due ORDER BY turn LIMIT ?", (most,))
        given = (json.dumps([turn for (turn,) in rows]),)
        _pair(store, "IN (SELECT value FROM json_each(?))", given)
        store.execute("DELETE FROM search_pairs_due WHERE turn IN (SELECT value FROM json_each(?))", given)
    return len(rows)


def _pair(store: Store, which: str, given: Sequence[object]) -> None:
    """Index Chinese and Japanese turns by pairs of signs. Runs inside the caller's write transaction."""
    # Looked at here: a GLOB takes some 80 ns a character, and only what is longer in bytes can hold any.
    rows = store.rows(
        "SELECT d.doc, s.text, s.tags FROM session_turns t JOIN search_numbers d ON d.turn = t.id"  # noqa: S608 - ours
        f" JOIN search_source s ON s.turn = t.id WHERE t.id {which}"
        " AND length(t.body) <> length(CAST(t.body AS BLOB)) ORDER BY d.doc",
        given,
    )
    found = [(doc, cjk.paired(text), tags) for doc, text, tags in rows if text is not None and cjk.has_runs(text)]
    store.execute_many("DELETE FROM search_pairs WHERE rowid = ?", ((doc,) for doc, *_ in found))
    store.execute_many("INSERT INTO search_pairs (rowid, text, tags) VALUES (?, ?, ?)", found)


def _next(store: Store, after: int, most: int) -> list[tuple[int, int, int]]:
    """Return (turn, seconds since 1970, length of its body) of the next turns, as many as make a batch."""
    rows = store.rows(
        "SELECT id, COALESCE(CAST(strftime('%s', timestamp) AS INTEGER), 0), COALESCE(length(body), 0)"
        " FROM session_turns WHERE id > ? ORDER BY id LIMIT ?",
        (after, most),
    )
    taken, characters = [], 0
    for turn, seconds, length in rows:
        taken.append((int(turn), int(seconds), int(length)))
        characters += length
        if characters >= _BATCH_CHARACTERS:
            break
    return taken


def _numbered(store: Store, ordered: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Give each (seconds, turn) the first free number from its second's place on; returns (number, turn, seconds)."""
    numbered: list[tuple[int, int, int]] = []
    previous, second = None, None
    for seconds, turn in ordered:
        place = seconds * PER_SECOND
        if previous is not None and previous >= place:
            place = previous + 1
        if second != seconds or _is_taken(store, place):
            place = _first_free(store, place)
        numbered.append((place, turn, seconds))
        previous, second = place, seconds
    return numbered


def _is_taken(store: Store, number: int) -> bool:
    return bool(store.rows("SELECT 1 FROM search_numbers WHERE doc = ?", (number,)))


def _first_free(store: Store, place: int) -> int:
    if not _is_taken(store, place):
        return place
    return int(
        store.rows(
            "SELECT d.doc + 1 FROM search_numbers d WHERE d.doc >= ? AND NOT EXISTS"
            " (SELECT 1 FROM search_numbers e WHERE e.doc = d.doc + 1) ORDER BY d.doc LIMIT 1",
            (place,),
        )[0][0]
    )
