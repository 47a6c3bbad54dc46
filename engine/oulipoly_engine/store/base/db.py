"""The state file: opened, checked, migrated, and shared with any number of other processes.

Every write is one IMMEDIATE transaction: deferred ones read first and then find that another process has written,
which loses updates or fails with SQLITE_BUSY_SNAPSHOT that no busy timeout can wait out.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oulipoly_engine.errors import RunnerError, SchemaIncompatible, StoreLocked, StoreUnusable
from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.compiled import BoundQuery, Compiled
from oulipoly_engine.store.base.connections import BUSY_TIMEOUT_S, Connections
from oulipoly_engine.store.base.orm import Model, PeeweeException, Query

Question = Query | BoundQuery | str  # with models, compiled, or SQL with parameters


class Store:
    """An open state file. Threads get a connection of their own; close() ends the calling thread's.

    Queries are written with the models, most of them where they are asked; those that are asked often are `compiled`,
    and what cannot be said with models is SQL.
    """

    def __init__(self, path: Path, connections: Connections) -> None:
        self.path = path
        self._connections = connections

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run the block as one IMMEDIATE transaction; any exception rolls all of it back."""
        with translate_database_errors(self.path), self._connections.join("IMMEDIATE"):
            yield

    @contextmanager
    def read(self) -> Iterator[None]:
        """Run the block on one consistent view of the file."""
        with translate_database_errors(self.path), self._connections.join("DEFERRED"):
            yield

    def rows(self, question: Question, parameters: Sequence[object] = ()) -> list[Any]:
        """Return a query's rows as tuples of what the database gives. For the modules of this package only."""
        with translate_database_errors(self.path):
            sql, given = self._render_sql(question, parameters)
            return self._connections.mine().execute(sql, given).fetchall()

    def run(self, statement: Query | BoundQuery) -> int:
        """Run one writing query and return how many rows it changed. Only inside `write`, in this package."""
        with translate_database_errors(self.path):
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
        with translate_database_errors(self.path):
            return int(model.insert(values).execute(self._connections) or 0)

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Run one writing statement and return the row id of an insert. Only inside `write`, in this package."""
        with translate_database_errors(self.path):
            return int(self._connections.mine().execute(sql, parameters).lastrowid or 0)

    def execute_many(self, statement: Compiled | str, rows: Iterable[Sequence[object]]) -> int:
        """Run one writing statement for many rows and return how many changed. Only inside `write`, in this package.

        The bulk path: some 330,000 rows a second, where peewee's own makes 30,000.
        """
        with translate_database_errors(self.path):
            sql, given = (statement, rows) if isinstance(statement, str) else statement.many(self._connections, rows)
            return int(self._connections.mine().executemany(sql, given).rowcount)

    def _render_sql(self, question: Question, parameters: Sequence[object]) -> tuple[str, Sequence[object]]:
        if isinstance(question, str):
            return question, parameters
        if isinstance(question, BoundQuery):
            return question.render(self._connections)
        sql, given = self._connections.get_sql_context().parse(question)
        return sql, given

    def data_version(self) -> int:
        """Return a number that changes whenever another connection has written."""
        return int(self.rows("PRAGMA data_version")[0][0])

    def close(self) -> None:
        """Close this thread's connection."""
        with translate_database_errors(self.path):
            self._connections.close_mine()


def open_store(path: Path) -> Store:
    """Open the state file, creating or migrating it as needed.

    Raises SchemaIncompatible (exit 14) for a foreign or newer file, StoreUnusable (exit 1) for one that cannot be
    opened, read or written. Nothing is created beside an existing file that is refused.
    """
    _refuse_other_kinds(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        message = (
            f"cannot create the state folder {path.parent}: {_reason(error)}; set OULIPOLY_DATA_DIR to a writable one"
        )
        raise StoreUnusable(message) from error
    connections = Connections(path)
    with translate_database_errors(path):
        _keep_private(path)
        _prepare(connections, path)
    return Store(path, connections)


@contextmanager
def translate_database_errors(path: Path) -> Iterator[None]:
    """Turn the database's own exceptions into StoreUnusable that names the file and the way out."""
    try:
        yield
    except RunnerError:
        raise
    except (sqlite3.Error, PeeweeException) as error:
        raise _translate(path, error) from error


def _translate(path: Path, error: Exception) -> StoreUnusable:
    text = str(error)
    if "not a database" in text or "malformed" in text:
        return StoreUnusable(f"the state file {path} is no readable database ({text}); {schema.WAY_OUT}")
    if "readonly" in text or "unable to open" in text:
        return StoreUnusable(
            f"the state file {path} cannot be opened for writing ({text}): check the rights of the file and its "
            "folder, or set OULIPOLY_DATA_DIR to a writable folder"
        )
    if "full" in text or "I/O" in text:
        return StoreUnusable(f"the disk that holds the state file {path} is full or failing ({text}): free some space")
    if "locked" in text or "busy" in text:
        return StoreLocked(
            f"the state file {path} stayed locked by another process for {BUSY_TIMEOUT_S:.0f} s: try again, or end "
            "the process that holds it"
        )
    if "no such table" in text:  # deleted or replaced under us: SQLite has made an empty one in its place
        return StoreUnusable(
            f"the state file {path} was taken away while it was in use ({text}): put it back, or start again, which "
            "makes a fresh one"
        )
    return StoreUnusable(f"the state file {path} cannot be used: {text}; if that stays so, {schema.WAY_OUT}")


def _refuse_other_kinds(path: Path) -> None:
    if path.is_dir():
        message = f"the state file {path} is a directory: move it away, or set OULIPOLY_DATA_DIR to another folder"
        raise StoreUnusable(message)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _keep_private(path: Path) -> None:
    """Create a missing file readable by its owner only: transcripts' texts will lie in it."""
    if path.exists():
        return
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        message = f"cannot create the state file {path}: {_reason(error)}; set OULIPOLY_DATA_DIR to a writable folder"
        raise StoreUnusable(message) from error


def _prepare(connections: Connections, path: Path) -> None:
    connection = connections.mine()
    try:
        version = _version_of(connection, path)
    except SchemaIncompatible:  # it looks three times, and another process may be making the file meanwhile
        with connections.join("DEFERRED"):
            version = _version_of(connection, path)
    if version < schema.CURRENT_VERSION:
        with connections.join("IMMEDIATE"):
            # Read again under the lock: another process may have migrated while we waited.
            _migrate(connection, _version_of(connection, path))
    _enter_wal(connection)


def _version_of(connection: sqlite3.Connection, path: Path) -> int:
    version = int(_scalar(connection, "PRAGMA user_version"))
    application = int(_scalar(connection, "PRAGMA application_id"))
    if application != schema.APPLICATION_ID and (version or _scalar(connection, "SELECT COUNT(*) FROM sqlite_master")):
        message = (
            f"the state file {path} belongs to another program or to the former agent-runner (application id "
            f"{application}, version {version}); it was left untouched: {schema.WAY_OUT}"
        )
        raise SchemaIncompatible(message)
    if version > schema.CURRENT_VERSION:
        message = (
            f"the state file {path} has schema version {version}, newer than this program's {schema.CURRENT_VERSION}: "
            f"update agent-runner, or {schema.WAY_OUT}"
        )
        raise SchemaIncompatible(message)
    return version


def _migrate(connection: sqlite3.Connection, version: int) -> None:
    for migration in schema.migrations():
        if migration.version <= version:
            continue
        for statement in _statements(migration.sql):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {migration.version}")
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")


def _statements(sql: str) -> Iterator[str]:
    """Split a script, because `executescript` would commit the transaction that we are in."""
    pending = ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


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
