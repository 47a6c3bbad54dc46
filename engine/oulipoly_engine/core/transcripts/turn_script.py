"""The turn-script contract: one JSON object a line becomes one entry, or an error that names the line. Pure.

Scripts print them, and the bundled adapters give the same objects in process (contract, sections 4.1 to 4.3).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.accounts.session_ids import describe_bad_id, is_session_id
from oulipoly_engine.records import Record, replace

LIVE_IDS = "live/"  # begins the ids of entries that live sessions and one-shots make; no CLI's own id begins so
MESSAGE = "message"  # kinds of entries, as the next one
COMPACTION = "compaction"
BRANCH_SUMMARY = "branch_summary"  # of what a person has left when they went back
CUSTOM_MESSAGE = "custom_message"
SPEAKING = frozenset({MESSAGE, CUSTOM_MESSAGE, BRANCH_SUMMARY})  # kinds that a turn sends, besides a compaction
SAID = SPEAKING | {COMPACTION}  # kinds that a tree shows with every filter
SESSION_INFO = "session_info"  # the session's name
MODEL_CHANGE = "model_change"
THINKING_LEVEL_CHANGE = "thinking_level_change"
CHANGES = (MODEL_CHANGE, THINKING_LEVEL_CHANGE, SESSION_INFO)  # what our own entries of live sessions note
OWN_KINDS = (*CHANGES, BRANCH_SUMMARY)
NO_PARENT = ""  # the parent of an entry that begins a line for certain, in a file that holds them all
_SHOWN = 80  # characters of a foreign value in a message
_EARLIEST_YEAR = 1900  # before it the fixed form of instants has fewer digits and would not compare as text


class EntryLine(Record):
    """One entry as a script told it, checked."""

    session_id: str
    entry_id: str
    timestamp: str  # RFC 3339 in the one fixed form
    role: str  # user, assistant
    parent_entry_id: str | None = None
    is_sidechain: bool = False
    is_compaction_boundary: bool = False
    body: str | None = (
        None  # JSON list of objects with `type` and perhaps `text`; None: told none, or none that is valid
    )
    source_file: str | None = None  # the transcript, where the script names it
    turn_id: str | None = None  # ours, of what was heard live: of a live session's turn, or the run's
    native_id: str | None = None  # the CLI's own id of the item, of the same
    other_kind: str = ""  # what it is, of a session file's entry

    @property
    def kind(self) -> str:
        """Return what it is in the tree."""
        return kind_of(self.other_kind or MESSAGE, is_compaction_boundary=self.is_compaction_boundary)


def kind_of(kind: str, *, is_compaction_boundary: bool) -> str:
    """Return what an entry is. kind: as it is stored, which hosts of earlier releases know nothing of."""
    return COMPACTION if is_compaction_boundary else kind


def hang_lines(lines: Iterable[EntryLine], parent_id: str | None) -> list[EntryLine]:
    """Return entries each of which follows on the one before it. parent_id: of the first one."""
    hung: list[EntryLine] = []
    for line in lines:
        hung.append(replace(line, parent_entry_id=hung[-1].entry_id if hung else parent_id))
    return hung


class LineError(Record):
    """What is wrong with one line."""

    line: int  # from 1; 0: not about a line
    text: str
    file: str | None = None  # the transcript that the line stands in; None: it is the script's output

    @property
    def sentence(self) -> str:
        """Return where it stands and what it is."""
        if self.file is not None:
            return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"
        return f"line {self.line}: {self.text}" if self.line else self.text


class BodyChunk(msgspec.Struct, gc=False, omit_defaults=True):
    """A chunk of a body."""

    type: str
    text: str | None = None  # None: it carries no text, and only its type is kept
    first_kept: str | None = None  # of a summary of ours: the first entry that it does not hide
    kept: Sequence[str] | None = None  # of a CLI's: the entries before it that are still sent, or whose


Told = tuple[EntryLine | None, LineError | None]  # an entry, why there is none, or an entry without its body and why

_PLAIN = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_encode = msgspec.json.Encoder().encode  # writes texts as `json` does, and sooner


class EntryRefused(Exception):
    """What was told is not an entry."""


def parse_line(raw: bytes, number: int) -> Told:
    """Read one line of a turn script: an entry, an error, or an entry without its body and the error of the body."""
    try:
        record = json.loads(raw.decode("utf-8", "replace"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None, LineError(number, f"the line is not JSON: {_format_value(raw.decode('utf-8', 'replace'))}")
    if not isinstance(record, dict):
        return None, LineError(number, f"the line is not a JSON object: {_format_value(record)}")
    return parse_record(record, number)


def parse_record(record: Mapping[str, object], number: int) -> Told:
    """Check one object as `parse_line` does."""
    try:
        body, problem = _body(record.get("body"))
        entry = EntryLine(
            session_id=session_id(_text(record, "session_id")),
            entry_id=_text(record, "turn_id"),
            timestamp=instant(_text(record, "timestamp")),
            role=_text(record, "role"),
            parent_entry_id=_text(record, "parent_turn_id") if record.get("parent_turn_id") is not None else None,
            is_sidechain=_flag(record, "is_sidechain"),
            is_compaction_boundary=_flag(record, "is_compaction_boundary"),
            body=body,
            source_file=_text(record, "source_file") if isinstance(record.get("source_file"), str) else None,
        )
    except EntryRefused as refused:
        return None, LineError(number, str(refused))
    except RecursionError:
        return None, LineError(number, "`body` is nested too deeply")
    return entry, None if problem is None else LineError(number, f"turn {_format_value(entry.entry_id)}: {problem}")


def _text(record: Mapping[str, object], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value:
        raise EntryRefused(f"`{key}` must be a text that is not empty, not {_format_value(value)}")
    return storable(key, value)


def _flag(record: Mapping[str, object], key: str) -> bool:
    value = record.get(key)
    if value is None or isinstance(value, bool):
        return value is True
    raise EntryRefused(f"`{key}` must be true or false, not {_format_value(value)}")


def _read_instant(text: str) -> datetime | None:
    try:
        return from_text(text)
    except (ValueError, OverflowError):
        return None


def instant(text: str) -> str:
    """Return an instant in the one fixed form. Raises EntryRefused for what is none, or too early."""
    at = _read_instant(text)
    if at is None or at.year < _EARLIEST_YEAR:
        raise EntryRefused(f"`timestamp` must be RFC 3339 with a zone, not {_format_value(text)}")
    # Most are `2026-11-20T12:00:00.000Z`: rendering them anew would cost more than all the rest of an entry's check.
    is_fixed = len(text) == 24 and text[4] == text[7] == "-" and text[10] == "T" and text[19] == "." and text[23] == "Z"
    return f"{text[:23]}000Z" if is_fixed else to_text(at)


def is_instant(text: str) -> bool:
    """Tell whether an instant is one that is stored."""
    try:
        return instant(text) == text
    except EntryRefused:
        return False


def _body(value: object) -> tuple[str | None, str | None]:
    """Return a body as it is stored, and what is wrong with it if it cannot be."""
    if value is None:
        return None, None
    if not isinstance(value, list):
        return None, f"its `body` is not a list, so it is kept without: {_format_value(value)}"
    for place, chunk in enumerate(value):
        if not isinstance(chunk, dict):
            return None, f"`body[{place}]` is not an object, so it is kept without its body: {_format_value(chunk)}"
        if not isinstance(chunk.get("type"), str):
            return (
                None,
                f"`body[{place}].type` is not text, so it is kept without its body: {_format_value(chunk.get('type'))}",
            )
        if "text" in chunk and not isinstance(chunk["text"], str):
            return (
                None,
                f"`body[{place}].text` is not text, so it is kept without its body: {_format_value(chunk['text'])}",
            )
    stored = _PLAIN.encode(value)
    return stored if _is_storable(stored) else _encode_escaped(value), None


def storable(name: str, text: str) -> str:
    """Return a text that the state file can hold. Raises EntryRefused for half a character."""
    if not text.isascii() and not _is_storable(text):
        raise EntryRefused(f"`{name}` holds half a character: {_format_value(text)}")
    return text


def session_id(text: str) -> str:
    """Return the id of a CLI's session. Raises EntryRefused for one that no CLI can have made."""
    if not is_session_id(text):
        raise EntryRefused(f"`session_id`: {describe_bad_id(text)}")
    return text


def encode_body(chunks: Sequence[BodyChunk]) -> str | None:
    """Return chunks as a body is stored, None for none."""
    if not chunks:
        return None
    try:
        return _encode(chunks).decode()
    except UnicodeEncodeError:
        return _encode_escaped([msgspec.to_builtins(chunk) for chunk in chunks])


def _encode_escaped(value: object) -> str:
    """Return a body with escapes: half a surrogate pair can be written in JSON, but not stored."""
    return json.dumps(value, separators=(",", ":"))


def _is_storable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _format_value(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
