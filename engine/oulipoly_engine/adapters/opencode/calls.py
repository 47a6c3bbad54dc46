"""opencode's answers with their counts, read only, those that have changed since an instant."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from oulipoly_engine.adapters.scripts.opencode import DATABASE, opened
from oulipoly_engine.core.ledger.opencode import Message

_ANSWERS = (
    "SELECT m.time_updated, m.session_id, COALESCE(s.directory, ''), s.parent_id IS NOT NULL, m.data FROM message m"
    " LEFT JOIN session s ON s.id = m.session_id WHERE m.time_updated >= ? ORDER BY m.rowid"
)


def database_of(folder: Path) -> Path:
    """Return the database in opencode's folder."""
    return folder / DATABASE


def read_changed(path: Path, since_ms: int) -> list[tuple[int, Message]]:
    """Return (when it changed in ms since 1970, message) in order. Raises OSError, also for what SQLite refuses."""
    try:
        with opened(path) as database:
            rows = database.execute(_ANSWERS, (since_ms,)).fetchall()
    except sqlite3.Error as error:
        raise OSError(0, str(error)) from error
    return [
        # A time that is not a number sorts behind all others; such a message is then read again each time.
        (at if isinstance(at, int) else since_ms, Message(str(session), str(folder), bool(is_side), str(data)))
        for at, session, folder, is_side, data in rows
    ]
