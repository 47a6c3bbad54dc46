#!/usr/bin/env python3
"""Print the turns that opencode has newly stored, or the folder that one of its sessions works in.

    opencode-turns ~/.local/share/opencode
    opencode-cwd   ~/.local/share/opencode     (the session's id in `SESSION_ID`, or as a second argument)

The name it is called by says what to do; `opencode.py NAME FOLDER` does the same. A copy of this file under one of the
names works alone: standard library only, Python 3.11 and up.

stdout: turns as the other turn adapters print them, one JSON object a line; `source_file` is the database. The folder
is one JSON line, `{"found": true, "cwd": "/abs"}` or `{"found": false, "error"?: "<slug>"}`.
stderr: what could not be read.
Exits: 0, also when there is no database yet; 1 called wrongly, or nobody reads our output; 2 the database cannot be
read; 3 the cursor cannot be kept.
Environment: `STATE_DIR`, where `opencode-turns.json` remembers how far the database was read.

The database is another program's and is only read. An answer becomes a turn once it has ended, or once the session has
gone on without it. Seen in opencode 1.18.33, 2026-11: tables `session`, `message`, `part`, in WAL mode.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

DATABASE = "opencode.db"
NAMES = ("opencode-turns", "opencode-cwd")
_MISUSED, _NO_DATABASE, _NO_STATE = 1, 2, 3
_PATIENCE_S = 5.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOTES = 3  # damaged messages named one by one; the rest is counted
_TEXTLESS = {"tool": "tool_use", "reasoning": "thinking", "file": "file"}  # what a turn may be that has no text
_AT_ONCE = 500  # pending messages in one question; SQLite takes 999 parameters at least

Json = Mapping[str, object]
Row = tuple[int, str, str, int, str]  # rowid, id, session, created in ms, data


class OpencodeFailed(Exception):
    """Nothing could be read at all; `exit_code` as in the module's table."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far the database was read."""

    identity: tuple[int, int] = (0, 0)  # device and inode of the file
    row: int = 0  # the greatest number of a message that was looked at
    message: str = ""  # the id of that message
    pending: tuple[str, ...] = ()  # messages that had not ended


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading only; raises sqlite3.Error, also where the block does for a damaged schema.

    Where no write-ahead log lies beside it nobody is writing, and it is read as a file that does not change: otherwise
    SQLite would leave a log and a shared-memory file there, and could not read in a folder that is closed to us.
    """
    still = "" if _has_log(path) else "&immutable=1"
    uri = f"{path.absolute().as_uri()}?mode=ro{still}"
    with closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE_S)) as database:
        database.execute("PRAGMA query_only = 1")
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            yield database
        except UnicodeDecodeError as error:  # out of SQLite's own message, with the name of what it cannot read
            raise sqlite3.DatabaseError(f"its schema is damaged ({error})") from error


def state_of(path: Path) -> tuple[object, ...]:
    """Return what changes when the database is written to."""
    return tuple(_status(place) for place in (path, path.with_name(path.name + "-wal")))


@dataclass(slots=True)
class Reading:
    """One pass over a database: take all of `turns()`, then `keep()` how far it was read."""

    folder: Path
    state_dir: Path
    afresh: bool = False  # forget how far earlier passes came
    notes: list[str] = field(default_factory=list)
    damaged: int = 0  # messages that cannot be read, or of which something cannot
    _before: Cursor | None = None
    _now: Cursor | None = None

    def turns(self) -> Iterator[dict[str, object]]:
        """Yield the turns that were not there, or had not ended, when the last kept pass was made.

        Raises OpencodeFailed.
        """
        path = self.folder / DATABASE
        self._before = self._load()
        if not path.exists():
            self.notes.append(f"{path}: does not exist, so there are no sessions")
            return
        for attempt in (1, 2):
            before = state_of(path)
            try:
                found = self._read(path)
            except (sqlite3.Error, OSError) as error:
                if attempt == 1 and state_of(path) != before:
                    continue
                raise OpencodeFailed(f"cannot read {path}: {error}", _NO_DATABASE) from None
            if attempt == 2 or state_of(path) == before or _has_log(path):
                break  # else it was written to while it was read as a file that does not change
        yield from found

    def keep(self) -> None:
        """Remember how far this pass came. Raises OpencodeFailed."""
        cursor = self._now
        if cursor is None or cursor == self._before:
            return
        value = {"version": 1, "identity": cursor.identity, "row": cursor.row, "message": cursor.message}
        try:
            for folder in (*reversed(self.state_dir.parents), self.state_dir):  # `parents=True` heeds the umask
                folder.mkdir(mode=0o700, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.state_dir, prefix=".opencode-turns-")
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    json.dump(value | {"pending": cursor.pending}, file, separators=(",", ":"))
                Path(temporary).replace(self._cursor_file())
            except BaseException:
                with suppress(OSError):
                    Path(temporary).unlink()
                raise
        except OSError as error:
            message = f"cannot keep a cursor in {self.state_dir}: {error.strerror}; set STATE_DIR to a writable folder"
            raise OpencodeFailed(message, _NO_STATE) from None

    def _read(self, path: Path) -> list[dict[str, object]]:
        """Read in one transaction, all of it, so that nobody waits for us."""
        status = path.stat()
        identity = (status.st_dev, status.st_ino)
        with opened(path) as database:
            database.execute("BEGIN")
            cursor = self._before or Cursor()
            if self.afresh or cursor.identity != identity or not _is_at(database, cursor):
                cursor = Cursor(identity)
            rows = sorted({*_read_pending(database, cursor.pending), *_since(database, cursor.row)})
            latest = _latest(database)
            found: list[dict[str, object]] = []
            pending: list[str] = []
            sidechains = _sidechains(database)
            for row in rows:
                data = self._object(path, row)
                if data is None:
                    continue
                parts, bad_parts = _parts(database, row[1])
                if not _has_ended(row, data, latest, has_parts=bool(parts)):
                    pending.append(row[1])
                    continue
                for problem in _problems(row, data, bad_parts):
                    self._note(path, row, problem)
                turn = _turn(row, data, parts, is_sidechain=row[2] in sidechains)
                if turn is not None:
                    found.append({**turn, "source_file": str(path)})
        last = max(rows, default=None)
        if last is not None and last[0] > cursor.row:
            cursor = Cursor(identity, last[0], last[1])
        self._now = Cursor(identity, cursor.row, cursor.message, tuple(pending))
        if self.damaged > _NOTES:
            self.notes.append(f"{path}: {self.damaged - _NOTES} more damaged messages")
        return found

    def _object(self, path: Path, row: Row) -> Json | None:
        data = _decode(row[4])
        if data is None:
            self._note(path, row, "its data is not a JSON object")
        return data

    def _note(self, path: Path, row: Row, problem: str) -> None:
        self.damaged += 1
        if self.damaged <= _NOTES:
            self.notes.append(f"{path}: message {row[1]}: {problem}")

    def _cursor_file(self) -> Path:
        return self.state_dir / "opencode-turns.json"

    def _load(self) -> Cursor | None:
        try:
            value = json.loads(self._cursor_file().read_bytes())
            device, inode = (int(number) for number in value["identity"])
            pending = tuple(str(one) for one in value["pending"])
            return Cursor((device, inode), int(value["row"]), str(value["message"]), pending)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            self.notes.append(f"{self._cursor_file()}: unusable ({type(error).__name__}), everything is read again")
            return None


def find_workspace(folder: Path, session_id: str) -> object:
    """Return what a session says of its folder, None where there is no such session. Raises OpencodeFailed."""
    path = folder / DATABASE
    if not path.exists():
        return None
    try:
        with opened(path) as database:
            row = database.execute("SELECT directory FROM session WHERE id = ?", (session_id,)).fetchone()
    except sqlite3.Error as error:
        raise OpencodeFailed(f"cannot read {path}: {error}", _NO_DATABASE) from None
    return None if row is None else row[0] or ""


# Sessions that a later one may have been copied from, by the instant of its first message, which a copy keeps.
_ORIGINS = (
    "WITH mine AS (SELECT s.title, s.time_created AS made_at, (SELECT MIN(time_created) FROM message"
    " WHERE session_id = s.id) AS first_at FROM session s WHERE s.id = ?1) SELECT o.id, o.title, mine.title,"
    " (SELECT COUNT(*) FROM message a JOIN message b ON b.time_created = a.time_created WHERE a.session_id = ?1"
    " AND b.session_id = o.id) FROM mine JOIN session o ON o.time_created < mine.made_at AND o.id <> ?1"
    " WHERE mine.first_at < mine.made_at AND EXISTS (SELECT 1 FROM message WHERE session_id = o.id"
    " AND time_created = mine.first_at) ORDER BY o.time_created"
)


def find_origin(folder: Path, session_id: str) -> str | None:
    """Return the session that one is a fork of, None for one that is not a fork. Raises OpencodeFailed.

    opencode notes no origin. A fork is older in its first message than in itself, and has the instants of its origin's
    messages under new ids; its title counts on from the origin's. Source: opencode 1.18.33.
    """
    path = folder / DATABASE
    try:
        with opened(path) as database:
            found = database.execute(_ORIGINS, (session_id,)).fetchall()
    except sqlite3.Error as error:
        raise OpencodeFailed(f"cannot read {path}: {error}", _NO_DATABASE) from None
    ranked = [(_fork_title(str(title)) == mine, shared, origin) for origin, title, mine, shared in found]
    return str(max(ranked, key=lambda one: one[:2])[2]) if ranked else None


def _fork_title(title: str) -> str:
    """Return what opencode calls a fork of a session with a title."""
    base, mark, number = title.removesuffix(")").rpartition(" (fork #")
    return f"{base} (fork #{int(number) + 1})" if mark and number.isdecimal() else f"{title} (fork #1)"


def cwd(folder: Path, session_id: str) -> dict[str, object]:
    """Return the folder that a session works in, as the cwd adapters tell it. Raises OpencodeFailed."""
    directory = find_workspace(folder, session_id)
    if directory is None:
        return {"found": False}
    if not isinstance(directory, str) or not directory.startswith("/"):
        return {"found": False, "error": "opencode_cwd_not_absolute"}
    if not Path(directory).is_dir():
        return {"found": False, "error": "opencode_cwd_missing"}
    return {"found": True, "cwd": directory}


_MESSAGE = "SELECT rowid, id, session_id, time_created, data FROM message"


def _is_at(database: sqlite3.Connection, cursor: Cursor) -> bool:
    """Tell whether the message where we stopped is there still: numbers are given again after a deletion."""
    if cursor.row == 0:
        return True
    row = database.execute("SELECT id FROM message WHERE rowid = ?", (cursor.row,)).fetchone()
    return row is not None and row[0] == cursor.message


def _since(database: sqlite3.Connection, number: int) -> Iterator[Row]:
    return iter(database.execute(f"{_MESSAGE} WHERE rowid > ? ORDER BY rowid", (number,)))


def _read_pending(database: sqlite3.Connection, ids: Sequence[str]) -> Iterator[Row]:
    for begin in range(0, len(ids), _AT_ONCE):
        part = ids[begin : begin + _AT_ONCE]
        yield from database.execute(f"{_MESSAGE} WHERE id IN ({', '.join('?' * len(part))})", part)


def _latest(database: sqlite3.Connection) -> Mapping[str, int]:
    return {
        str(session): int(row)
        for session, row in database.execute("SELECT session_id, MAX(rowid) FROM message GROUP BY session_id")
    }


def _sidechains(database: sqlite3.Connection) -> frozenset[str]:
    return frozenset(str(row[0]) for row in database.execute("SELECT id FROM session WHERE parent_id IS NOT NULL"))


def _parts(database: sqlite3.Connection, message_id: str) -> tuple[list[Json], int]:
    """Return a message's parts, and how many of them cannot be read."""
    rows = database.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (message_id,))
    found = [_decode(row[0]) for row in rows]
    parts = [part for part in found if part is not None]
    return parts, len(found) - len(parts)


def _problems(row: Row, data: Json, bad_parts: int) -> Iterator[str]:
    if not isinstance(data.get("role"), str):
        yield "it has no `role`, left out"
        return
    if bad_parts:
        yield f"{bad_parts} of its parts are not JSON objects, left out"
    if _instant(row[3]) is None:
        yield f"its time is not an instant: {str(row[3])[:40]}, kept as of 1970"


def _has_ended(row: Row, data: Json, latest: Mapping[str, int], *, has_parts: bool) -> bool:
    """Tell whether a message will not change any more."""
    if latest.get(row[2], row[0]) > row[0]:
        return True
    if data.get("role") != "assistant":
        return has_parts
    times = data.get("time")
    return data.get("error") is not None or (isinstance(times, dict) and times.get("completed") is not None)


def _turn(row: Row, data: Json, parts: Sequence[Json], *, is_sidechain: bool) -> dict[str, object] | None:
    _, message_id, session_id, created, _ = row
    role = data.get("role")
    if role not in ("user", "assistant"):
        return None
    parent = data.get("parentID")
    body = [chunk for chunk in map(_chunk, parts) if chunk is not None]
    if not body:
        kinds = [str(part.get("type")) for part in parts]
        body = [{"type": _TEXTLESS[kind]} for kind in kinds if kind in _TEXTLESS]
    turn: dict[str, object] = {
        "session_id": session_id,
        "turn_id": message_id,
        "timestamp": instant(created),
        "role": role,
        "parent_turn_id": parent if isinstance(parent, str) and parent else None,
        "is_sidechain": is_sidechain,
    }
    return turn | {"body": body} if body else turn


def _chunk(part: Json) -> dict[str, object] | None:
    """Return a part as a chunk of text; what carries none is left out, and so is what opencode itself put in."""
    text = part.get("text")
    if part.get("type") not in ("text", "reasoning") or not isinstance(text, str) or not text:
        return None
    return {"type": "text" if part.get("type") == "text" else "thinking", "text": text}


def instant(milliseconds: object) -> str:
    """Return an instant as text; one that is none becomes the beginning of 1970."""
    at = _instant(milliseconds) or _EPOCH
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _instant(milliseconds: object) -> datetime | None:
    if not isinstance(milliseconds, int | float):
        return None
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except (OverflowError, ValueError):
        return None


def _decode(text: object) -> Json | None:
    try:
        value = json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _has_log(path: Path) -> bool:
    status = _status(path.with_name(path.name + "-wal"))
    return status is not None and status[1] > 0


def _status(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def main(argv: Sequence[str] | None = None) -> int:
    """Run under the name that we were called by; the first argument may name the adapter instead."""
    called, *arguments = sys.argv if argv is None else argv
    name = Path(called).name
    if name not in NAMES and arguments:
        name, *arguments = arguments
    if name not in NAMES or not 1 <= len(arguments) <= (2 if name == "opencode-cwd" else 1) or not arguments[0]:
        sys.stderr.write(f"usage: {NAMES[0]} FOLDER | {NAMES[1]} FOLDER [SESSION_ID]\n")
        return _MISUSED
    try:
        return _cwd(arguments) if name == "opencode-cwd" else _turns(Path(arguments[0]))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter's flush at exit complains
        return _MISUSED
    except OpencodeFailed as failure:
        sys.stderr.write(f"{name}: {failure}\n")
        return failure.exit_code


def _cwd(arguments: Sequence[str]) -> int:
    session_id = arguments[1] if len(arguments) == 2 else os.environ.get("SESSION_ID", "")
    if not session_id:
        sys.stderr.write("opencode-cwd: give the session's id in SESSION_ID or as the second argument\n")
        return _MISUSED
    sys.stdout.write(json.dumps(cwd(Path(arguments[0]), session_id), separators=(",", ":")) + "\n")
    sys.stdout.flush()
    return 0


def _turns(folder: Path) -> int:
    state_dir = os.environ.get("STATE_DIR") or Path(tempfile.gettempdir(), "opencode-turns-state")
    reading = Reading(folder, Path(state_dir))
    try:
        for turn in reading.turns():
            sys.stdout.write(json.dumps(turn, separators=(",", ":")) + "\n")
        sys.stdout.flush()
        reading.keep()
    finally:
        for note in reading.notes:
            sys.stderr.write(f"opencode-turns: {note}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
