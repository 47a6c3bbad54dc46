"""One SQLite connection a thread, in autocommit mode: transactions begin and end where we say so."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from oulipoly_engine.store.base.dialect import SQLITE_WORDS
from oulipoly_engine.store.base.orm import PeeweeException, SqliteDatabase
from oulipoly_engine.store.base.schema import BUSY_TIMEOUT_S

_AGAIN_S = 0.2  # for a lock that was waited for in vain just before
_MOST_IDLE = 4  # as many as an app's threads use at once, mostly
_PRAGMAS = (("foreign_keys", 1), ("synchronous", "normal"), ("temp_store", "memory"))


class Connections(SqliteDatabase):
    """The connections of one process to one file: peewee's database, one connection a thread, opened at first use.

    Models are bound to no database, since one process may have several files open: queries are told theirs.
    A lock is waited for BUSY_TIMEOUT_S in all: who is refused, goes on and asks again does not wait as long again.
    read_only: the parameters of SQLite's URI that say how it is read only; None: read and written.
    """

    def __init__(self, path: Path, read_only: str | None = None) -> None:
        place = str(path) if read_only is None else f"{path.absolute().as_uri()}?{read_only}"
        super().__init__(
            place,
            pragmas=_PRAGMAS,
            timeout=BUSY_TIMEOUT_S,
            operations=SQLITE_WORDS,
            uri=read_only is not None,
            check_same_thread=False,  # of those that are kept idle; each is one thread's at a time
        )
        self._refused_at: float | None = None  # when a lock was last waited for in vain
        self._mine = threading.local()  # of this thread's connection: its timeout, and the file that it is open on
        self._place = str(path)
        self._idle: list[tuple[tuple[int, int] | None, sqlite3.Connection]] | None = None  # None: none is kept

    def keep_idle(self) -> None:
        """Keep a few connections that threads close, for the threads that ask next, until `close_idle`.

        To open one, and to read the schema in it, takes a millisecond. Not for who sets pragmas of a connection.
        """
        self._idle = []

    def close_idle(self) -> None:
        """Close those that were kept, and keep none any more."""
        idle = self._idle or []
        self._idle = None
        for _, connection in idle:
            connection.close()

    def mine(self) -> sqlite3.Connection:
        """Return this thread's connection, opened at first use. Raises peewee's or sqlite3's errors."""
        patience_s = self.patience_s()
        self._timeout = patience_s  # peewee's own, for a connection that is opened
        is_new = self.is_closed()
        connection: sqlite3.Connection = self.connection()  # type: ignore[no-untyped-call]  # the stubs name no type
        if not is_new and patience_s != getattr(self._mine, "timeout_s", None):
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * patience_s)}")
        self._mine.timeout_s = patience_s
        return connection

    def patience_s(self) -> float:
        """Return how long a lock is to be waited for now."""
        refused_at = self._refused_at
        is_again = refused_at is not None and time.monotonic() < refused_at + BUSY_TIMEOUT_S
        return _AGAIN_S if is_again else BUSY_TIMEOUT_S

    def note_refusal(self) -> None:
        """Remember that a lock was waited for in vain."""
        self._refused_at = time.monotonic()

    def has_changed(self) -> bool:
        """Return whether what was read without locks cannot be relied on; here everything is read with them."""
        return False

    @contextmanager
    def join(self, mode: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[None]:
        """Run the block as one transaction; an inner one is part of the outer. Any exception rolls all of it back."""
        if self.in_transaction():  # peewee's own nesting would make a savepoint each time
            yield
            return
        if self.mine().in_transaction:  # left by what interrupted peewee between its own list and the rollback
            self.rollback()
        with self.atomic(mode):
            if mode == "IMMEDIATE":
                self._refused_at = None
            yield

    def commit(self) -> None:
        """Commit; whatever interrupts it rolls back. peewee itself does so after an `Exception` alone."""
        try:
            super().commit()
        except BaseException:
            self.rollback()
            raise

    def rollback(self) -> None:
        """Roll back, if there is still anything to: on a full disk SQLite has done so by itself."""
        with suppress(PeeweeException):
            super().rollback()

    def pop_transaction(self) -> object:
        """Take the innermost transaction off; None: its connection was closed meanwhile and took it along."""
        return super().pop_transaction() if self.in_transaction() else None  # type: ignore[no-untyped-call]  # as above

    def close_mine(self) -> None:
        """Close this thread's connection, in the middle of a transaction too; the next use opens another."""
        if self.is_closed():
            return
        connection = self.mine()
        self.dispose()
        is_usual = not connection.in_transaction and self._mine.timeout_s == BUSY_TIMEOUT_S
        if self._idle is None or len(self._idle) >= _MOST_IDLE or not is_usual:
            connection.close()
        else:
            self._idle.append((self._mine.file, connection))

    def _connect(self) -> sqlite3.Connection:
        """Return a connection that was kept, or a new one; peewee calls this."""
        while self._idle and self._timeout == BUSY_TIMEOUT_S:
            with suppress(IndexError):  # another thread has taken the last one
                file, idle = self._idle.pop()
                if file == self._find_file():
                    self._mine.file = file
                    return idle
                idle.close()  # another file lies there now
        connection: sqlite3.Connection = super()._connect()  # type: ignore[misc]  # the stubs leave it out
        self._mine.file = self._find_file()
        return connection

    def _find_file(self) -> tuple[int, int] | None:
        """Return which file lies at our path; None: none."""
        try:
            status = os.stat(self._place)  # noqa: PTH116 - 2 us instead of 10
        except OSError:
            return None
        return status.st_dev, status.st_ino
