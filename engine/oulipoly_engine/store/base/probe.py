"""A look at the state file that changes nothing: no migration, no WAL file, no folder, no modification time."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from oulipoly_engine.records import Record
from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.database_errors import translate
from oulipoly_engine.store.base.schema import BUSY_TIMEOUT_S, DATABASE_ERRORS
from oulipoly_engine.store.base.state_path import read_only_uri, refuse_other_kinds

REQUIRED_TABLES = ("invocations", "session_turns", "session_chains", "session_chain_segments")
REQUIRED_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "invocations": (
        "session_id",
        "session_capture_method",
        "resume_acceptance_status",
        "resume_acceptance_evidence",
    ),
    "session_turns": ("parent_turn_id", "is_sidechain", "is_compaction_boundary"),
    "session_chains": ("chain_id", "created_at", "last_used_at", "model_name"),
    "session_chain_segments": (
        "chain_id",
        "provider_name",
        "session_id",
        "started_at",
        "ended_at",
        "last_turn_id",
        "transition_reason",
    ),
}
REQUIRED_INDEXES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "invocations": {"idx_invocations_provider_session": ("provider_name", "session_id")},
    "session_turns": {"idx_session_turns_session_lookup": ("session_id", "timestamp")},
    "session_chain_segments": {
        "idx_segments_session": ("session_id",),
        "idx_segments_chain_active": ("chain_id", "ended_at"),
    },
}


class Probe(Record):
    """What was found."""

    path: Path
    exists: bool
    version: int = 0
    application_id: int = 0
    tables: frozenset[str] = frozenset()
    columns: Mapping[str, frozenset[str]] | None = None
    indexes: Mapping[str, tuple[str, ...]] | None = None  # index name -> its columns in order

    @property
    def has_table(self) -> dict[str, bool]:
        """Return which required tables are there."""
        return {name: name in self.tables for name in REQUIRED_TABLES}

    @property
    def has_column(self) -> dict[str, dict[str, bool]]:
        """Return which required columns are there, by table."""
        known = self.columns or {}
        return {
            table: {name: name in known.get(table, frozenset()) for name in names}
            for table, names in REQUIRED_COLUMNS.items()
        }

    @property
    def has_index(self) -> dict[str, dict[str, bool]]:
        """Return which required indexes are there with the right columns in the right order, by table."""
        known = self.indexes or {}
        return {
            table: {name: known.get(name) == columns for name, columns in names.items()}
            for table, names in REQUIRED_INDEXES.items()
        }

    @property
    def is_ours(self) -> bool:
        """Return whether the file carries our application id."""
        return self.application_id == schema.APPLICATION_ID

    @property
    def is_compatible(self) -> bool:
        """Return whether this program can use the file as it is."""
        present = [*self.has_table.values()]
        for group in (*self.has_column.values(), *self.has_index.values()):
            present.extend(group.values())
        return self.exists and self.is_ours and self.version == schema.CURRENT_VERSION and all(present)

    @property
    def is_migratable(self) -> bool:
        """Return whether opening the file would bring it forward."""
        return self.exists and self.is_ours and schema.MINIMUM_VERSION <= self.version < schema.CURRENT_VERSION


def probe(path: Path) -> Probe:
    """Look at a state file.

    Raises StoreUnusable when something is there that cannot be read as a database.
    """
    refuse_other_kinds(path)
    if not path.exists():
        return Probe(path, exists=False)
    try:
        with closing(sqlite3.connect(read_only_uri(path), uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
            return _look(path, connection)
    except DATABASE_ERRORS as error:
        raise translate(path, error, lambda: True) from error


def _look(path: Path, connection: sqlite3.Connection) -> Probe:
    tables = frozenset(row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")]
    return Probe(
        path,
        exists=True,
        version=int(connection.execute("PRAGMA user_version").fetchone()[0]),
        application_id=int(connection.execute("PRAGMA application_id").fetchone()[0]),
        tables=tables,
        columns={
            table: frozenset(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
            for table in REQUIRED_TABLES
        },
        indexes={
            name: tuple(row[2] for row in connection.execute("SELECT * FROM pragma_index_info(?)", (name,)))
            for name in names
        },
    )
