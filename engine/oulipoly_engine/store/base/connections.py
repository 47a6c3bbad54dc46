"""One SQLite connection a thread, in autocommit mode: transactions begin and end where we say so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from oulipoly_engine.store.base.dialect import SQLITE_WORDS
from oulipoly_engine.store.base.orm import PeeweeException, SqliteDatabase

BUSY_TIMEOUT_S = 5.0
_PRAGMAS = (("foreign_keys", 1), ("synchronous", "normal"), ("temp_store", "memory"))


class Connections(SqliteDatabase):
    """The connections of one process to one file: peewee's database, one connection a thread, opened at first use.

    Models are bound to no database, since one process may have several files open: queries are told theirs.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), pragmas=_PRAGMAS, timeout=BUSY_TIMEOUT_S, operations=SQLITE_WORDS)

    def mine(self) -> sqlite3.Connection:
        """Return this thread's connection, opened at first use. Raises peewee's or sqlite3's errors."""
        connection: sqlite3.Connection = self.connection()  # type: ignore[no-untyped-call]  # the stubs name no type
        return connection

    @contextmanager
    def join(self, mode: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[None]:
        """Run the block as one transaction; an inner one is part of the outer. Any exception rolls all of it back."""
        if self.in_transaction():  # peewee's own nesting would make a savepoint each time
            yield
            return
        if self.mine().in_transaction:  # left by what interrupted peewee between its own list and the rollback
            self.rollback()
        with self.atomic(mode):
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
        connection.close()
