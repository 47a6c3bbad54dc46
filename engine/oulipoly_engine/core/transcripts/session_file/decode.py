"""Read a session file of versions 0 to 3 line by line into its header and entries; older versions are migrated. Pure.

    version  header                      entries
    0        none                        messages, bare or in an object
    1        none, or without a version  have no parents, and pi's no ids either: each follows on the one before
    2        with "version": 2           {id, parent_id, message, timestamp in ms, metadata}; pi's are as version 3
    3        with "version": 3           pi's words: {type, id, parentId, timestamp, ...}

A line that is no object is a problem and no entry; all others are entries, whatever they hold. Lines end at LF alone:
pi writes U+2028 and U+0085 raw within them. Ids that are missing come from session and line, so that each reading of a
file, and its migration, gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.json_values import count_of, text_of
from oulipoly_engine.core.transcripts.canonical import Line, LongLine, chunks, parse_json, scan
from oulipoly_engine.core.transcripts.session_file import entry as kinds
from oulipoly_engine.core.transcripts.session_file.entry import Header, SessionEntry
from oulipoly_engine.core.transcripts.session_file.words import OURS, translate
from oulipoly_engine.core.transcripts.turn_script import EntryRefused, LineError, instant
from oulipoly_engine.errors import StorageUnsupported
from oulipoly_engine.records import Record

CURRENT = 2  # the version that we write
NEWEST = 3  # that we read
UNKNOWN = "unknown"  # the kind of an entry that tells none
_HEADER = "session"
_MOST_PROBLEMS = 1000  # that are told; further ones are counted
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SessionFile(Record):
    """What a session file holds."""

    header: Header  # its version is the file's; its id empty where no line tells any
    entries: tuple[SessionEntry, ...]  # in the order of the file
    problems: tuple[LineError, ...]  # the first 1000
    problem_count: int
    is_usable: bool  # False: the file has no usable header, and is never to be written
    is_nameless: bool = False  # all that its header lacks is an id


class SessionFileReader:
    """Yields a session file's entries one at a time; what else there is to know is told by its fields."""

    def __init__(self, raw_lines: Iterable[bytes | LongLine], session_id: str = "", modified_at: str = "") -> None:
        """Read up to the first object. Raises StorageUnsupported for a newer version.

        raw_lines: as `scan` takes them. session_id: of a file whose lines tell none. modified_at: the instant of
        entries that tell none, in the one fixed form.
        """
        self.header = Header(session_id, CURRENT)
        self.is_usable = True
        self.is_nameless = False
        self.problems: list[LineError] = []
        self.problem_count = 0
        self._session_id = session_id
        self._modified_at = modified_at
        self._is_cut_off = False
        self._has_header = False
        self._ids: list[str | None] = []  # of the objects so far, the header's None; only while versions are old
        self._previous_id: str | None = None
        self._objects = self._parse(scan(self._watch_ends(raw_lines)))
        self._first = next(self._objects, None)
        if self._first is None:
            self.is_usable = False
            return
        number, record = self._first
        if record.get("type") == _HEADER:
            self._read_header(record, number)
            self._first = None
        else:
            self._guess_version(record, number)

    def __iter__(self) -> Iterator[SessionEntry]:
        """Yield the entries. Raises StorageUnsupported where a header of a newer version comes late."""
        if self._first is not None:
            yield self._entry(*self._first)
        for number, record in self._objects:
            if record.get("type") != _HEADER:
                yield self._entry(number, record)
            elif self._has_header:
                self._note(number, "it is a second header")
            else:
                self._note(number, "the header is not the first line")
                self._read_header(record, number)
                self.is_usable = False
                self.is_nameless = False

    def _watch_ends(self, raw_lines: Iterable[bytes | LongLine]) -> Iterator[bytes | LongLine]:
        for raw in raw_lines:
            self._is_cut_off = isinstance(raw, bytes) and not raw.endswith(b"\n")
            yield raw

    def _parse(self, lines: Iterable[Line]) -> Iterator[tuple[int, dict[str, Any]]]:
        for line in lines:
            if line.too_long is not None:
                self._note(line.number, "it is longer than transcript_line_limit_mb of config.toml allows")
                continue
            text = line.data.decode("utf-8", "replace")
            try:
                record = parse_json(text)
            except (ValueError, RecursionError):
                self._note(line.number, "it is cut off" if self._is_cut_off else "it is not JSON")
                continue
            if not isinstance(record, dict):
                self._note(line.number, "it is not a JSON object")
                continue
            if "\ufffd" in text and text.encode() != line.data:
                self._note(line.number, "it holds bytes that are not UTF-8")
            yield line.number, record

    def _note(self, number: int, text: str) -> None:
        self.problem_count += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(LineError(number, text))

    def _read_header(self, record: dict[str, Any], number: int) -> None:
        self._has_header = True
        self._ids.append(None)
        version = _version_of(record.get("version", 1))
        if version is None:
            self._note(number, "the header's version is not a number")
        elif version > NEWEST:
            raise StorageUnsupported(
                f"the session file is of version {version}, and this release reads versions up to {NEWEST} and writes "
                f"version {CURRENT}: update, or leave it to the program that wrote it; nothing was changed"
            )
        elif not isinstance(record.get("version", 1), int):
            self._note(number, "the header's version is a text")
        header_id = text_of(record.get("id"))
        if not header_id:
            self._note(number, "the header has no id")
        self.is_usable = bool(header_id) and version is not None
        self.is_nameless = not header_id and version is not None
        self._session_id = header_id or self._session_id
        known = ("type", "version", "id", "created_at", "timestamp", "cwd", "parent_session", "parentSession")
        self.header = Header(
            id=header_id,
            version=NEWEST if version is None else version,
            created_at=_instant(record.get("created_at", record.get("timestamp"))),
            cwd=text_of(record.get("cwd")),
            parent_session=text_of(record.get("parent_session", record.get("parentSession"))) or None,
            extra={key: value for key, value in record.items() if key not in known},
        )

    def _guess_version(self, record: dict[str, Any], number: int) -> None:
        if "parentId" in record or "parent_id" in record:
            version = NEWEST if "parentId" in record else CURRENT
            self._note(number, "it is not the header")
            self.is_usable = False
        else:
            version = 1 if "id" in record else 0
        self.header = Header(self._session_id, version)

    def _entry(self, number: int, line: dict[str, Any]) -> SessionEntry:
        if self.header.version == 0 and "message" not in line and "type" not in line and "role" in line:
            line = {"message": line, "timestamp": line.get("timestamp")}
        record = translate(line, OURS)
        entry_id = _id_of(record.get("id"))
        if entry_id is None:
            entry_id = _make_id(self._session_id, number)
            if self.header.version >= CURRENT:
                self._note(number, "it has no id")
        if self.header.version < CURRENT:
            self._migrate(record, entry_id)
        self._previous_id = entry_id
        return _build(record, entry_id, number, self._modified_at)

    def _migrate(self, record: dict[str, Any], entry_id: str) -> None:
        """Bring an entry of version 0 or 1 to version 2: with a parent, and by its id what a compaction keeps."""
        if "parent_id" not in record:
            record["parent_id"] = self._previous_id
        self._ids.append(entry_id)
        kept_index = record.pop("first_kept_entry_index", None)
        if isinstance(kept_index, int) and 0 <= kept_index < len(self._ids):
            record["first_kept_entry_id"] = self._ids[kept_index]


def decode(raw_lines: Iterable[bytes | LongLine], session_id: str = "", modified_at: str = "") -> SessionFile:
    """Return all that a session file holds; arguments and errors as of `SessionFileReader`."""
    return read_file(SessionFileReader(raw_lines, session_id, modified_at))


def read_file(
    reader: SessionFileReader, outline: Callable[[SessionEntry], SessionEntry] = lambda entry: entry
) -> SessionFile:
    """Return all that a reader has to tell, from where it stands to its end. outline: what is kept of each entry."""
    entries = tuple(map(outline, reader))
    return SessionFile(
        reader.header, entries, tuple(reader.problems), reader.problem_count, reader.is_usable, reader.is_nameless
    )


def _build(record: dict[str, Any], entry_id: str, number: int, modified_at: str) -> SessionEntry:
    message = record.get("message")
    kind = record.get("kind", UNKNOWN if message is None else kinds.MESSAGE)
    if not isinstance(message, dict):
        message = {"content": message}
    kind = kind if isinstance(kind, str) else UNKNOWN
    reference = kinds.REFERENCES.get(kind)
    usage = message.get("usage")
    content = message.get("content")
    return SessionEntry(
        id=entry_id,
        parent_id=_id_of(record.get("parent_id")),
        kind=kind,
        role=text_of(message.get("role")),
        at=_instant(record.get("timestamp")) or _instant(message.get("timestamp")) or modified_at,
        text=_message_text(message) if kind == kinds.MESSAGE else _text(kind, record),
        refers_to=None if reference is None else _id_of(record.get(reference)),
        is_left_out=message.get("exclude_from_context") is True,
        tool_calls=sum(_is_call(block) for block in content) if isinstance(content, list) else 0,
        tokens=_count_tokens(usage) if isinstance(usage, dict) else 0,
        line=number,
        record=record,
    )


def _message_text(message: dict[str, Any]) -> str:
    if "command" in message:  # what a user has run
        return f"{text_of(message['command'])}\n{text_of(message.get('output'))}"
    return _content_text(message.get("content"))


def _content_text(content: object) -> str:
    return "\n".join(chunk.text for chunk in chunks(content) if chunk.text is not None)


def _text(kind: str, record: dict[str, Any]) -> str:
    if kind == kinds.MODEL_CHANGE:
        return "/".join(filter(None, (text_of(record.get("provider")), text_of(record.get("model_id")))))
    if kind in kinds.TEXTS:
        return text_of(record.get(kinds.TEXTS[kind]))
    return _content_text(record.get("content"))


def _is_call(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_call"


def _count_tokens(usage: dict[str, Any]) -> int:
    parts = ("input", "output", "cache_read", "cache_write")
    return count_of(usage.get("total")) or sum(count_of(usage.get(part)) for part in parts)


def _version_of(value: object) -> int | None:
    """Return a header's version; a text of digits counts, as pi takes it. None: it is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:9])
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= 0 else None


def _id_of(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_of(value) or None


def _make_id(session_id: str, number: int) -> str:
    import uuid  # noqa: PLC0415 - 2 ms, and most files have ids

    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}:{number}".encode(errors="replace").decode()))


def _instant(value: object) -> str:
    """Return an instant in the one fixed form. value: RFC 3339, or milliseconds; anything else gives an empty text."""
    try:
        if isinstance(value, str):
            return instant(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return instant(to_text(_EPOCH + timedelta(milliseconds=value)))
    except (EntryRefused, OverflowError, ValueError):
        pass
    return ""
