"""What Codex keeps beside a rollout, and what stands on it: the projection for its screens, and forks by reference.

The only place that writes into a CLI's own database: the screens of 0.169 show a thread from `thread_history_1.sqlite`
and read the rollout again only when the thread's rows are gone (seen 2026-11).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from oulipoly_engine.adapters.transcript_file import open_transcript
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import walk_folders

_PROJECTION = "thread_history_1.sqlite"
_TABLES = ("thread_items", "thread_turns", "thread_history_projection_state")
_KEY = "thread_id"
_PATIENCE_S = 2.0
_HEAD = 1 << 20  # bytes of a rollout's first line that are read; instructions make it 20 to 60 kB long


class Fork(Record):
    """A rollout that holds no history of its own, but builds on another's first bytes."""

    path: Path
    end_byte_offset: int  # of the parent's file


def clear_projection(folders: list[Path], thread_id: str) -> str | None:
    """Drop a thread's rows, so that Codex reads its rollout again; return why that could not be done, None if it was.

    folders: where the database may lie; one that is not there needs nothing.
    """
    for path in dict.fromkeys(folder / _PROJECTION for folder in folders):
        if not path.is_file():
            continue
        try:
            with closing(
                sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_PATIENCE_S)
            ) as database:
                _clear(database, thread_id)
        except sqlite3.Error as error:
            return f"Codex's screens may show the former text: its rows in {path} could not be dropped ({error})"
    return None


def _clear(database: sqlite3.Connection, thread_id: str) -> None:
    known = {str(row[0]) for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    with database:
        for table in _TABLES:
            columns = {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")} if table in known else ()
            if _KEY in columns:
                database.execute(f"DELETE FROM {table} WHERE {_KEY} = ?", (thread_id,))  # noqa: S608 - names from above


def forks_of(home: Path, thread_id: str) -> Iterator[Fork]:
    """Yield the rollouts of a home that build on a thread's file by byte offset."""
    wanted = thread_id.encode()
    for folder in ("sessions", "archived_sessions"):
        for path in sorted(_rollouts(home / folder)):
            try:
                with open_transcript(path) as file:
                    head = file.readline(_HEAD)
            except OSError:
                continue
            if wanted in head and b"history_base" in head:
                offset = _offset(head, thread_id)
                if offset is not None:
                    yield Fork(path, offset)


def _rollouts(folder: Path) -> Iterator[Path]:
    for place, _, names in walk_folders(folder):
        yield from (Path(place, name) for name in names if name.startswith("rollout-") and name.endswith(".jsonl"))


def _offset(head: bytes, thread_id: str) -> int | None:
    try:
        base = json.loads(head)["payload"]["history_base"]
        return int(base["end_byte_offset"]) if base["thread_id"] == thread_id else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
