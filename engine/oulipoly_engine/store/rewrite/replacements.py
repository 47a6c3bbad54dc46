"""Replaced transcripts: what was replaced and by what, and the turns that follow from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.errors import SchemaIncompatible
from oulipoly_engine.records import Record
from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.compiled import Parameter, compile_query, insertion
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import count_where
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.models.sessions import ChainRow, SegmentRow
from oulipoly_engine.store.models.transcripts import EntryRow, ReplacementRow

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
        "live_turn_id",
        "native_id",
    ),
    "session_chains": ("chain_id", "last_used_at", "leaf"),
    "session_chain_segments": ("id", "chain_id", "provider_name", "session_id", "last_turn_id"),
    "replacements": ("operation_uuid", "committed_at", "preimage_file_sha256", "postimage_file_sha256", "undone_at"),
}
# In the order of `Replacement`.
_FIELDS = tuple(field for field in ReplacementRow._meta.sorted_fields if field is not ReplacementRow.id)


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


class ReplacedEntry(Record):
    """An entry of the new transcript."""

    entry_id: str
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
            ReplacementRow,
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
        row = ReplacementRow
        store.run(row.delete().where(row.operation_uuid == operation_uuid, row.committed_at.is_null()))


def is_kept(store: Store, file_sha256: str) -> bool:
    """Return whether any replacement needs the file of that hash."""
    row = ReplacementRow
    return bool(store.rows(row.select(row.id).where(row.preimage_file_sha256 == file_sha256).limit(1)))


def droppable(store: Store) -> tuple[str, ...]:
    """Return the hashes of replaced transcripts that may be given up, the oldest first.

    What a session's latest operation and its latest replacement that stands would bring back is not among them, nor
    what one under way needs.
    """
    row, latest, standing = ReplacementRow, ReplacementRow.alias(), ReplacementRow.alias()
    latest_of_each = latest.select(fn.MAX(latest.id)).group_by(latest.session_id)
    standing_of_each = (
        standing.select(fn.MAX(standing.id))
        .where(standing.operation == "import-replace", standing.undone_at.is_null())
        .group_by(standing.session_id)
    )
    is_needed = row.committed_at.is_null() | row.id.in_(latest_of_each) | row.id.in_(standing_of_each)
    rows = store.rows(
        row.select(row.preimage_file_sha256)
        .group_by(row.preimage_file_sha256)
        .having(count_where(is_needed) == 0)
        .order_by(fn.MAX(row.id))
    )
    return tuple(str(digest) for (digest,) in rows)


def of_session(store: Store, chain_id: str, account: str, session_id: str) -> tuple[Replacement, ...]:
    """Return what happened to a session's transcript, the earliest first; nothing that is still under way.

    What happened on the accounts that it was moved from counts: the move has carried the outcome along.
    """
    row = ReplacementRow
    rows = store.rows(
        row.select(*_FIELDS)
        .where(
            row.session_id == session_id,
            (row.provider_name == account) | (row.chain_id == chain_id),
            row.committed_at.is_null(False),
        )
        .order_by(row.id)
    )
    return tuple(Replacement(*row) for row in rows)


def find_undoable(store: Store) -> frozenset[tuple[str, str]]:
    """Return what stands replaced and can be taken back: (account, session id) and (chain id, session id)."""
    row = ReplacementRow
    rows = store.rows(
        row.select(row.provider_name, row.chain_id, row.session_id)
        .distinct()
        .where(row.operation == "import-replace", row.committed_at.is_null(False), row.undone_at.is_null())
    )
    return frozenset((str(owner), str(session)) for *owners, session in rows for owner in owners if owner)


def find(store: Store, operation_uuid: str) -> Replacement | None:
    """Return one replacement, None if there is none of that id."""
    rows = store.rows(ReplacementRow.select(*_FIELDS).where(ReplacementRow.operation_uuid == operation_uuid))
    return Replacement(*rows[0]) if rows else None


def commit(store: Store, operation_uuid: str, at: datetime) -> None:
    """Mark a replacement as done, and what it takes back as undone. Runs inside the caller's write transaction."""
    instant = to_text(at)
    row = ReplacementRow
    store.run(row.update(committed_at=instant).where(row.operation_uuid == operation_uuid, row.committed_at.is_null()))
    done = find(store, operation_uuid)
    if done is None or done.undoes is None:
        return
    store.run(row.update(undone_at=instant).where(row.operation_uuid == done.undoes))
    target = find(store, done.undoes)
    if target is not None and target.undoes is not None:  # an undo is taken back: what it took back stands again
        store.run(row.update(undone_at=None).where(row.operation_uuid == target.undoes))


@compile_query
def _delete_entry(row_id: Parameter) -> Query:
    return EntryRow.delete().where(EntryRow.id == row_id)


_INSERTION = insertion(
    EntryRow.provider_name,
    EntryRow.session_id,
    EntryRow.entry_id,
    EntryRow.timestamp,
    EntryRow.role,
    EntryRow.source_file,
    EntryRow.ingested_at,
    EntryRow.body,
    EntryRow.turn_id,
    EntryRow.native_id,
    conflict="ignore",
)


def replace_entries(
    store: Store,
    account: str,
    session_id: str,
    entries: Iterable[ReplacedEntry],
    *,
    kept: Collection[str],
    source_file: str,
    at: datetime,
) -> None:
    """Put other entries in a session's place. Runs inside the caller's write transaction.

    kept: ids of turns that the transcript still holds before its last compaction: no export shows them, so no
    replacement touches them. Sub-agents' entries lie in files of their own and stay as well.
    """
    row = EntryRow
    stored = store.rows(
        row.select(row.id, row.entry_id, row.turn_id, row.native_id).where(
            row.provider_name == account,
            row.session_id == session_id,
            (row.is_sidechain == 0) | row.source_file.is_null() | (row.source_file == source_file),
        )
    )
    store.execute_many(_delete_entry, ((row,) for row, entry_id, *_ in stored if str(entry_id) not in kept))
    instant = to_text(at)
    turns = {entry_id: turn for _, entry_id, *turn in stored}  # an entry stays that of its turn
    values = (
        (account, session_id, one.entry_id, one.timestamp, one.role, source_file, instant, one.body) for one in entries
    )
    store.execute_many(_INSERTION, ((*value, *turns.get(value[2], (None, None))) for value in values))


def touch_chain(store: Store, chain_id: str, segment_row_id: int, last: ReplacedEntry) -> None:
    """Note a chain's last entry, behind which it goes on. Runs inside the caller's write transaction."""
    segment = SegmentRow
    chain = ChainRow
    store.run(
        segment.update(last_turn_id=last.entry_id).where(segment.id == segment_row_id, segment.chain_id == chain_id)
    )
    store.run(chain.update(last_used_at=last.timestamp, leaf=None).where(chain.chain_id == chain_id))
