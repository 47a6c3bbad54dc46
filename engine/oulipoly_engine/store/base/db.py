"""The state file: opened, checked, migrated, and shared with any number of other processes.

Every write is one IMMEDIATE transaction: deferred ones read first and then find that another process has written,
which loses updates or fails with SQLITE_BUSY_SNAPSHOT that no busy timeout can wait out.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from threading import Thread
from typing import Any, Literal

from oulipoly_engine.errors import SchemaIncompatible, StoreLocked, StoreNotWritable, StoreUnusable
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.compiled import BoundQuery, Compiled, insertion
from oulipoly_engine.store.base.connections import Connections
from oulipoly_engine.store.base.orm import Model, PeeweeException, Query
from oulipoly_engine.store.base.schema import BUSY_TIMEOUT_S, DATABASE_ERRORS
from oulipoly_engine.store.base.state_path import reason_of, refuse_other_kinds

LOOK_BACK = 1000  # rows of runs in which lost ones are sought: each start looks, so they never get far
_OWN_ERRORS = (sqlite3.Error, PeeweeException)
_ASKING_ERRORS = (*DATABASE_ERRORS, PeeweeException)

Question = Query | BoundQuery | str  # with models, compiled, or SQL with parameters
_RUNNING = "SELECT 1 FROM invocations WHERE status = 'running' AND id > (SELECT MAX(id) FROM invocations) - ? LIMIT 1"
_DEFERRED_PAGES = 4000  # of 4 KiB in the log; SQLite's own is 1000


@cache
def _insertion_of(model: type[Model], names: tuple[str, ...]) -> Compiled:
    return insertion(*(model._meta.fields[name] for name in names))


class Store:
    """An open state file. Threads get a connection of their own; close() ends the calling thread's.

    Queries are written with the models, most of them where they are asked; those that are asked often are `compiled`,
    and what cannot be said with models is SQL.
    """

    def __init__(self, path: Path, connections: Connections, refusal: StoreNotWritable | None = None) -> None:
        self.path = path
        self.refusal = refusal  # why the file can only be read; None: it can be written
        self._is_synced = True
        self._connections = connections

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run the block as one IMMEDIATE transaction; any exception rolls all of it back."""
        if self.refusal is not None:
            raise self.refusal
        self._is_synced = False
        with self._join("IMMEDIATE"):
            yield

    @contextmanager
    def read(self) -> Iterator[None]:
        """Run the block on one consistent view of the file."""
        with self._join("DEFERRED"):
            yield

    def rows(self, question: Question, parameters: Sequence[object] = ()) -> list[Any]:
        """Return a query's rows as tuples of what the database gives. For the modules of this package only."""
        with self._translate_errors():
            sql, given = self._render_sql(question, parameters)
            found = self._connections.mine().execute(sql, given).fetchall()
        if self._connections.has_changed():
            raise _make_change(self.path)
        return found

    def run(self, statement: Query | BoundQuery) -> int:
        """Run one writing query and return how many rows it changed. Only inside `write`, in this package."""
        with self._translate_errors():
            sql, given = self._render_sql(statement, ())
            return int(self._connections.mine().execute(sql, given).rowcount)

    def insert(self, model: type[Model] | str, **values: object) -> int:
        """Insert one row of named columns and return its row id. Only inside `write`, in this package.

        model: or the name of a table, as tests have it.
        """
        if isinstance(model, str):
            marks = ", ".join("?" * len(values))
            sql = f"INSERT INTO {model} ({', '.join(values)}) VALUES ({marks})"  # noqa: S608 - names from our own code
            return self.execute(sql, tuple(values.values()))
        with self._translate_errors():
            converted = [model._meta.fields[name].db_value(value) for name, value in values.items()]
            sql, given = self._render_sql(_insertion_of(model, tuple(values))(*converted), ())
            return int(self._connections.mine().execute(sql, given).lastrowid or 0)

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Run one writing statement and return the row id of an insert. Only inside `write`, in this package."""
        with self._translate_errors():
            return int(self._connections.mine().execute(sql, parameters).lastrowid or 0)

    def execute_many(self, statement: Compiled | str, rows: Iterable[Sequence[object]]) -> int:
        """Run one writing statement for many rows and return how many changed. Only inside `write`, in this package.

        The bulk path: some 330,000 rows a second, where peewee's own makes 30,000.
        """
        with self._translate_errors():
            sql, given = (statement, rows) if isinstance(statement, str) else statement.many(self._connections, rows)
            return int(self._connections.mine().executemany(sql, given).rowcount)

    @contextmanager
    def _join(self, mode: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[None]:
        """Run the block as one transaction. What it raises itself stays as it is, but for the database's own errors.

        An inner one is part of the outer, which translates: an order to a live session takes thirty of them.
        """
        if self._connections.in_transaction():
            yield
            return
        with self._translate_errors():
            self._connections.mine()
        with _translate_errors(self.path, self._connections, _OWN_ERRORS), self._connections.join(mode):
            yield

    def _translate_errors(self) -> AbstractContextManager[None]:
        return _translate_errors(self.path, self._connections)

    def _render_sql(self, question: Question, parameters: Sequence[object]) -> tuple[str, Sequence[object]]:
        if isinstance(question, str):
            return question, parameters
        if isinstance(question, BoundQuery):
            return question.render(self._connections)
        sql, given = self._connections.get_sql_context().parse(question)
        return sql, given

    def has_readers(self) -> bool:
        """Return whether anybody is told what happens (`store.outbox`): who tells asks first, in 6 us."""
        return bool(self.rows("SELECT 1 FROM event_readers LIMIT 1"))

    def has_running(self) -> bool:
        """Return whether a recent run counts as running: who looks for lost ones asks first, without 6 ms of code."""
        return bool(self.rows(_RUNNING, (LOOK_BACK,)))

    def data_version(self) -> int:
        """Return a number that changes whenever another connection has written."""
        return int(self.rows("PRAGMA data_version")[0][0])

    def defer_checkpoints(self) -> None:
        """Let this thread's writes leave it to `checkpoint` to bring them into the file, if that comes in good time.

        Else the write that comes when it is due takes two fsyncs longer, 4 ms on an SSD.
        """
        self.rows(f"PRAGMA wal_autocheckpoint = {_DEFERRED_PAGES}")

    def checkpoint(self) -> None:
        """Bring what was written into the file, as far as nobody reads what was there before."""
        self.rows("PRAGMA wal_checkpoint(passive)")

    def sync(self) -> None:
        """Have what was written until now outlast a power cut; without it, the last seconds may be taken back.

        It takes 1 to 3 ms on an SSD. Where the disk refuses, the next write tells.
        """
        if not self._is_synced:
            self._is_synced = True
            self._sync_log()

    def start_sync(self) -> None:
        """Do the same in a thread, where nobody waits for it; `sync` waits for what is written after that alone."""
        if not self._is_synced:
            self._is_synced = True  # here: what the caller writes meanwhile may not be in it
            Thread(target=self._sync_log, name="sync").start()

    def _sync_log(self) -> None:
        sync = getattr(os, "fdatasync", os.fsync)
        with suppress(OSError), Path(f"{self.path}-wal").open("rb") as log:
            sync(log.fileno())

    def keep_idle(self) -> None:
        """Keep a few connections that threads close, for the threads that ask next, until `close_idle`."""
        self._connections.keep_idle()

    def close_idle(self) -> None:
        """Close those that were kept, and keep none any more."""
        self._connections.close_idle()

    def close(self) -> None:
        """Close this thread's connection."""
        with self._translate_errors():
            self._connections.close_mine()


def open_store(path: Path) -> Store:
    """Open the state file, creating or migrating it as needed.

    Raises SchemaIncompatible (exit 14) for a foreign or newer file, StoreUnusable (exit 1) for one that cannot be
    opened, read or written: StoreNotWritable where it can perhaps be read, StoreDamaged, StoreLocked. Nothing is
    created beside an existing file that is refused.
    """
    refuse_other_kinds(path)
    try:
        make_folder(path.parent)
    except OSError as error:
        raise StoreUnusable(
            f"cannot create the state folder {path.parent}: {reason_of(error)}; set OULIPOLY_DATA_DIR to a writable one"
        ) from error
    connections = Connections(path)
    with _translate_errors(path, connections, is_current=lambda: True):
        _check_writable(path)
        _prepare(connections, path)
    return Store(path, connections)


def open_empty_store(path: Path) -> Store:
    """Return a store in memory in which nothing lies, in place of a file that is missing and must not be made."""
    return Store(path, _EmptyConnections(Path(":memory:")))


class _EmptyConnections(Connections):
    """Connections of which each is an empty database of its own."""

    def _connect(self) -> sqlite3.Connection:
        connection = super()._connect()
        from oulipoly_engine.store.base.migrate import migrate  # noqa: PLC0415 - as below

        migrate(connection, 0)
        return connection


def open_store_to_read(path: Path, refusal: StoreNotWritable) -> Store:
    """Open a state file that cannot be written, without making or changing any file. refusal: why it cannot.

    Raises that refusal where it cannot be read either, or is older, so that it would have to be migrated first; else
    as `open_store`.
    """
    from oulipoly_engine.store.base.read_only import find_way_to_read  # noqa: PLC0415 - hardly any file needs it

    refuse_other_kinds(path)
    connections = find_way_to_read(path)
    if connections is None:
        raise refusal
    with _translate_errors(path, connections, is_current=lambda: True):
        version = _version_of(connections.mine(), path)
    if version < schema.CURRENT_VERSION:
        connections.close_mine()
        raise refusal
    return Store(path, connections, refusal)


@contextmanager
def _translate_errors(
    path: Path,
    connections: Connections,
    kinds: tuple[type[Exception], ...] = _ASKING_ERRORS,
    is_current: Callable[[], bool] | None = None,
) -> Iterator[None]:
    """Turn the database's own exceptions into errors that name the file and the way out.

    is_current: tells whether nothing of our present schema can be missing; None: where the file says so.
    """
    try:
        yield
    except kinds as error:
        if connections.has_changed():
            raise _make_change(path) from error
        from oulipoly_engine.store.base.database_errors import translate  # noqa: PLC0415 - hardly any file needs it

        meaning = translate(path, error, is_current or partial(_says_current, connections))
        if isinstance(meaning, StoreLocked):
            connections.note_refusal()
        raise meaning from error


def _says_current(connections: Connections) -> bool:
    with suppress(*_ASKING_ERRORS):
        return int(_scalar(connections.mine(), "PRAGMA user_version")) == schema.CURRENT_VERSION
    return False


def _make_change(path: Path) -> StoreUnusable:
    return StoreUnusable(f"another process has written the state file {path} while it was read: try again")


def _check_writable(path: Path) -> None:
    """Create a missing file readable by its owner only: transcripts' texts will lie in it.

    Raises StoreNotWritable for one without rights, which SQLite would open for reading without a word.
    """
    if path.exists():  # not to be opened by us: closing it again would take this process's locks on it away
        if not os.access(path, os.W_OK):
            from oulipoly_engine.store.base.database_errors import make_refusal  # noqa: PLC0415 - as above

            raise make_refusal(path, "no right to write it")
        return
    try:
        os.close(open_private(path, os.O_WRONLY))
    except OSError as error:
        message = f"cannot create the state file {path}: {reason_of(error)}; set OULIPOLY_DATA_DIR to a writable folder"
        raise StoreUnusable(message) from error


def _prepare(connections: Connections, path: Path) -> None:
    connection = connections.mine()
    try:
        version = _version_of(connection, path)
    except SchemaIncompatible:  # it looks three times, and another process may be making the file meanwhile
        with connections.join("DEFERRED"):
            version = _version_of(connection, path)
    if version < schema.CURRENT_VERSION:
        from oulipoly_engine.store.base.migrate import migrate  # noqa: PLC0415 - once a release

        with connections.join("IMMEDIATE"):
            # Read again under the lock: another process may have migrated while we waited.
            migrate(connection, _version_of(connection, path))
    _enter_wal(connection)


def _version_of(connection: sqlite3.Connection, path: Path) -> int:
    version = int(_scalar(connection, "PRAGMA user_version"))
    application = int(_scalar(connection, "PRAGMA application_id"))
    if application != schema.APPLICATION_ID and (version or _scalar(connection, "SELECT COUNT(*) FROM sqlite_master")):
        raise SchemaIncompatible(
            f"the state file {path} belongs to another program or to the former agent-runner (application id "
            f"{application}, version {version}); it was left untouched: {schema.WAY_OUT}"
        )
    if version > schema.CURRENT_VERSION:
        raise SchemaIncompatible(
            f"the state file {path} has schema version {version}, newer than this program's {schema.CURRENT_VERSION}: "
            f"update agent-runner, or {schema.WAY_OUT}"
        )
    return version


def _enter_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; the switch needs the file alone and ignores the busy timeout, so try again."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while str(_scalar(connection, "PRAGMA journal_mode")).lower() != "wal":
        try:
            connection.execute("PRAGMA journal_mode = wal")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _scalar(connection: sqlite3.Connection, sql: str) -> Any:  # noqa: ANN401 - SQLite decides the type
    return connection.execute(sql).fetchone()[0]
