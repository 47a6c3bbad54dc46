"""Look for what is wrong in a state file: where something has failed on it, and for `doctor`; it reads all of it."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from oulipoly_engine.store.base.orm import BigIntegerField, DoubleField, Field, IntegerField, TextField
from oulipoly_engine.store.base.schema import BUSY_TIMEOUT_S, DATABASE_ERRORS
from oulipoly_engine.store.base.state_path import read_only_uri
from oulipoly_engine.store.models import (
    archive,
    artifacts,
    ledger,
    live,
    quota,
    runs,
    search,
    sessions,
    setup,
    transcripts,
    web,
    worktrees,
)
from oulipoly_engine.store.models.base import Row

MODULES = (
    archive,
    artifacts,
    ledger,
    live,
    quota,
    runs,
    search,
    sessions,
    setup,
    transcripts,
    web,
    worktrees,
)
_TYPES: tuple[tuple[type[Field], tuple[str, ...]], ...] = (
    (BigIntegerField, ("integer",)),
    (IntegerField, ("integer",)),
    (DoubleField, ("real", "integer")),
    (TextField, ("text",)),
)
_DOCUMENTS = (  # by their tables: a request's decision is a word
    "decisions.decision",
    "invocation_returned_artifacts.source_json",
    "setup_nodes.properties",
    "live_sessions.opening",
    "live_events.event",
    "live_requests.prompt",
    "live_requests.answers",
    "runtime_probes.summary",
    "worktrees.settings",
    "worktree_operations.detail",
)
_STEPS = 100_000  # of SQLite's machine between two looks at the clock, some milliseconds


def find_damage(path: Path, patience_s: float = math.inf) -> str | None:
    """Return the first thing in a state file that no program of ours has written; None: there is none to be found.

    Its pages, the types of all columns, instants and JSON documents are looked at. Raises TimeoutError where that takes
    longer than the patience.
    """
    deadline = time.monotonic() + patience_s
    try:
        with closing(sqlite3.connect(read_only_uri(path), uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
            (told,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if told != "ok":
                return str(told).replace("\n", " ")
            for table, column, condition, key in _conditions():
                row = connection.execute(f"SELECT {key} FROM {table} WHERE {condition} LIMIT 1").fetchone()  # noqa: S608 - our own names
                if row is not None:
                    session = f" (session {row[0]})" if isinstance(row[0], str) else ""
                    return f"{table}.{column} has a value that cannot be{session}"
    except DATABASE_ERRORS as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise TimeoutError from error
        return str(error)
    return None


def _conditions() -> Iterator[tuple[str, str, str, str]]:
    """Yield table, column, what holds for a row whose value cannot be, and what tells the session of the row."""
    for model in Row.__subclasses__():
        table = model._meta.table_name
        names = {field.column_name for field in model._meta.sorted_fields}
        key = next((name for name in ("session_id", "chain_id") if name in names), "NULL")
        for field in model._meta.sorted_fields:
            name = field.column_name
            types = next((types for kind, types in _TYPES if isinstance(field, kind)), None)
            if types is not None:
                allowed = ", ".join(f"'{one}'" for one in (*types, "null"))
                yield table, name, f"typeof({name}) NOT IN ({allowed})", key
            if isinstance(field, TextField) and (name.endswith("_at") or name == "timestamp"):
                yield table, name, f"{name} IS NOT NULL AND julianday({name}) IS NULL", key
            if f"{table}.{name}" in _DOCUMENTS:
                yield table, name, f"{name} IS NOT NULL AND NOT json_valid({name})", key
