"""The full-text index over turns: filled lazily behind a watermark, in short batches.

Triggers (migration 5) take deleted and changed turns out again, so whoever writes turns need not know of it, and
other processes can write between two batches.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oulipoly_engine.core import cjk
from oulipoly_engine.store.db import Store

PER_SECOND = 8  # numbers of documents that share a second; more of them spill into the next ones
_BATCH_TURNS, _BATCH_CHARACTERS = 2_000, 4 << 20  # some 150 ms under the write lock


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far the index has come."""

    indexed_to: int  # id of a turn; later ones are not indexed yet
    last: int  # id of the last stored turn
    most_spill: int  # by how many numbers a document may lie behind the place of its second

    @property
    def behind(self) -> int:
        """Return about how many turns are not indexed yet; exact where no turn was ever deleted."""
        return max(0, self.last - self.indexed_to)


def state(store: Store) -> IndexState:
    """Return how far the index has come."""
    row = store.rows(
        "SELECT indexed_to, (SELECT COALESCE(MAX(id), 0) FROM session_turns), most_spill FROM search_state"
    )[0]
    return IndexState(int(row[0]), int(row[1]), int(row[2]))


def index_batch(store: Store, most: int = _BATCH_TURNS) -> int:
    """Index the next turns in a transaction of its own and return their number; 0: nothing was left to do."""
    if not state(store).behind:
        return _pair_due(store, most)
    with store.write():
        before = state(store)  # again under the lock: another process may have indexed meanwhile
        rows = _next(store, before.indexed_to, most)
        if not rows:
            return 0
        documents = _numbered(store, sorted((seconds, turn) for turn, seconds in rows))
        store.execute_many(
            "INSERT INTO search_docs (doc, turn) VALUES (?, ?)", ((doc, turn) for doc, turn, _ in documents)
        )
        last = max(turn for turn, _ in rows)
        # In the order of the numbers: the index writes a piece of its own each time that they go back.
        store.execute(
            "INSERT INTO turn_search (rowid, text, tags) SELECT d.doc, s.text, s.tags FROM search_docs d"
            " JOIN search_source s ON s.turn = d.turn WHERE d.turn > ? AND d.turn <= ? ORDER BY d.doc",
            (before.indexed_to, last),
        )
        _pair(store, "> ? AND t.id <= ?", (before.indexed_to, last))
        spill = max(doc - seconds * PER_SECOND for doc, _, seconds in documents)
        store.execute("UPDATE search_state SET indexed_to = ?, most_spill = MAX(most_spill, ?)", (last, spill))
    return len(rows)


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
    bodies = store.rows(
        f"SELECT t.id, t.body FROM session_turns t WHERE t.id {which}"  # noqa: S608 - ours
        " AND length(t.body) <> length(CAST(t.body AS BLOB))",
        given,
    )
    turns = [turn for turn, body in bodies if cjk.has_runs(body)]
    if not turns:
        return
    rows = store.rows(
        "SELECT d.doc, s.text, s.tags FROM search_docs d JOIN search_source s ON s.turn = d.turn"
        " WHERE d.turn IN (SELECT value FROM json_each(?)) ORDER BY d.doc",
        (json.dumps(turns),),
    )
    found = [(doc, cjk.paired(text), tags) for doc, text, tags in rows if text is not None]
    store.execute_many("DELETE FROM turn_search_pairs WHERE rowid = ?", ((doc,) for doc, *_ in found))
    store.execute_many("INSERT INTO turn_search_pairs (rowid, text, tags) VALUES (?, ?, ?)", found)


def _next(store: Store, after: int, most: int) -> list[tuple[int, int]]:
    """Return (turn, seconds since 1970) of the next turns, as many as make a batch."""
    rows = store.rows(
        "SELECT id, COALESCE(CAST(strftime('%s', timestamp) AS INTEGER), 0), COALESCE(length(body), 0)"
        " FROM session_turns WHERE id > ? ORDER BY id LIMIT ?",
        (after, most),
    )
    taken, characters = [], 0
    for turn, seconds, length in rows:
        taken.append((int(turn), int(seconds)))
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
    return bool(store.rows("SELECT 1 FROM search_docs WHERE doc = ?", (number,)))


def _first_free(store: Store, place: int) -> int:
    if not _is_taken(store, place):
        return place
    return int(
        store.rows(
            "SELECT d.doc + 1 FROM search_docs d WHERE d.doc >= ? AND NOT EXISTS"
            " (SELECT 1 FROM search_docs e WHERE e.doc = d.doc + 1) ORDER BY d.doc LIMIT 1",
            (place,),
        )[0][0]
    )
