#!/usr/bin/env python3
"""Print the turns that a CLI has newly written, one JSON object a line; one file under three names.

    claude-code-turns ~/.claude/projects
    codex-turns       ~/.codex/sessions
    gemini-turns      ~/.gemini/tmp

The name it is called by says which format to read; `turns.py NAME FOLDER` does the same. A copy of this file under one
of the names works alone: standard library only, Python 3.11 and up, and therefore in one file.

stdout: `{"session_id", "turn_id", "timestamp", "role", "parent_turn_id"?, "is_sidechain"?, "is_compaction_boundary"?,
"body"?: [{"type", "text"?}], "source_file"}`; where nothing carries text, the body tells the types alone.
stderr: a line for each file or folder that could not be read and for damaged lines, with file and line number.
Exits: 0, also when single files were unreadable or the folder does not exist yet; 1 called wrongly, or nobody reads our
output; 2 the folder cannot be listed; 3 the cursor cannot be kept.
Environment: `STATE_DIR`, where `NAME.json` remembers how far each transcript was read; `LONGEST_LINE`, in bytes: a
longer line counts as damaged (64 MB).

A transcript is known again by its device, inode, size and nanoseconds; one that changed is read on from where we were
if its beginning and the bytes before that place are the same, else from its start. A line is done with once a newline
ends it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

LONGEST_LINE = 64 << 20  # bytes; real transcripts have had lines of 50 MB, pasted images among them
_DEEPEST = 16  # folders below the root; os.walk of Python 3.11 calls itself for each
_PIECE = 1 << 20  # bytes
_BUFFER = 256 << 10
_HEAD, _TAIL = 1024, 64  # bytes that must be unchanged for a file to be read on
_KINDS = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
_NOTES_A_FILE = 3  # damaged lines named one by one; the rest is counted

_GEMINI = "gemini-turns"
_ANSWER = _GEMINI.partition("-")[0]  # the type of an answer in its transcripts: the CLI's own name
_MISUSED, _NO_FOLDER, _NO_STATE = 1, 2, 3
NO_OBJECT = "not a JSON object"
NO_META = "a message of no session, left out: no `session_meta` with an id stands before it"
NO_SESSION = "a message of no session, left out: no `sessionId` stands before it"
_SAME_TYPE = {"input_text": "text", "output_text": "text"}

Json = Mapping[str, object]
Turn = dict[str, object]


class TurnsFailed(Exception):
    """Nothing could be read at all; `exit_code` as in the module's table."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a transcript has been read."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    offset: int = 0  # bytes of whole lines read
    lines: int = 0  # their number
    head: str = ""  # digest of the first bytes, none of them behind the offset
    tail: str = ""  # digest of the bytes before the offset
    session_id: str | None = None  # that the file named so far; Claude Code names it on every line

    def is_of(self, status: os.stat_result) -> bool:
        """Tell whether nothing has happened to the file since."""
        seen = (self.device, self.inode, self.size, self.mtime_ns)
        return seen == (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(slots=True)
class Place:
    """Where the reading of one file stands."""

    path: str
    shown: str  # the path as text, even where its bytes are none
    offset: int = 0
    lines: int = 0
    session_id: str | None = None
    damaged: int = 0
    problem: str | None = None  # why the line that was read last holds no turn, if it should
    kept: Sequence[str] | None = None  # ids of what a compaction keeps, where the line before its summary tells them


def claude_turn(record: Json) -> Turn | None:
    """Return the turn that one record of Claude Code is; None for records of other kinds.

    Tool results are records of type `user` and count as user turns. An API call may have written several records.
    """
    kind, is_boundary = record.get("type"), record.get("isCompactSummary") is True
    if kind not in ("user", "assistant") and not is_boundary:
        return None
    turn_id, at, session_id = record.get("uuid"), record.get("timestamp"), record.get("sessionId")
    if not (_is_text(turn_id) and _is_text(at) and _is_text(session_id)):
        return None
    parent = record.get("parentUuid")
    turn: Turn = {
        "session_id": session_id,
        "turn_id": turn_id,
        "timestamp": at,
        "role": kind if _is_text(kind) else "user",
        "parent_turn_id": parent if _is_text(parent) else None,
        "is_sidechain": record.get("isSidechain") is True,
    }
    if is_boundary:
        turn["is_compaction_boundary"] = True
    message = record.get("message")
    inner = message.get("content") if isinstance(message, dict) else message if isinstance(message, str) else None
    return _with_body(turn, inner, record.get("content"))


def kept_ids(metadata: object, before: Sequence[str] | None) -> Sequence[str] | None:
    """Return the ids of the messages that a compaction of Claude Code keeps. before: where the record begins none."""
    if not isinstance(metadata, dict):
        return before
    preserved = metadata.get("preservedMessages")
    uuids = preserved.get("uuids") if isinstance(preserved, dict) else None
    return [each for each in uuids if isinstance(each, str)] if isinstance(uuids, list) else []


def keep(turn: Turn, kept: Sequence[str] | None) -> Turn:
    """Return a compaction with what it keeps in its body: ids, or the role of all that it keeps."""
    body = turn.get("body")
    if kept is None or not isinstance(body, list):
        return turn
    return {**turn, "body": [{**body[0], "kept": kept}, *body[1:]]}


def codex_session(record: Json) -> str | None:
    """Return the session id that a `session_meta` record names."""
    payload = record.get("payload")
    if record.get("type") != "session_meta" or not isinstance(payload, dict):
        return None
    session_id = payload.get("id")
    return session_id if isinstance(session_id, str) and session_id else None


def codex_turn(record: Json, session_id: str | None, turn_id: str) -> Turn | None:
    """Return the turn that one record of a rollout is; None for records of other kinds and other roles."""
    payload, at = record.get("payload"), record.get("timestamp")
    if session_id is None or not isinstance(payload, dict) or not _is_text(at):
        return None
    turn: Turn = {"session_id": session_id, "turn_id": turn_id, "timestamp": at, "role": "user"}
    if record.get("type") == "compacted":
        return keep(_with_body({**turn, "is_compaction_boundary": True}, payload.get("message")), "user")
    if record.get("type") != "response_item":
        return None
    role = payload.get("role")
    if payload.get("type") != "message" or role not in ("user", "assistant"):
        return None
    return _with_body({**turn, "role": role}, payload.get("content"))


def gemini_turns(record: Json, session_id: str | None) -> Iterator[Turn]:
    """Yield the turns that one record of Gemini's operation log holds: a message, or the list that replaces all.

    Its ids stay when a session goes on, so a message comes again under the same one; only the answers that a list
    repeats under `ID_response` are known by their names. Source: gemini-cli 0.61, seen 2026-11.
    """
    patch = record.get("$set")
    listed = patch.get("messages") if isinstance(patch, dict) else [record]
    for message in listed if isinstance(listed, list) else ():
        turn = _gemini_turn(message, session_id) if isinstance(message, dict) else None
        if turn is not None:
            yield turn


def _gemini_turn(message: Json, session_id: str | None) -> Turn | None:
    role = {"user": "user", _ANSWER: "assistant"}.get(str(message.get("type")))
    turn_id, at = message.get("id"), message.get("timestamp")
    if session_id is None or role is None or not (_is_text(turn_id) and _is_text(at)):
        return None
    if str(turn_id).endswith("_response"):
        return None
    turn: Turn = {"session_id": session_id, "turn_id": turn_id, "timestamp": at, "role": role}
    content = message.get("content")
    if any("text" in chunk for chunk in chunks(content)):
        return _with_body(turn, content)
    # An answer without text has called a tool, which a later line with the same id tells; what tools gave has no type.
    return _with_body(turn, {"type": "tool_use" if role == "assistant" else "tool_result"})


def chunks(content: object) -> list[Turn]:
    """Return a content value as chunks of text; what carries none is left out, unless there is nothing else.

    An answer that is only a tool's call has no text, and its body says what it is: `[{"type": "tool_use"}]`.
    """
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    items = content if isinstance(content, list) else [content]
    found = [chunk for chunk in map(_chunk, items) if chunk is not None]
    return found or [{"type": _chunk_type(item)} for item in items if isinstance(item, dict)]


def _with_body(turn: Turn, *candidates: object) -> Turn:
    body: list[Turn] = next(filter(None, map(chunks, candidates)), [])
    if body:
        turn["body"] = body
    return turn


def _chunk(item: object) -> Turn | None:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    if not isinstance(item, dict):
        return None
    text = item.get("text")
    text = text if isinstance(text, str) else item.get("content")
    return {"type": _chunk_type(item), "text": text} if isinstance(text, str) else None


def _chunk_type(item: Json) -> str:
    kind = item.get("type")
    return _SAME_TYPE.get(kind, kind) if isinstance(kind, str) else "text"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _claude_line(text: bytes, place: Place) -> Sequence[Turn]:
    record = _object(text, place)
    turn = claude_turn(record)
    place.kept = kept_ids(record.get("compactMetadata"), place.kept)
    if turn is not None and "is_compaction_boundary" in turn:
        turn = keep(turn, place.kept)
        place.kept = None
    if turn is None and record.get("type") in ("user", "assistant"):
        place.problem = place.problem or _describe_lack(record, ("uuid", "timestamp", "sessionId"))
    return _add_source([turn], place)


def _codex_line(text: bytes, place: Place) -> Sequence[Turn]:
    record = _object(text, place)
    # A fork repeats its parent's session_meta on its second line: the first one is the rollout's own.
    place.session_id = place.session_id or codex_session(record)
    turn = codex_turn(record, place.session_id, f"{place.shown}:{place.lines}")
    payload = record.get("payload")
    if turn is None and record.get("type") == "response_item" and isinstance(payload, dict):
        role = payload.get("role")  # other roles are Codex's own words
        if payload.get("type") == "message" and (role in ("user", "assistant") or not _is_text(role)):
            place.problem = _describe_lack(payload, ("role",)) or _describe_lack(record, ("timestamp",)) or NO_META
    return _add_source([turn], place)


def _gemini_line(text: bytes, place: Place) -> Sequence[Turn]:
    record = _object(text, place)
    patch = record.get("$set")
    named = record.get("sessionId") or (patch.get("sessionId") if isinstance(patch, dict) else None)
    place.session_id = named if isinstance(named, str) and named else place.session_id
    found = list(gemini_turns(record, place.session_id))
    if not found and "$set" not in record and record.get("type") in ("user", _ANSWER):
        place.problem = _describe_lack(record, ("id", "timestamp")) or (None if place.session_id else NO_SESSION)
    return _add_source(found, place)


def _object(text: bytes, place: Place) -> Json:
    """Return a line's object, an empty one with the problem noted where there is none."""
    record = decode_leniently(text)
    if record is None:
        place.problem = NO_OBJECT
    return record or {}


def _add_source(found: Sequence[Turn | None], place: Place) -> Sequence[Turn]:
    return [{**turn, "source_file": place.shown} for turn in found if turn is not None]


def _describe_lack(record: Json, keys: Sequence[str]) -> str | None:
    """Return which of the texts that a turn needs a record does not have."""
    return lacks(key for key in keys if not _is_text(record.get(key)))


def lacks(names: Iterable[str]) -> str | None:
    """Return the problem of a message without some texts; None for none."""
    missing = ", ".join(f"`{name}`" for name in names)
    return f"a message without {missing}, left out" if missing else None


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Format(Generic[T]):
    """How one CLI writes its transcripts, and what its lines become."""

    name: str  # of the adapter
    prefix: str  # of a transcript's file name; all end in .jsonl
    marks: tuple[bytes, ...]  # a line without any of them holds no turn, so it need not be decoded
    read: Callable[[bytes, Place], Sequence[T]]  # gives a line's turns, and notes its problem in the place


FORMATS: Mapping[str, Format[Turn]] = {
    one.name: one
    for one in (
        Format(
            "claude-code-turns",
            "",
            (b'"user"', b'"assistant"', b'"isCompactSummary"', b'"compactMetadata"'),
            _claude_line,
        ),
        Format("codex-turns", "rollout-", (b'"message"', b'"session_meta"'), _codex_line),
        Format(_GEMINI, "session-", (b'"user"', f'"{_ANSWER}"'.encode(), b'"sessionId"'), _gemini_line),
    )
}


@dataclass(slots=True)
class Reading(Generic[T]):
    """One pass over a folder of transcripts: take all of `turns()`, then `keep()` what has been read.

    Until `keep()` a later pass gives the same turns again, so a reader that dies in between loses none.
    """

    form: Format[T]
    folder: Path
    state_dir: Path
    afresh: bool = False  # forget how far earlier passes came
    longest_line: int = LONGEST_LINE
    notes: list[str] = field(default_factory=list)  # what could not be read, one sentence each
    damaged_lines: int = 0
    unread_files: int = 0  # files and folders
    _before: dict[str, Cursor] = field(default_factory=dict)
    _now: dict[str, Cursor] = field(default_factory=dict)

    def turns(self) -> Iterator[T]:
        """Yield what has been added since the last kept pass, file by file.

        Raises TurnsFailed when the folder cannot be listed or the state folder cannot be made.
        """
        root = os.path.abspath(self.folder)  # noqa: PTH100 - a Path would be resolved piece by piece; turn ids need text
        self._prepare()
        if not self._is_listable(root):
            return
        kept = self._load()
        self._before = {} if self.afresh else kept
        self._now = {path: cursor for path, cursor in kept.items() if not path.startswith(root.rstrip(os.sep) + os.sep)}
        for path in self._transcripts(root):
            yield from self._file(path)
        if self.unread_files:  # what we could not see is not forgotten
            self._now = {**self._before, **self._now}

    def keep(self) -> None:
        """Remember how far this pass came. Raises TurnsFailed."""
        if self._now == self._before:
            return
        rows = {path: list(_values(cursor)) for path, cursor in self._now.items()}
        try:
            handle, temporary = tempfile.mkstemp(dir=self.state_dir, prefix=f".{self.form.name}-")
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    json.dump({"version": 1, "files": rows}, file, separators=(",", ":"))
                Path(temporary).replace(self._cursor_file())
            except BaseException:
                with suppress(OSError):
                    Path(temporary).unlink()
                raise
        except OSError as error:
            raise self._no_state(error) from None

    def _cursor_file(self) -> Path:
        return self.state_dir / f"{self.form.name}.json"

    def _prepare(self) -> None:
        try:
            for folder in (*reversed(self.state_dir.parents), self.state_dir):  # `parents=True` heeds the umask
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise self._no_state(error) from None

    def _no_state(self, error: OSError) -> TurnsFailed:
        message = f"cannot keep a cursor in {self.state_dir}: {_reason(error)}; set STATE_DIR to a writable folder"
        return TurnsFailed(message, _NO_STATE)

    def _is_listable(self, root: str) -> bool:
        try:
            with os.scandir(root):
                return True
        except FileNotFoundError:
            self.notes.append(f"{root}: does not exist, so there are no transcripts")
            return False
        except OSError as error:
            raise TurnsFailed(f"cannot list {root}: {_reason(error)}", _NO_FOLDER) from None

    def _load(self) -> dict[str, Cursor]:
        try:
            rows = json.loads(self._cursor_file().read_bytes())["files"]
            return {str(path): _cursor(values) for path, values in rows.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            self.notes.append(f"{self._cursor_file()}: unusable ({type(error).__name__}), everything is read again")
            return {}

    def _transcripts(self, root: str) -> Iterator[str]:
        prefix = self.form.prefix
        for folder, folders, names in os.walk(root, onerror=self._unlistable):  # follows no link to a folder
            folders.sort()
            if folder.count(os.sep) - root.rstrip(os.sep).count(os.sep) >= _DEEPEST:
                folders.clear()
            for name in sorted(names):
                if name.startswith(prefix) and name.endswith(".jsonl"):
                    yield os.path.join(folder, name)  # noqa: PTH118 - ten thousand of them

    def _unlistable(self, error: OSError) -> None:
        self._unread(str(error.filename), error)

    def _unread(self, path: str, error: OSError) -> None:
        self.unread_files += 1
        self.notes.append(f"{_printable(path)}: {_reason(error)}")

    def _file(self, path: str) -> Iterator[T]:
        before = self._before.get(path)
        try:
            status = os.lstat(path)
            if before is not None and before.is_of(status):
                self._now[path] = before
                return
            _require_regular(path, status)  # before it is opened: of a link the system has other words
            with open_transcript(path, _BUFFER) as file:
                yield from self._read_file(path, file, before)
        except OSError as error:  # unreadable, or gone since the folder was listed
            self._unread(path, error)
            if before is not None:
                self._now.setdefault(path, before)

    def _read_file(self, path: str, file: BinaryIO, before: Cursor | None) -> Iterator[T]:
        status = os.fstat(
            file.fileno()
        )  # before the first byte: what is appended meanwhile shows as a change next time
        place = Place(path, _printable(path))
        if (
            before is not None
            and before.offset <= status.st_size
            and _marks(file, before.offset) == _cursor_row(before)
        ):
            place.offset, place.lines, place.session_id = before.offset, before.lines, before.session_id
        file.seek(place.offset)
        yield from self._lines(file, place)
        if place.damaged > _NOTES_A_FILE:
            self.notes.append(f"{place.shown}: {place.damaged - _NOTES_A_FILE} more damaged lines")
        self._now[path] = Cursor(
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            place.offset,
            place.lines,
            *_marks(file, place.offset),
            place.session_id,
        )

    def _lines(self, file: BinaryIO, place: Place) -> Iterator[T]:
        piece = min(_PIECE, self.longest_line)
        while line := file.readline(piece):
            is_whole, size, is_cut = line.endswith(b"\n"), len(line), False
            if not is_whole:
                line, is_whole, size, is_cut = _read_on(file, line, self.longest_line)
            text, line = line.strip(b" \t\r\n\0"), b""  # the line may be long: held once only
            session_id, place.lines = place.session_id, place.lines + 1
            found, text = self._read_text(text, place, is_whole=is_whole), b""
            yield from found
            if not is_whole:  # still being written: read again once it has ended
                place.lines, place.session_id = place.lines - 1, session_id
                return
            if is_cut:
                self._note_damage(
                    place, f"longer than {self.longest_line} bytes (from byte {place.offset} on), left out"
                )
            place.offset += size

    def _read_text(self, text: bytes, place: Place, *, is_whole: bool) -> Sequence[T]:
        found: Sequence[T] = ()
        if not text:
            return found
        if not (text.endswith(b"}") and text.startswith((b"{", b"\xef\xbb\xbf{"))):
            place.problem = NO_OBJECT
        elif _holds_any(text, self.form.marks):
            found = self.form.read(text, place)
        if place.problem is not None:
            if is_whole:
                self._note_damage(place, place.problem)
            place.problem = None
        return found

    def _note_damage(self, place: Place, what: str) -> None:
        self.damaged_lines += 1
        place.damaged += 1
        if place.damaged <= _NOTES_A_FILE:
            self.notes.append(f"{place.shown}:{place.lines}: {what}")


def _holds_any(text: bytes, marks: Sequence[bytes]) -> bool:
    for mark in marks:  # noqa: SIM110 - any() over a generator takes three times as long, for each line
        if mark in text:
            return True
    return False


def main(argv: Sequence[str] | None = None) -> int:
    """Run under the name that we were called by; the first argument may name the adapter instead."""
    called, *arguments = sys.argv if argv is None else argv
    name = Path(called).name
    if name not in FORMATS and arguments:
        name, *arguments = arguments
    if name not in FORMATS or len(arguments) != 1 or not arguments[0]:
        sys.stderr.write(f"usage: {' | '.join(FORMATS)} FOLDER\n")
        return _MISUSED
    state_dir = os.environ.get("STATE_DIR") or Path(tempfile.gettempdir(), f"{name}-state")
    longest = os.environ.get("LONGEST_LINE", "")
    longest_line = int(longest) if longest.isascii() and longest.isdigit() and len(longest) < 16 else LONGEST_LINE
    reading = Reading(FORMATS[name], Path(arguments[0]), Path(state_dir), longest_line=max(1, longest_line))
    try:
        for turn in reading.turns():
            sys.stdout.write(json.dumps(turn, separators=(",", ":")) + "\n")
        sys.stdout.flush()
        reading.keep()
        code = 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter's flush at exit complains
        return _MISUSED
    except TurnsFailed as failure:
        reading.notes.append(str(failure))
        code = failure.exit_code
    for note in reading.notes:
        sys.stderr.write(f"{name}: {note}\n")
    return code


def decode_leniently(text: bytes) -> Json | None:
    """Decode one line, bad UTF-8 and a byte order mark included; None for anything but an object."""
    try:
        value = json.loads(text.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def open_transcript(path: str | Path, buffering: int = -1) -> BinaryIO:
    """Open a transcript: a file of its own, no link, which may lead anywhere, and nothing that has no end.

    Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        _require_regular(path, os.fstat(descriptor))
        return open(descriptor, "rb", buffering)  # noqa: PTH123 - a descriptor
    except BaseException:
        os.close(descriptor)
        raise


def _require_regular(path: str | Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a device")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def _read_on(file: BinaryIO, part: bytes, longest: int) -> tuple[bytes, bool, int, bool]:
    """Return the line that begins so, whether its end came, its length, and whether it is too long to be kept."""
    parts, size = [part], len(part)
    while not part.endswith(b"\n") and (part := file.readline(_PIECE)):
        size += len(part)
        if size <= longest:
            parts.append(part)
        else:
            parts.clear()
    is_cut = size > longest
    return b"" if is_cut else b"".join(parts), part.endswith(b"\n"), size, is_cut


def _marks(file: BinaryIO, offset: int) -> tuple[str, str]:
    """Return digests of a file's first bytes and of those before the offset; what follows may still grow."""
    file.seek(0)
    head = file.read(min(_HEAD, offset))
    file.seek(max(0, offset - _TAIL))
    tail = file.read(min(_TAIL, offset))
    return _digest(head), _digest(tail)


def _cursor_row(cursor: Cursor) -> tuple[str, str]:
    return cursor.head, cursor.tail


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _values(cursor: Cursor) -> Iterator[object]:
    return (getattr(cursor, name) for name in Cursor.__slots__)


def _cursor(values: Sequence[object]) -> Cursor:
    *numbers, head, tail, session_id = values
    device, inode, size, mtime_ns, offset, lines = (int(str(number)) for number in numbers)
    if offset < 0 or lines < 0:
        raise ValueError(values)
    if not (isinstance(head, str) and isinstance(tail, str) and isinstance(session_id, str | None)):
        raise TypeError(values)
    return Cursor(device, inode, size, mtime_ns, offset, lines, head, tail, session_id)


def _printable(path: str) -> str:
    """Return a path as text that JSON and a database can hold, whatever its bytes are."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
