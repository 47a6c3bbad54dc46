"""Canonical records: our form of one entry, the same for every CLI, and the one way they are written. Pure.

What `render` gives is the oracle of a later replacement: sha256 over these very bytes decides whether a transcript is
still the one that was edited. So the order of keys, the spacing and the escapes are fixed, and golden bytes guard them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NoReturn

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.text.control_characters import escape_json
from oulipoly_engine.errors import TranscriptMalformed
from oulipoly_engine.records import Record

STATE_DB = "state_db"  # storage_type of a record that was read from our own rows
ROLES = ("user", "assistant")
_BOM = b"\xef\xbb\xbf"
TEXT = "text"
TEXT_TYPES = ("input_text", "output_text")  # Codex's names for what is plain text
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)


class Chunk(Record):
    """One piece of an entry's content."""

    type: str
    text: str | None  # None: the CLI keeps something here that is not text (a tool's input, an image)


class Source(Record):
    """Where a record comes from."""

    storage_type: str  # claude_code, codex_session or state_db
    jsonl_path: str
    line: int  # from 1; blank lines count
    byte_start: int
    byte_end: int  # just behind the last byte; neither LF nor the CR before it is inside
    sha256: str  # of those bytes


class CanonicalRecord(Record):
    """One entry, or the placeholder of a record that is none."""

    session_id: str
    account: str
    entry_id: str
    role: str  # of a placeholder: the record's own type
    timestamp: str  # RFC 3339, exactly as the CLI wrote it
    content: tuple[Chunk, ...]
    source: Source
    is_unsupported: bool = False
    restarts: bool = False  # a compaction summary: what came before is left out; no line says it, so it is not compared

    def __eq__(self, other: object) -> bool:
        """Return whether both render to the same line."""
        return isinstance(other, CanonicalRecord) and self._line() == other._line()

    def __hash__(self) -> int:
        """Return the hash of what is compared."""
        return hash(self._line())

    def _line(self) -> tuple[object, ...]:
        return (
            self.session_id,
            self.account,
            self.entry_id,
            self.role,
            self.timestamp,
            self.content,
            self.source,
            self.is_unsupported,
        )


class Origin(Record):
    """The transcript that is read."""

    session_id: str
    account: str
    path: str


class LongLine(Record):
    """In place of a line that is longer than may be read: it is damaged, and none of it is in memory."""

    size_bytes: int  # with its LF

    def __len__(self) -> int:
        """Return how long the line is, as of one that was read."""
        return self.size_bytes


class Line(Record):
    """One line of a transcript that is not blank."""

    number: int  # from 1
    start: int  # byte offset of its first byte
    data: bytes  # without LF, without one CR before it; empty: it is too long
    too_long: LongLine | None = None

    @property
    def end(self) -> int:
        """Return the offset just behind the last byte."""
        return self.start + len(self.data)


def scan(raw_lines: Iterable[bytes | LongLine]) -> Iterator[Line]:
    """Yield the lines that are not blank.

    raw_lines: what a binary file yields, each with its LF; only the last may lack one. A byte order mark at the very
    beginning belongs to no line.
    """
    offset = 0
    for number, raw in enumerate(raw_lines, 1):
        if isinstance(raw, LongLine):
            yield Line(number, offset, b"", raw)
            offset += raw.size_bytes
            continue
        data = raw.removesuffix(b"\n").removesuffix(b"\r")
        mark = len(_BOM) if number == 1 and data.startswith(_BOM) else 0
        if data[mark:].strip():
            yield Line(number, offset + mark, data[mark:])
        offset += len(raw)


def render(record: CanonicalRecord) -> bytes:
    """Write a record as one line of compact JSON with its LF, UTF-8.

    Letters of every script stay as they are. A lone surrogate, which UTF-8 cannot carry, and what a terminal obeys or
    nobody sees become their JSON escapes.
    """
    source = record.source
    document = {
        "session_id": record.session_id,
        "provider_name": record.account,
        "turn_id": record.entry_id,
        "role": record.role,
        "timestamp": record.timestamp,
        "content": [{"type": chunk.type, "text": chunk.text} for chunk in record.content],
        "source": {
            "storage_type": source.storage_type,
            "jsonl_path": source.jsonl_path,
            "line": source.line,
            "byte_start": source.byte_start,
            "byte_end": source.byte_end,
            "sha256": source.sha256,
        },
        "unsupported_record": record.is_unsupported,
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return escape_json(text).encode("utf-8") + b"\n"


def chunks(value: object) -> tuple[Chunk, ...]:
    """Read a message's content: a text, an object, or a list of both. Anything else, and an empty text, gives none.

    A chunk that carries no text keeps its type with None, so that a tool's call survives an export.
    """
    if isinstance(value, str):
        return (Chunk(TEXT, value),) if value else ()
    items = value if isinstance(value, list) else [value]
    return tuple(chunk for chunk in map(_chunk, items) if chunk is not None)


def _chunk(item: object) -> Chunk | None:
    if isinstance(item, str):
        return Chunk(TEXT, item)
    if not isinstance(item, dict):
        return None
    kind = item.get("type")
    texts = (item.get("text"), item.get("content"))
    text = next((text for text in texts if isinstance(text, str)), None)
    return Chunk(TEXT if not isinstance(kind, str) or kind in TEXT_TYPES else kind, text)


def read_stored_chunks(body: str) -> tuple[Chunk, ...]:
    """Read a body as the state file keeps it: a JSON list of `{"type", "text"}`.

    Raises ValueError when it is anything else.
    """
    value = parse_json(body)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("it is not a list of content chunks")
    return chunks(value)


def parse_line(line: Line, origin: Origin) -> dict[str, Any]:
    """Return the JSON object of a line.

    Raises TranscriptMalformed for bytes that are not UTF-8, for text that is not JSON, for another kind of value, and
    for a line that is too long.
    """
    if line.too_long is not None:
        refuse(origin, line, describe_length(line.start, line.too_long))
    try:
        value = parse_json(line.data.decode("utf-8"))
    except UnicodeDecodeError as error:
        refuse(origin, line, f"byte {line.start + error.start} is not UTF-8")
    except (ValueError, RecursionError) as error:
        refuse(origin, line, f"it is not JSON ({error})")
    if not isinstance(value, dict):
        refuse(origin, line, "it is not a JSON object")
    return value


def parse_json(text: str) -> Any:  # noqa: ANN401 - JSON
    """Read JSON. Raises ValueError, also for what Python's reader takes and others do not, and RecursionError."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is not a JSON value"  # Python's reader takes it, every other one chokes on our output
    raise ValueError(message)


def refuse(origin: Origin, line: Line, problem: str) -> NoReturn:
    """Raise TranscriptMalformed for a line."""
    message = (
        f"{origin.path}, line {line.number}: {problem}; correct or remove that line, or wait if the CLI is writing"
    )
    raise TranscriptMalformed(message, line=line.number)


def describe_length(start: int, line: LongLine) -> str:
    """Say that a line is too long, and where the limit stands. start: the offset of its first byte."""
    return (
        f"from byte {start} on it has {line.size_bytes} bytes, more than transcript_line_limit_mb of config.toml allows"
    )


def instant(value: object, line: Line, origin: Origin) -> datetime:
    """Return a record's timestamp.

    Raises TranscriptMalformed unless it is an RFC 3339 text.
    """
    if not isinstance(value, str):
        refuse(origin, line, "it has no timestamp" if value is None else f"its timestamp {value!r} is not text")
    try:
        if not _RFC_3339.fullmatch(value):
            refuse(origin, line, f"its timestamp {value[:60]!r} is not RFC 3339")
        from_text(value.upper())  # refuses what is not an instant in UTC, or in some zone
        return datetime.fromisoformat(value.upper())
    except ValueError:
        refuse(origin, line, f"its timestamp {value[:60]!r} names no instant")


def source_of(line: Line, origin: Origin, storage_type: str) -> Source:
    """Return where a line's record comes from."""
    import hashlib  # noqa: PLC0415 - 3 ms, and a list of sessions makes no record

    return Source(storage_type, origin.path, line.number, line.start, line.end, hashlib.sha256(line.data).hexdigest())
