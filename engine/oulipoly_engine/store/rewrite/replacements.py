"""Replaced transcripts: what was replaced and by what, and the turns that follow from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.errors import SchemaIncompatible
from oulipoly_engine.records import Record
from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.db import Store

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "session_turns": (
        "provider_name",
        "session_id",
        "turn_id",
        "timestamp",
        "role",
        "parent_turn_id",
        "is_sidechain",
        "is_compaction_boundary",
        "source_file",
        "ingested_at",
        "body",
    ),
    "session_chains": ("chain_id", "last_used_at"),
    "session_chain_segments": ("id", "chain_id", "provider_name", "session_id", "last_turn_id"),
    "replacements": ("operation_uuid", "committed_at", "preimage_file_sha256", "postimage_file_sha256", "undone_at"),
}
_COLUMNS = (
    "operation_uuid, operation, session_id, provider_name, chain_id, jsonl_path, started_at, committed_at,"
    " preimage_sha256, postimage_sha256, preimage_file_sha256, postimage_file_sha256, preimage_size_bytes, undoes,"
    " undone_at"
)


class Replacement(Record):
    """One replacement of a transcript; instants are RFC 3339 in the one fixed form."""

    operation_uuid: str
    operation: str  # import-replace, undo
    session_id: str
    account: str
    chain_id: str
    path: str
    started_at: str
    committed_at: str | None  # None: under way
    preimage_sha256: str  # of the canonical export before
    postimage_sha256: str  # and after
    preimage_file_sha256: str  # of the transcript's bytes before: the kept file's name
    postimage_file_sha256: str  # and after
    preimage_size_bytes: int
    undoes: str | None = None  # of an undo: the operation that it takes back
    undone_at: str | None = None


class ReplacedTurn(Record):
    """A turn of the new transcript."""

    turn_id: str
    timestamp: str  # RFC 3339 in the one fixed form
    role: str
    body: str  # JSON list of content chunks


def require_shape(store: Store) -> None:
    """Raise SchemaIncompatible, naming it, when a table or column that a replacement writes is missing."""
    for table, columns in _NEEDED.items():
        found = {str(row[1]) for row in store.rows(f"PRAGMA table_info({table})")}
        missing = [f"{table}.{column}" for column in columns if column not in found]
        if missing:
            what = f"table {table}" if not found else f"column {missing[0]}"
            message = f"the state file {store.path} has no {what}, which a replacement needs; {schema.WAY_OUT}"
            raise SchemaIncompatible(message, missing=missing[0] if found else table)


def begin(store: Store, replacement: Replacement) -> None:
    """Note a replacement that is about to happen."""
    with store.write():
        store.insert(
            "replacements",
            operation_uuid=replacement.operation_uuid,
            operation=replacement.operation,
            session_id=replacement.session_id,
            provider_name=replacement.account,
            chain_id=replacement.chain_id,
            jsonl_path=replacement.path,
            started_at=replacement.started_at,
            preimage_sha256=replacement.preimage_sha256,
            postimage_sha256=replacement.postimage_sha256,
            preimage_file_sha256=replacement.preimage_file_sha256,
            postimage_file_sha256=replacement.postimage_file_sha256,
            preimage_size_bytes=replacement.preimage_size_bytes,
            undoes=replacement.undoes,
        )


def forget(store: Store, operation_uuid: str) -> None:
    """Drop the note of a replacement that did not happen."""
    with store.write():
        store.execute("DELETE FROM replacements WHERE operation_uuid = ? AND committed_at IS NULL", (operation_uuid,))


def is_kept(store: Store, file_sha256: str) -> bool:
    """Return whether any replacement needs the file of that hash."""
    return bool(store.rows("SELECT 1 FROM replacements WHERE preimage_file_sha256 = ? LIMIT 1", (file_sha256,)))


def droppable(store: Store) -> tuple[str, ...]:
    """Return the hashes of replaced transcripts that may be given up, the oldest first.

    What a session's latest operation and its latest replacement that stands would bring back is not among them, nor
    what one under way needs.
    """
    rows = store.rows(
        "SELECT preimage_file_sha256 FROM replacements GROUP BY preimage_file_sha256 HAVING SUM(committed_at IS NULL"
        " OR id IN (SELECT MAX(id) FROM replacements GROUP BY session_id)"
        " OR id IN (SELECT MAX(id) FROM replacements WHERE operation = 'import-replace' AND undone_at IS NULL"
        " GROUP BY session_id)) = 0 ORDER BY MAX(id)"
    )
    return tuple(str(digest) for (digest,) in rows)


def of_session(store: Store, chain_id: str, account: str, session_id: str) -> tuple[Replacement, ...]:
    """Return what happened to a session's transcript, the earliest first; nothing that is still under way.

    What happened on the accounts that it was moved from counts: the move has carried the outcome along.
    """
    rows = store.rows(
        f"SELECT {_COLUMNS} FROM replacements WHERE session_id = ?1 AND (provider_name = ?2 OR chain_id = ?3)"  # noqa: S608 - ours
        " AND committed_at IS NOT NULL ORDER BY id",
        (session_id, account, chain_id),
    )
    return tuple(Replacement(*row) for row in rows)


def standing(store: Store) -> frozenset[tuple[str, str]]:
    """Return what stands replaced and can be taken back: (account, session id) and (chain id, session id)."""
    rows = store.rows(
        "SELECT DISTINCT provider_name, chain_id, session_id FROM replacements WHERE operation = 'import-replace'"
        " AND committed_at IS NOT NULL AND undone_at IS NULL"
    )
    return frozenset((str(owner), str(session)) for *owners, session in rows for owner in owners if owner)


def find(store: Store, operation_uuid: str) -> Replacement | None:
    """Return one replacement, None if there is none of that id."""
    rows = store.rows(f"SELECT {_COLUMNS} FROM replacements WHERE operation_uuid = ?", (operation_uuid,))  # noqa: S608 - ours
    return Replacement(*rows[0]) if rows else None


def commit(store: Store, operation_uuid: str, at: datetime) -> None:
    """Mark a replacement as done, and what it takes back as undone. Runs inside the caller's write transaction."""
    instant = to_text(at)
    store.execute(
        "UPDATE replacements SET committed_at = ? WHERE operation_uuid = ? AND committed_at IS NULL",
        (instant, operation_uuid),
    )
    done = find(store, operation_uuid)
    if done is None or done.undoes is None:
        return
    store.execute("UPDATE replacements SET undone_at = ? WHERE operation_uuid = ?", (instant, done.undoes))
    target = find(store, done.undoes)
    if target is not None and target.undoes is not None:  # an undo is taken back: what it took back stands again
        store.execute("UPDATE replacements SET undone_at = NULL WHERE operation_uuid = ?", (target.undoes,))


def replace_turns(
    store: Store,
    account: str,
    session_id: str,
    turns: Iterable[ReplacedTurn],
    *,
    kept: Collection[str],
    source_file: str,
    at: datetime,
) -> None:
    """Put other turns in a session's place. Runs inside the caller's write transaction.

    kept: ids of turns that the transcript still holds before its last compaction: no export shows them, so no
    replacement touches them. Sub-agents' turns lie in files of their own and stay as well.
    """
    stored = store.rows(
        "SELECT id, turn_id FROM session_turns WHERE provider_name = ? AND session_id = ?"
        " AND (is_sidechain = 0 OR source_file IS NULL OR source_file = ?)",
        (account, session_id, source_file),
    )
    store.execute_many(
        "DELETE FROM session_turns WHERE id = ?", ((row,) for row, turn_id in stored if str(turn_id) not in kept)
    )
    instant = to_text(at)
    store.execute_many(
        "INSERT OR IGNORE INTO session_turns (provider_name, session_id, turn_id, timestamp, role, parent_turn_id,"
        " is_sidechain, is_compaction_boundary, source_file, ingested_at, body)"
        " VALUES (?, ?, ?, ?, ?, NULL, 0, 0, ?, ?, ?)",
        (
            (account, session_id, turn.turn_id, turn.timestamp, turn.role, source_file, instant, turn.body)
            for turn in turns
        ),
    )


def touch_chain(store: Store, chain_id: str, segment_row_id: int, last: ReplacedTurn) -> None:
    """Note a chain's last turn. Runs inside the caller's write transaction."""
    store.execute(
        "UPDATE session_chain_segments SET last_turn_id = ? WHERE id = ? AND chain_id = ?",
        (last.turn_id, segment_row_id, chain_id),
    )
    store.execute("UPDATE session_chains SET last_used_at = ? WHERE chain_id = ?", (last.timestamp, chain_id))
