"""One SQLite connection a thread, in autocommit mode: transactions begin and end where we say so.

The standard library's driver, since an object-relational mapper costs each run 45 ms of import, a quarter of what a
one-shot may take, and all that was used of it stands here.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

BUSY_TIMEOUT_S = 5.0
_PRAGMAS = ("foreign_keys = 1", "synchronous = normal", "temp_store = memory")


class Connections:
    """The connections of one process to one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()

    def mine(self) -> sqlite3.Connection:
        """Return this thread's connection, opened at first use. Raises sqlite3.Error."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            self._local.connection = connection
        return connection

    @contextmanager
    def transaction(self, mode: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction; an inner one is part of the outer. Any exception rolls all of it back."""
        connection = self.mine()
        if connection.in_transaction:
            yield connection
            return
        connection.execute(f"BEGIN {mode}")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # on a full disk SQLite has rolled back by itself
                connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close this thread's connection; the next use opens another."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()
