"""The archive's index: which copies are kept of which files, and of which chunks each consists."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import insertion
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import literal
from oulipoly_engine.store.base.orm import Case, Expression, ModelSelect, Query, fn
from oulipoly_engine.store.models.archive import ChunkRow, CompleteRow, CopyRow, ObjectRow
from oulipoly_engine.store.models.transcripts import EntryRow

_MOST_NS = (1 << 63) - 1
_ASKED_AT_ONCE = 500  # SQLite takes a limited number of parameters


class Chunk(Record):
    """A piece of a copy."""

    sha256: bytes  # 32 of them
    size_bytes: int


class KeptCopy(Record):
    """A kept copy of one file."""

    row_id: int
    account: str
    session_id: str
    path: Path  # where the CLI had it
    part: str  # empty: the transcript; else its place in the session's own folder
    device: int
    inode: int
    size_bytes: int
    mtime_ns: int
    kept_at: str  # RFC 3339
    is_latest: bool = True  # False: what was there before the file was rewritten
    is_pruned: bool = False  # nothing but this record is left

    def is_of(self, status: os.stat_result) -> bool:
        """Tell whether nothing has happened to the file since."""
        seen = (self.device, self.inode, self.size_bytes, self.mtime_ns)
        return seen == (status.st_dev, status.st_ino, status.st_size, storable_ns(status))


_CHUNKS = insertion(ChunkRow.copy_id, ChunkRow.position, ChunkRow.sha256, ChunkRow.size_bytes)
_OBJECTS = insertion(ObjectRow.sha256, ObjectRow.stored_bytes, conflict="ignore")


def latest_of(store: Store, account: str) -> dict[Path, KeptCopy]:
    """Return the latest copy of each of an account's files."""
    return {copy.path: copy for copy in _read(store, _latest(CopyRow.account == account))}


def transcripts(store: Store) -> tuple[KeptCopy, ...]:
    """Return the latest copies of all transcripts, newest first."""
    return tuple(_read(store, _latest(CopyRow.part == "").order_by(CopyRow.mtime_ns.desc(), CopyRow.id)))


def of_session(store: Store, account: str, session_id: str) -> tuple[KeptCopy, ...]:
    """Return the latest copies of a session's files, the newest transcript first."""
    row = CopyRow
    files = _latest(row.session_id == session_id, row.account == account)
    transcripts_first = Case(None, [(row.part == "", 0)], 1)
    return tuple(_read(store, files.order_by(transcripts_first, row.mtime_ns.desc(), row.id)))


def holders(store: Store, session_id: str) -> tuple[str, ...]:
    """Return the accounts that have a copy of a session."""
    row = CopyRow
    rows = store.rows(row.select(row.account).distinct().where(row.session_id == session_id).order_by(row.account))
    return tuple(str(account) for (account,) in rows)


def find_superseded(store: Store, account: str, path: Path) -> tuple[KeptCopy, ...]:
    """Return what a file held before it was rewritten, newest first."""
    row = CopyRow
    earlier = row.select().where(
        row.account == account, row.path == os.fsencode(path), literal(row.is_latest == 0), row.is_pruned == 0
    )
    return tuple(_read(store, earlier.order_by(row.id.desc())))


def prunable(store: Store) -> Iterator[KeptCopy]:
    """Yield the copies that hold chunks: superseded ones first, then by the age of their files."""
    row = CopyRow
    yield from _read(store, row.select().where(row.is_pruned == 0).order_by(row.is_latest, row.mtime_ns, row.id))


def chunks_of(store: Store, copy: KeptCopy) -> tuple[Chunk, ...]:
    """Return the pieces of a copy, in order."""
    row = ChunkRow
    rows = store.rows(row.select(row.sha256, row.size_bytes).where(row.copy_id == copy.row_id).order_by(row.position))
    return tuple(Chunk(bytes(digest), int(size)) for digest, size in rows)


def storable_ns(status: os.stat_result) -> int:
    """Return when a file was changed last, at most what a column holds: a file may be dated to the year 2300."""
    return max(-_MOST_NS, min(_MOST_NS, status.st_mtime_ns))


def has_objects(store: Store) -> bool:
    """Tell whether any object is known."""
    return bool(store.rows(ObjectRow.select(ObjectRow.sha256).limit(1)))


def find_stored_objects(store: Store, digests: Sequence[bytes]) -> set[bytes]:
    """Return those of the hashes whose objects are stored."""
    known: set[bytes] = set()
    for begin in range(0, len(digests), _ASKED_AT_ONCE):
        asked = digests[begin : begin + _ASKED_AT_ONCE]
        rows = store.rows(ObjectRow.select(ObjectRow.sha256).where(ObjectRow.sha256.in_(asked)))
        known.update(bytes(digest) for (digest,) in rows)
    return known


def put(store: Store, copy: KeptCopy, chunks: Sequence[Chunk], *, keep_old: bool) -> None:
    """Make a copy the latest of its file. Runs inside the caller's write transaction.

    keep_old: what was the latest stays, as superseded; else it goes.
    """
    row = CopyRow
    latest = (row.account == copy.account) & (row.path == os.fsencode(copy.path)) & literal(row.is_latest == 1)
    store.run(row.delete().where(latest, row.is_pruned == 1))
    store.run(row.update(is_latest=0).where(latest) if keep_old else row.delete().where(latest))
    row_id = store.insert(
        row,
        account=copy.account,
        session_id=copy.session_id,
        path=os.fsencode(copy.path),
        part=copy.part,
        device=copy.device,
        inode=copy.inode,
        size_bytes=copy.size_bytes,
        mtime_ns=copy.mtime_ns,
        kept_at=copy.kept_at,
        is_latest=1,
        is_pruned=int(copy.is_pruned),
    )
    store.execute_many(
        _CHUNKS,
        ((row_id, position, chunk.sha256, chunk.size_bytes) for position, chunk in enumerate(chunks)),
    )


def touch(store: Store, copy: KeptCopy, status: os.stat_result) -> None:
    """Note that a file was touched and holds what it held. Runs inside the caller's write transaction."""
    row = CopyRow
    store.run(
        row.update(device=status.st_dev, inode=status.st_ino, mtime_ns=storable_ns(status)).where(row.id == copy.row_id)
    )


def add_objects(store: Store, sizes: Mapping[bytes, int]) -> None:
    """Note stored objects and how long each is. Runs inside the caller's write transaction."""
    store.execute_many(_OBJECTS, sizes.items())


def give_up(store: Store, copy: KeptCopy) -> None:
    """Let go of a copy's chunks; the latest one's record stays. Runs inside the caller's write transaction."""
    if copy.is_latest:
        store.run(ChunkRow.delete().where(ChunkRow.copy_id == copy.row_id))
        store.run(CopyRow.update(is_pruned=1).where(CopyRow.id == copy.row_id))
    else:
        store.run(CopyRow.delete().where(CopyRow.id == copy.row_id))


def drop_orphans(store: Store) -> tuple[bytes, ...]:
    """Forget the objects that no copy needs, and return their hashes. Runs inside the caller's write transaction."""
    used = fn.EXISTS(ChunkRow.select(ChunkRow.copy_id).where(ChunkRow.sha256 == ObjectRow.sha256))
    rows = store.rows(ObjectRow.delete().where(~used).returning(ObjectRow.sha256))
    return tuple(bytes(digest) for (digest,) in rows)


def count_stored_bytes(store: Store) -> int:
    """Return the size of all objects."""
    return int(store.rows(ObjectRow.select(fn.COALESCE(fn.SUM(ObjectRow.stored_bytes), 0)))[0][0])


def count_freed_bytes(store: Store, copy: KeptCopy) -> int:
    """Return the size of the objects that only this copy needs."""
    own, others = ChunkRow.alias(), ChunkRow.alias()
    of_copy = own.select(own.sha256).where(own.copy_id == copy.row_id)
    elsewhere = others.select(others.copy_id).where(others.sha256 == ObjectRow.sha256, others.copy_id != copy.row_id)
    rows = store.rows(
        ObjectRow.select(fn.COALESCE(fn.SUM(ObjectRow.stored_bytes), 0)).where(
            ObjectRow.sha256.in_(of_copy), ~fn.EXISTS(elsewhere)
        )
    )
    return int(rows[0][0])


def last_entry(store: Store) -> int:
    """Return the row id of the turn that was ingested last, 0 before the first."""
    return int(store.rows(EntryRow.select(fn.COALESCE(fn.MAX(EntryRow.id), 0)))[0][0])


def complete(store: Store) -> frozenset[str]:
    """Return the accounts of which everything was kept, and of which no entry was ingested since."""
    row, marked, least_marked = CompleteRow, CompleteRow.alias(), CompleteRow.alias()
    # The least mark of all narrows the turns to look at before each is held against its own account's.
    newer = (
        (EntryRow.id > least_marked.select(fn.MIN(least_marked.entry_row_id)))
        & (EntryRow.provider_name == marked.account)
        & (EntryRow.id > marked.entry_row_id)
    )
    behind = marked.select(marked.account).join(EntryRow, on=newer)
    rows = store.rows(row.select(row.account).where(row.account.not_in(behind)))
    return frozenset(str(account) for (account,) in rows)


def set_complete(store: Store, account: str, entry_row_id: int | None) -> None:
    """Note that all of an account up to a turn is kept; None: it is not. Runs inside the caller's write transaction."""
    store.run(CompleteRow.delete().where(CompleteRow.account == account))
    if entry_row_id is not None:
        store.insert(CompleteRow, account=account, entry_row_id=entry_row_id)


def _latest(*conditions: Expression) -> ModelSelect[CopyRow]:
    return CopyRow.select().where(*conditions, literal(CopyRow.is_latest == 1))


def _read(store: Store, question: Query) -> Iterator[KeptCopy]:
    rows = store.rows(question)
    for row_id, account, session_id, path, part, device, inode, size, mtime, kept_at, is_latest, is_pruned in rows:
        yield KeptCopy(
            int(row_id),
            str(account),
            str(session_id),
            Path(os.fsdecode(path)),
            str(part),
            int(device),
            int(inode),
            int(size),
            int(mtime),
            str(kept_at),
            bool(is_latest),
            bool(is_pruned),
        )
