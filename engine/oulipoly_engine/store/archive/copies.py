"""The archive's index: which copies are kept of which files, and of which chunks each consists."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store

_MOST_NS = (1 << 63) - 1
_COLUMNS = "id, account, session_id, path, part, device, inode, size_bytes, mtime_ns, kept_at, is_latest, is_pruned"
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


def latest_of(store: Store, account: str) -> dict[Path, KeptCopy]:
    """Return the latest copy of each of an account's files."""
    return {copy.path: copy for copy in _select(store, "account = ? AND is_latest = 1", (account,))}


def transcripts(store: Store) -> tuple[KeptCopy, ...]:
    """Return the latest copies of all transcripts, newest first."""
    return tuple(_select(store, "part = '' AND is_latest = 1 ORDER BY mtime_ns DESC, id", ()))


def of_session(store: Store, account: str, session_id: str) -> tuple[KeptCopy, ...]:
    """Return the latest copies of a session's files, the newest transcript first."""
    condition = "session_id = ? AND account = ? AND is_latest = 1 ORDER BY part <> '', mtime_ns DESC, id"
    return tuple(_select(store, condition, (session_id, account)))


def holders(store: Store, session_id: str) -> tuple[str, ...]:
    """Return the accounts that have a copy of a session."""
    rows = store.rows("SELECT DISTINCT account FROM archive_copies WHERE session_id = ? ORDER BY 1", (session_id,))
    return tuple(str(account) for (account,) in rows)


def superseded(store: Store, account: str, path: Path) -> tuple[KeptCopy, ...]:
    """Return what a file held before it was rewritten, newest first."""
    condition = "account = ? AND path = ? AND is_latest = 0 AND is_pruned = 0 ORDER BY id DESC"
    return tuple(_select(store, condition, (account, os.fsencode(path))))


def prunable(store: Store) -> Iterator[KeptCopy]:
    """Yield the copies that hold chunks: superseded ones first, then by the age of their files."""
    yield from _select(store, "is_pruned = 0 ORDER BY is_latest, mtime_ns, id", ())


def chunks_of(store: Store, copy: KeptCopy) -> tuple[Chunk, ...]:
    """Return the pieces of a copy, in order."""
    rows = store.rows(
        "SELECT sha256, size_bytes FROM archive_chunks WHERE copy_id = ? ORDER BY position", (copy.row_id,)
    )
    return tuple(Chunk(bytes(digest), int(size)) for digest, size in rows)


def storable_ns(status: os.stat_result) -> int:
    """Return when a file was changed last, at most what a column holds: a file may be dated to the year 2300."""
    return max(-_MOST_NS, min(_MOST_NS, status.st_mtime_ns))


def has_objects(store: Store) -> bool:
    """Tell whether any object is known."""
    return bool(store.rows("SELECT 1 FROM archive_objects LIMIT 1"))


def known_objects(store: Store, digests: Sequence[bytes]) -> set[bytes]:
    """Return those of the hashes whose objects are stored."""
    known: set[bytes] = set()
    for begin in range(0, len(digests), _ASKED_AT_ONCE):
        asked = digests[begin : begin + _ASKED_AT_ONCE]
        marks = ", ".join("?" * len(asked))
        rows = store.rows(f"SELECT sha256 FROM archive_objects WHERE sha256 IN ({marks})", asked)  # noqa: S608 - marks
        known.update(bytes(digest) for (digest,) in rows)
    return known


def put(store: Store, copy: KeptCopy, chunks: Sequence[Chunk], *, keep_old: bool) -> None:
    """Make a copy the latest of its file. Runs inside the caller's write transaction.

    keep_old: what was the latest stays, as superseded; else it goes.
    """
    key = (copy.account, os.fsencode(copy.path))
    store.execute("DELETE FROM archive_copies WHERE account = ? AND path = ? AND is_latest = 1 AND is_pruned = 1", key)
    if keep_old:
        store.execute("UPDATE archive_copies SET is_latest = 0 WHERE account = ? AND path = ? AND is_latest = 1", key)
    else:
        store.execute("DELETE FROM archive_copies WHERE account = ? AND path = ? AND is_latest = 1", key)
    row_id = store.insert(
        "archive_copies",
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
        "INSERT INTO archive_chunks (copy_id, position, sha256, size_bytes) VALUES (?, ?, ?, ?)",
        ((row_id, position, chunk.sha256, chunk.size_bytes) for position, chunk in enumerate(chunks)),
    )


def touch(store: Store, copy: KeptCopy, status: os.stat_result) -> None:
    """Note that a file was touched and holds what it held. Runs inside the caller's write transaction."""
    store.execute(
        "UPDATE archive_copies SET device = ?, inode = ?, mtime_ns = ? WHERE id = ?",
        (status.st_dev, status.st_ino, storable_ns(status), copy.row_id),
    )


def add_objects(store: Store, sizes: Mapping[bytes, int]) -> None:
    """Note stored objects and how long each is. Runs inside the caller's write transaction."""
    store.execute_many("INSERT OR IGNORE INTO archive_objects (sha256, stored_bytes) VALUES (?, ?)", sizes.items())


def give_up(store: Store, copy: KeptCopy) -> None:
    """Let go of a copy's chunks; the latest one's record stays. Runs inside the caller's write transaction."""
    if copy.is_latest:
        store.execute("DELETE FROM archive_chunks WHERE copy_id = ?", (copy.row_id,))
        store.execute("UPDATE archive_copies SET is_pruned = 1 WHERE id = ?", (copy.row_id,))
    else:
        store.execute("DELETE FROM archive_copies WHERE id = ?", (copy.row_id,))


def drop_orphans(store: Store) -> tuple[bytes, ...]:
    """Forget the objects that no copy needs, and return their hashes. Runs inside the caller's write transaction."""
    rows = store.rows(
        "DELETE FROM archive_objects WHERE NOT EXISTS"
        " (SELECT 1 FROM archive_chunks c WHERE c.sha256 = archive_objects.sha256) RETURNING sha256"
    )
    return tuple(bytes(digest) for (digest,) in rows)


def stored_bytes(store: Store) -> int:
    """Return the size of all objects."""
    return int(store.rows("SELECT COALESCE(SUM(stored_bytes), 0) FROM archive_objects")[0][0])


def freed_by(store: Store, copy: KeptCopy) -> int:
    """Return the size of the objects that only this copy needs."""
    rows = store.rows(
        "SELECT COALESCE(SUM(o.stored_bytes), 0) FROM archive_objects o WHERE o.sha256 IN"
        " (SELECT sha256 FROM archive_chunks WHERE copy_id = ?1) AND NOT EXISTS"
        " (SELECT 1 FROM archive_chunks c WHERE c.sha256 = o.sha256 AND c.copy_id <> ?1)",
        (copy.row_id,),
    )
    return int(rows[0][0])


def last_turn(store: Store) -> int:
    """Return the row id of the turn that was ingested last, 0 before the first."""
    return int(store.rows("SELECT COALESCE(MAX(id), 0) FROM session_turns")[0][0])


def complete(store: Store) -> frozenset[str]:
    """Return the accounts of which everything was kept, and of which no turn was ingested since."""
    rows = store.rows(
        "SELECT account FROM archive_complete WHERE account NOT IN (SELECT c.account FROM archive_complete c"
        " JOIN session_turns t ON t.id > (SELECT MIN(turn_row_id) FROM archive_complete)"
        " AND t.provider_name = c.account AND t.id > c.turn_row_id)"
    )
    return frozenset(str(account) for (account,) in rows)


def set_complete(store: Store, account: str, turn_row_id: int | None) -> None:
    """Note that all of an account up to a turn is kept; None: it is not. Runs inside the caller's write transaction."""
    store.execute("DELETE FROM archive_complete WHERE account = ?", (account,))
    if turn_row_id is not None:
        store.insert("archive_complete", account=account, turn_row_id=turn_row_id)


def _select(store: Store, condition: str, parameters: Iterable[object]) -> Iterator[KeptCopy]:
    rows = store.rows(f"SELECT {_COLUMNS} FROM archive_copies WHERE {condition}", tuple(parameters))  # noqa: S608 - ours
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
