"""The file of the artifact store: opened, checked and asked. Any number of processes share it.

Its tables are the contract's (section 14), so that other programs may read it; the labels are ours. Content of more
than 64 KiB lies beside it, in files named by their hash: a column of SQLite holds a gigabyte at most, all of it in
memory.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.artifacts.addresses import SCRATCHPAD, Address
from oulipoly_engine.core.artifacts.versions import NewVersion, Removal, Version
from oulipoly_engine.errors import ArtifactCollision, ArtifactMissing, ArtifactMisused, ArtifactStoreUnusable
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.store.base.connections import Connections
from oulipoly_engine.store.base.orm import Expression, PeeweeException, Query, fn
from oulipoly_engine.store.base.read_only import find_way_to_read
from oulipoly_engine.store.base.schema import BUSY_TIMEOUT_S, DATABASE_ERRORS
from oulipoly_engine.store.models.artifacts import ArtifactLabelRow, ArtifactMetaRow, ArtifactVersionRow

SCHEMA_VERSION = 1
_LIMIT = "limit_bytes"
_HASH = re.compile(r"[0-9a-f]{64}")
_TABLES = """
CREATE TABLE IF NOT EXISTS schema_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS artifact_versions (
    workflow_run_id TEXT NOT NULL,
    artifact_name TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    producer_invocation_uuid TEXT,
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    content_len INTEGER NOT NULL CHECK (content_len >= 0),
    format_hint TEXT,
    verdict_line TEXT,
    predecessor_version INTEGER,
    created_at TEXT NOT NULL,
    tombstoned_at TEXT,
    tombstone_actor TEXT,
    tombstone_reason TEXT,
    content BLOB,
    UNIQUE (workflow_run_id, artifact_name, version)
);
CREATE INDEX IF NOT EXISTS idx_artifact_versions_hash ON artifact_versions (sha256);
CREATE INDEX IF NOT EXISTS idx_artifact_versions_producer ON artifact_versions (producer_invocation_uuid);
CREATE TABLE IF NOT EXISTS artifact_labels (
    workflow_run_id TEXT NOT NULL,
    artifact_name TEXT NOT NULL,
    version INTEGER NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (workflow_run_id, artifact_name, version, label)
) WITHOUT ROWID;
"""
_ROW, _LABELS = ArtifactVersionRow, ArtifactLabelRow
_COLUMNS = (
    _ROW.workflow_run_id,
    _ROW.artifact_name,
    _ROW.version,
    _ROW.producer_invocation_uuid,
    _ROW.sha256,
    _ROW.content_len,
    _ROW.format_hint,
    _ROW.verdict_line,
    _ROW.predecessor_version,
    _ROW.created_at,
    _ROW.tombstoned_at,
    _ROW.tombstone_actor,
    _ROW.tombstone_reason,
)


class ArtifactFile:
    """An open artifact store; what it stores lies in `contents` beside it where it is not in a row."""

    def __init__(self, path: Path, connections: Connections) -> None:
        self.path = path
        self._connections = connections
        self._identity = _identity_of(path)

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run the block as one transaction, alone among all processes; any exception rolls all of it back.

        What it has written is on the disk behind it: a receipt may go out that names it. Raises ArtifactStoreUnusable,
        also where the file was deleted or replaced since it was opened: what is written then is nobody's.
        """
        with self._translate_errors():
            self._connections.mine().execute("PRAGMA synchronous = FULL")
        with self._join("IMMEDIATE"):
            if self._identity != _identity_of(self.path):
                message = f"the artifact store {self.path} was taken away while it was in use: try again"
                raise ArtifactStoreUnusable(message)
            yield

    @contextmanager
    def read(self) -> Iterator[None]:
        """Run the block on one view of the file."""
        with self._join("DEFERRED"):
            yield

    def close(self) -> None:
        """Close this thread's connection."""
        self._connections.close_mine()

    def add(self, new: NewVersion, sha256: str, size: int, content: bytes | None, at: datetime) -> Version:
        """Store a version behind the latest one, removed ones counted. Only inside `write`.

        content: None: it lies in the file of its hash. Raises ArtifactMissing for a predecessor that there is not,
        ArtifactCollision for one that is not the latest any more.
        """
        run, name = new.address.run, new.address.name
        latest = self._rows(_ROW.select(fn.MAX(_ROW.version)).where(*_of(new.address)))[0][0] or 0
        if new.predecessor is not None and new.predecessor != latest:
            what = (
                f"{run}/{name} has version {latest} by now" if new.predecessor < latest else "there is no such version"
            )
            kind = ArtifactCollision if 0 < new.predecessor < latest else ArtifactMissing
            message = f"version {new.predecessor} of {run}/{name} is not the latest one: {what}; read it, and try again"
            raise kind(message)
        address = new.address.at(latest + 1)
        self._run(
            _ROW.insert(
                workflow_run_id=run,
                artifact_name=name,
                version=latest + 1,
                producer_invocation_uuid=new.producer,
                sha256=sha256,
                content_len=size,
                format_hint=new.format_hint,
                verdict_line=new.verdict_line,
                predecessor_version=new.predecessor,
                created_at=to_text(at),
                content=content,
            )
        )
        for label in new.labels:
            self.label(address, label)
        return self.find(address)

    def find(self, address: Address, *, with_removed: bool = False) -> Version:
        """Return the version that an address names; without one the latest that is not removed.

        with_removed: of addresses with a version. Raises ArtifactMissing.
        """
        where = [*_of(address)]
        if address.version is not None:
            where.append(_ROW.version == address.version)
        else:
            where.append(_ROW.tombstoned_at.is_null())
        if address.label is not None:
            where.append(_ROW.version.in_(_labelled(address)))
        found = self._versions(where, _ROW.version.desc(), 1)
        wish = address.text + (f" with the label {address.label}" if address.label else "")
        if not found:
            there = self._rows(_ROW.select(fn.COUNT(_ROW.version)).where(*_of(address)))[0][0]
            rest = f"; {there} versions are there, some of them removed" if there else ""
            raise ArtifactMissing(f"there is no {wish}{rest}: list shows what there is")
        if found[0].removal is not None and not with_removed:
            gone = found[0].removal
            raise ArtifactMissing(f"{wish} was removed by {gone.actor} at {to_text(gone.at)}: {gone.reason}")
        return found[0]

    def versions(
        self,
        run: str | None = None,
        name: str | None = None,
        *,
        producer: str | None = None,
        label: str | None = None,
        with_removed: bool = False,
    ) -> tuple[Version, ...]:
        """Return versions by run, name and number. run, name, producer: of these alone."""
        where: list[Expression] = []
        for column, value in ((_ROW.workflow_run_id, run), (_ROW.artifact_name, name)):
            where += [] if value is None else [column == value]
        where += [] if producer is None else [_ROW.producer_invocation_uuid == producer]
        where += [] if with_removed else [_ROW.tombstoned_at.is_null()]
        found = self._versions(where, None)
        return tuple(one for one in found if label is None or label in one.labels)

    def remove(self, address: Address, removal: Removal) -> bool:
        """Mark a version as removed; False: it was already, and what was said then stays. Only inside `write`."""
        self.find(address, with_removed=True)
        changed = self._run(
            _ROW.update(
                tombstoned_at=to_text(removal.at), tombstone_actor=removal.actor, tombstone_reason=removal.reason
            ).where(*_of(address), _ROW.version == address.version, _ROW.tombstoned_at.is_null())
        )
        return bool(changed)

    def label(self, address: Address, label: str) -> None:
        """Give a version a label; it may be there already. Only inside `write`."""
        self.find(address)
        keys = _keys(address)
        self._run(_LABELS.insert(**keys, version=address.version, label=label).on_conflict_ignore())

    def unlabel(self, address: Address, label: str) -> bool:
        """Take a label from a version; False: it did not have it. Only inside `write`."""
        row = _LABELS
        own = [getattr(row, key) == value for key, value in _keys(address).items()]
        return bool(self._run(row.delete().where(*own, row.version == address.version, row.label == label)))

    def content_of(self, address: Address) -> bytes | None:
        """Return the content of a version that lies in the row; None: it lies in the file of its hash."""
        found = self._rows(_ROW.select(_ROW.content).where(*_of(address), _ROW.version == address.version))
        content = found[0][0] if found else None
        if content is not None and not isinstance(content, bytes):
            raise self._damaged(f"the content of {address.text[:200]} is not made of bytes")
        return content

    def expired(self, before: datetime) -> tuple[Version, ...]:
        """Return what invocations kept for themselves until an instant."""
        run = _ROW.workflow_run_id  # compared, since LIKE takes `Scratchpad:` for the same
        begins = (run >= SCRATCHPAD, run < SCRATCHPAD[:-1] + chr(ord(SCRATCHPAD[-1]) + 1))
        return self._versions([*begins, _ROW.tombstoned_at.is_null(), _ROW.created_at <= to_text(before)], None)

    def is_kept(self, sha256: str) -> bool:
        """Return whether a version that is not removed has its content in the file of this hash."""
        return bool(self._rows(_ROW.select(_ROW.version).where(_ROW.sha256 == sha256, *_IN_FILE).limit(1)))

    def drop_removed(self) -> int:
        """Take the content of removed versions out of their rows; return how many bytes. Only inside `write`."""
        gone = (_ROW.tombstoned_at.is_null(False), _ROW.content.is_null(False))
        size = self._rows(_ROW.select(fn.SUM(_ROW.content_len)).where(*gone))[0][0] or 0
        if size:
            self._run(_ROW.update(content=None).where(*gone))
        return int(size)

    def size_with(self, sha256: str, size: int) -> int:
        """Return how many bytes are stored once a content is there too; the same one counts once."""
        row = _ROW
        each = row.select(row.sha256, fn.MAX(row.content_len).alias("size")).where(row.tombstoned_at.is_null())
        known = each.group_by(row.sha256).alias("known")
        total = self._rows(row.select(fn.SUM(known.c.size)).from_(known))[0][0] or 0
        return int(total) + (0 if self._is_stored(sha256) else size)

    def limit(self) -> int | None:
        """Return how many bytes may be stored; None: as many as the disk takes."""
        found = self._rows(ArtifactMetaRow.select(ArtifactMetaRow.value).where(ArtifactMetaRow.key == _LIMIT))
        try:
            return int(found[0][0]) if found else None
        except ValueError as error:
            raise self._damaged(f"its limit is {str(found[0][0])[:40]!r}") from error

    def set_limit(self, limit: int | None) -> None:
        """Set it. Only inside `write`."""
        row = ArtifactMetaRow
        if limit is None:
            self._run(row.delete().where(row.key == _LIMIT))
        else:
            given = row.insert(key=_LIMIT, value=str(limit))
            self._run(given.on_conflict(conflict_target=[row.key], update={row.value: str(limit)}))

    def _is_stored(self, sha256: str) -> bool:
        row = _ROW
        return bool(
            self._rows(row.select(row.version).where(row.sha256 == sha256, row.tombstoned_at.is_null()).limit(1))
        )

    def _versions(
        self, where: Sequence[Expression], order: object | None, most: int | None = None
    ) -> tuple[Version, ...]:
        query = _ROW.select(*_COLUMNS)
        if where:
            query = query.where(*where)
        by_key = (_ROW.workflow_run_id, _ROW.artifact_name, _ROW.version)
        rows = self._rows(query.order_by(*(by_key if order is None else (order,))).limit(most))
        labels: dict[tuple[str, str, int], list[str]] = {}
        runs = {row[0] for row in rows}
        of = _LABELS
        asked = of.select(of.workflow_run_id, of.artifact_name, of.version, of.label).order_by(of.label)
        for run in [next(iter(runs))] if len(runs) == 1 else [None] * bool(runs):
            for *key, label in self._rows(asked if run is None else asked.where(of.workflow_run_id == run)):
                labels.setdefault((key[0], key[1], key[2]), []).append(label)
        return tuple(self._version(row, labels.get((row[0], row[1], row[2]), ())) for row in rows)

    def _version(self, row: Sequence[Any], labels: Iterable[str]) -> Version:
        run, name, version, producer, sha256, size, hint, verdict, predecessor, created, gone_at, actor, reason = row
        try:
            gone = None if gone_at is None else Removal(from_text(gone_at), str(actor or "?"), str(reason or ""))
            at = from_text(created)
        except (ValueError, TypeError) as error:
            raise self._damaged(f"{row[:3]!r:.200} has the time {created!r:.40}") from error
        texts = (producer, hint, verdict, *labels)
        if not (
            all(isinstance(text, str) for text in (run, name, sha256))
            and all(isinstance(number, int) for number in (version, size, predecessor or 0))
            and all(text is None or isinstance(text, str) for text in texts)
            and _HASH.fullmatch(sha256)  # it is a part of a path
            and size >= 0
        ):
            raise self._damaged(f"{row[:3]!r:.200} was not written by an artifact store")
        address = Address(run, name, version)
        return Version(address, sha256, size, at, producer, hint, verdict, predecessor, gone, tuple(labels))

    def _damaged(self, what: str) -> ArtifactStoreUnusable:
        return ArtifactStoreUnusable(f"the artifact store {self.path} is damaged: {what}: restore it from a backup")

    def _rows(self, query: Query) -> list[Any]:
        with self._translate_errors():
            sql, given = self._connections.get_sql_context().parse(query)
            return self._connections.mine().execute(sql, given).fetchall()

    def _run(self, query: Query) -> int:
        with self._translate_errors():
            sql, given = self._connections.get_sql_context().parse(query)
            return int(self._connections.mine().execute(sql, given).rowcount)

    @contextmanager
    def _join(self, mode: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[None]:
        with self._translate_errors(), self._connections.join(mode):
            yield

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        with _translate_errors(self.path):
            yield


def initialise(path: Path) -> tuple[ArtifactFile, bool]:
    """Open an artifact store and make it where there is none; return it and whether it was made.

    Raises ArtifactStoreUnusable.
    """
    try:
        make_folder(path.parent)
        open_private_file(path)
    except OSError as error:
        message = f"cannot make the artifact store {path}: {error.strerror or error}: choose a writable place"
        raise ArtifactStoreUnusable(message) from error
    with _translate_errors(path):
        connections = Connections(path)
        connection = connections.mine()
        if _version_of(connection, path) is not None:
            return _with_labels(path, connections), False
        connection.execute("PRAGMA journal_mode = WAL")
        with connections.join("IMMEDIATE"):
            is_new = _version_of(connection, path) is None
            if is_new:
                for statement in _TABLES.split(";")[:-1]:
                    connection.execute(statement)
                row = ArtifactMetaRow.insert(key="schema_version", value=str(SCHEMA_VERSION))
                connection.execute(*connections.get_sql_context().parse(row))
    return ArtifactFile(path, connections), is_new


def open_file(path: Path) -> ArtifactFile:
    """Open an artifact store that was made before; one that cannot be written is read as it is.

    Raises ArtifactStoreUnusable.
    """
    if _identity_of(path) is not None:
        with _translate_errors(path):
            connections = Connections(path)
            try:
                if _version_of(connections.mine(), path) is not None:
                    return _with_labels(path, connections)
            except (*DATABASE_ERRORS, PeeweeException):
                readable = find_way_to_read(path)
                if readable is None:
                    raise
                if _version_of(readable.mine(), path) is not None:
                    return ArtifactFile(path, readable)
    raise ArtifactStoreUnusable(f"there is no artifact store at {path}: init makes one")


def _identity_of(path: Path) -> tuple[int, int] | None:
    """Return which file has a path; None: no regular one that we may look at."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def open_private_file(path: Path) -> None:
    """Make a missing file, readable by its owner only. Raises OSError."""
    if not path.exists():  # not to be opened by us: closing it again would take this process's locks on it away
        os.close(open_private(path, os.O_WRONLY))


def _version_of(connection: sqlite3.Connection, path: Path) -> int | None:
    """Return a file's version, None for an empty one. Raises ArtifactStoreUnusable for one that is not ours."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return None
    found = None
    if {"schema_meta", "artifact_versions"} <= tables:
        found = connection.execute("SELECT value FROM schema_meta WHERE key = 'schema_version'").fetchone()
    if found is None or str(found[0]) != str(SCHEMA_VERSION):
        version = "" if found is None else f" of version {found[0]}"
        raise ArtifactStoreUnusable(
            f"{path} is not an artifact store of this program, but another database{version}; it was left untouched"
        )
    return SCHEMA_VERSION


def _with_labels(path: Path, connections: Connections) -> ArtifactFile:
    """Return the file with the table of labels, which another program's file lacks."""
    connection = connections.mine()
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_LABELS._meta.table_name,)).fetchone():
        with connections.join("IMMEDIATE"):
            connection.execute(_TABLES.split(";")[-2])
    return ArtifactFile(path, connections)


def _keys(address: Address) -> dict[str, str]:
    return {"workflow_run_id": address.run, "artifact_name": address.name}


def _of(address: Address) -> tuple[Expression, ...]:
    return tuple(getattr(_ROW, key) == value for key, value in _keys(address).items())


def _labelled(address: Address) -> Query:
    own = [getattr(_LABELS, key) == value for key, value in _keys(address).items()]
    return _LABELS.select(_LABELS.version).where(*own, _LABELS.label == address.label)


_IN_FILE = (_ROW.content.is_null(), _ROW.tombstoned_at.is_null())


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (*DATABASE_ERRORS, PeeweeException) as error:
        original = getattr(error, "orig", error)
        if isinstance(error, (UnicodeEncodeError, OverflowError)):
            raise ArtifactMisused(f"the artifact store cannot hold what was given ({error}): correct it") from error
        code = getattr(original, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        raise ArtifactStoreUnusable(f"the artifact store {path} {_meaning(code, str(original))}") from error


def _meaning(code: int, text: str) -> str:
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"stayed locked by another process for {BUSY_TIMEOUT_S:.0f} s: try again"
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return f"cannot be written, its disk is full or failing ({text}): free some space"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return f"cannot be written ({text}): check the rights of the file and its folder"
    return f"cannot be used ({text}): restore it from a backup, or choose another file"
