"""The numbered migrations that lead to the present schema, and how they are made."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib import resources

from oulipoly_engine.records import Record
from oulipoly_engine.store.base import schema


class Migration(Record):
    """One step: the version it leads to, and its SQL."""

    version: int
    sql: str


def migrations() -> tuple[Migration, ...]:
    """Return every shipped migration in order; file names are `NNNN_what.sql`."""
    folder = resources.files("oulipoly_engine.store").joinpath("migrations")
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return tuple(Migration(int(entry.name[:4]), entry.read_text(encoding="utf-8")) for entry in files)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a file of some version to the present one; 0: an empty file. The caller has begun a transaction."""
    for migration in migrations():
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
