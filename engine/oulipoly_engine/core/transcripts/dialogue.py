"""A session for people to read: entries of typed parts, from whichever CLI's records. Pure.

Unlike the canonical form nothing here is an oracle: lines that cannot be read are counted and left out, and what a CLI
says to itself is kept apart from what was said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum

from oulipoly_engine.core.transcripts.canonical import Chunk
from oulipoly_engine.records import Record, field, replace

_KEPT_DAMAGED = 5  # line numbers that are named


class Kind(StrEnum):
    """What a part of an entry is."""

    TEXT = "text"
    THINKING = "thinking"
    CALL = "call"  # of a tool
    RESULT = "result"  # of a tool
    IMAGE = "image"
    CONTEXT = "context"  # put in by the CLI, typed by nobody
    SUMMARY = "summary"  # of everything before: the session was compacted here


class Part(Record):
    """One piece of an entry."""

    kind: Kind
    text: str  # of an image: its size
    label: str = ""  # a tool's name, an image's media type, a context's kind
    is_error: bool = False  # of a result
    call_id: str = ""  # of a call and its result, where the CLI tells it
    command: str = ""  # of a call: what a shell was to run, with its secrets; empty: it is none, or it cannot be known
    exit_code: int | None = None  # of a command's result, where it tells one


class Entry(Record):
    """What one record of a transcript says."""

    role: str  # "user" or "assistant"
    at: str  # RFC 3339, as the CLI wrote it; may be empty
    parts: tuple[Part, ...]
    entry_id: str = ""
    model: str | None = None
    line: int = 0  # of the transcript, from 1; of a stored entry its row
    is_sidechain: bool = False
    continues: bool = False  # goes on with the answer of the entry before it


class Findings(Record, frozen=False):
    """What is learned of a session while it is read."""

    models: list[str] = field(default_factory=list)
    workspaces: list[str] = field(default_factory=list)
    first_at: str = ""
    last_at: str = ""
    forked_from: str = ""
    entries: int = 0  # those that are shown under a heading of their own
    damaged: int = 0  # lines
    damaged_lines: list[int] = field(default_factory=list)  # the first ones

    def note_damage(self, line: int) -> None:
        """Count a line that cannot be read."""
        self.damaged += 1
        if len(self.damaged_lines) < _KEPT_DAMAGED:
            self.damaged_lines.append(line)

    def note(self, entry: Entry) -> None:
        """Learn from an entry."""
        if entry.model:
            note_once(self.models, entry.model)
        if entry.at:
            self.first_at = min(self.first_at or entry.at, entry.at)
            self.last_at = max(self.last_at, entry.at)


class PartSelection(Record):
    """What of a session is shown besides what was said."""

    tools: bool = False  # what tools were given and answered; without it only that they were called
    thinking: bool = False
    context: bool = False


TALK = PartSelection()
EVERYTHING = PartSelection(tools=True, thinking=True, context=True)


def note_once(known: list[str], value: str) -> None:
    """Add a value to a short list that has it not."""
    if value not in known:
        known.append(value)


def of_chunks(role: str, at: str, chunks: Iterable[Chunk], entry_id: str = "", line: int = 0) -> Entry:
    """Return the entry that canonical content makes."""
    return Entry(role, at, tuple(_of_chunk(chunk) for chunk in chunks), entry_id, line=line)


def _of_chunk(chunk: Chunk) -> Part:
    kinds = {"text": Kind.TEXT, "thinking": Kind.THINKING, "tool_result": Kind.RESULT, "image": Kind.IMAGE}
    kind = kinds.get(chunk.type, Kind.CALL if "tool" in chunk.type else Kind.CONTEXT)
    return Part(kind, chunk.text or "", "" if kind is Kind.TEXT else chunk.type)


def select(entries: Iterable[Entry], wanted: PartSelection) -> Iterator[Entry]:
    """Yield the entries with the parts that are wanted, those without any left out, and what goes together joined."""
    speaker = ("", False)
    for entry in entries:
        parts = tuple(part for part in (_select_part(part, wanted) for part in entry.parts) if part is not None)
        if not parts:
            continue
        # A tool's result is a record of the user's, in both formats; to a reader it belongs to the answer.
        is_result = all(part.kind is Kind.RESULT for part in parts)
        now = ("assistant" if is_result else entry.role, entry.is_sidechain)
        yield replace(entry, role=now[0], parts=parts, continues=now == speaker and now[0] == "assistant")
        speaker = now


def _select_part(part: Part, wanted: PartSelection) -> Part | None:
    match part.kind:
        case Kind.TEXT:
            return part if part.text.strip() else None
        case Kind.CALL:
            return part if wanted.tools else replace(part, text="")
        case Kind.RESULT:
            return part if wanted.tools else None
        case Kind.THINKING:
            return part if wanted.thinking else None
        case Kind.CONTEXT:
            return part if wanted.context else None
        case _:
            return part


def arguments_text(value: object) -> str:
    """Write a tool's arguments for people: a line for each, texts as they are."""
    if isinstance(value, dict):
        return "\n".join(_argument(str(key), item) for key, item in value.items())
    return value if isinstance(value, str) else _json(value)


def _argument(key: str, value: object) -> str:
    if not isinstance(value, str):
        return f"{key}: {_json(value)}"
    if "\n" not in value:
        return f"{key}: {value}"
    from oulipoly_engine.core.text.redact import REDACTED, redact  # noqa: PLC0415 - 20 ms, which no row or call needs

    # The redactor knows a secret by the name before it, on the same line; `x1` stands for any value.
    is_secret = REDACTED in redact(f'{key}: "x1y2z3w4"')
    return f"{key}: {_json(value)}" if is_secret else f"{key}:\n{value}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def image_part(media_type: object, data: object) -> Part:
    """Return the part that names an image and, where its bytes are there, their size."""
    size = f"{len(data) * 3 // 4:,} bytes" if isinstance(data, str) and data else ""
    return Part(Kind.IMAGE, size, media_type if isinstance(media_type, str) else "image")
