"""What stands in a line of Claude Code's transcripts, and what it says: a row, a canonical record, an entry. Pure.

In the file's order; the order of timestamps is not looked at: every `/compact` writes user records 40 to 100 ms older
than the summary before them, so a transcript is in order when its parent chain is. The calls that lines tell of are
found by `core.ledger.claude`. Source: 2.0.14 to 2.1.329, seen 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.transcripts import turn_script
from oulipoly_engine.core.transcripts.canonical import (
    ROLES,
    CanonicalRecord,
    Chunk,
    Origin,
    chunks,
    instant,
    refuse,
    source_of,
)
from oulipoly_engine.core.transcripts.canonical import Line as RawLine
from oulipoly_engine.core.transcripts.dialogue import (
    Entry,
    Findings,
    Kind,
    Part,
    arguments_text,
    image_part,
    note_once,
)
from oulipoly_engine.core.transcripts.line_decoder import ABSENT, UNFIT, Content, Count, LineDecoder, body_of, plain
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.records import replace

SHELL = "Bash"  # its tool that runs a command
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,10})\b")
NO_MODEL = "<synthetic>"  # the CLI's own words where an answer was due: no API call
INTERRUPTED = "[Request interrupted"  # begins what it writes in the user's name when a turn is broken off
NOT_TYPED = (
    "<local-command-caveat>",
    "<local-command-stdout>",
    "<command-name>",
    "<command-message>",
    "<task-notification>",
    "<system-reminder>",
)


class CacheWrite(msgspec.Struct, gc=False):
    """What was written to caches, by lifetime."""

    ephemeral_1h_input_tokens: Count = 0


class Usage(msgspec.Struct, gc=False):
    """The tokens of one API call."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_creation_input_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    cache_creation: CacheWrite | None = None


class Message(msgspec.Struct, gc=False):
    """A message as the vendor's API has it."""

    id: str | None = None
    model: str | None = None
    content: Content = ABSENT
    usage: Usage | None = None


class Mirrored(msgspec.Struct, gc=False):
    """A sub-agent's record that a progress record repeats."""

    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    message: Message | str | None = None


class Progress(msgspec.Struct, gc=False):
    """What a progress record tells."""

    type: str | None = None
    message: Mirrored | None = None


class Line(msgspec.Struct, gc=False, rename="camel"):
    """One line."""

    type: str | None = None
    message: Message | str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    parent_uuid: str | None = None
    cwd: str | None = None
    is_sidechain: bool | None = None
    is_compact_summary: bool | None = None
    is_meta: bool | None = None
    content: Content = ABSENT
    compact_metadata: Any = None  # of the record before a compaction's summary
    data: Progress | None = None


DECODER = LineDecoder(Line)


def entry_line(line: Line, file: str, kept: Sequence[str] | None = None) -> EntryLine | None:
    """Return the row that one record is; None for records of other kinds, and for those that lack what a row needs.

    Tool results are records of type `user` and count as user entries. An API call may have written several records.
    kept: what a compaction keeps, as the record before it tells. Raises EntryRefused.
    """
    kind, is_boundary = line.type, line.is_compact_summary is True
    if kind not in ROLES and not is_boundary:
        return None
    if not (line.uuid and line.timestamp and line.session_id):
        return None
    message = line.message
    inner = message.content if isinstance(message, Message) else message
    return EntryLine(
        turn_script.session_id(line.session_id),
        turn_script.storable("turn_id", line.uuid),
        turn_script.instant(line.timestamp),
        turn_script.storable("role", kind or "user"),
        turn_script.storable("parent_turn_id", line.parent_uuid) if line.parent_uuid else None,
        line.is_sidechain is True,
        is_boundary,
        body_of(inner, kept) or body_of(line.content, kept),
        file,
    )


def find_missing_texts(line: Line) -> tuple[str, ...]:
    """Return which of the texts that a message needs to be a row it does not have."""
    if line.type not in ROLES:
        return ()
    needed = {"uuid": line.uuid, "timestamp": line.timestamp, "sessionId": line.session_id}
    return tuple(name for name, text in needed.items() if not text)


def canonical_records(lines: Iterable[RawLine], origin: Origin) -> Iterator[CanonicalRecord]:
    """Yield the records of a transcript.

    Records of any type but user and assistant are placeholders. Left out are lines without a session or a type, and
    the CLI's notes to itself, which have no uuid (queue-operation, last-prompt, mode and the like: every transcript of
    2.1.197 and later holds some).
    Raises TranscriptMalformed, naming the line.
    """
    for raw in lines:
        record = _canonical(DECODER.strictly(raw, origin), raw, origin)
        if record is not None:
            yield record


def _canonical(line: Line, raw: RawLine, origin: Origin) -> CanonicalRecord | None:
    session, kind, entry_id = line.session_id, line.type, line.uuid
    if session is None:
        return None
    if not isinstance(session, str) or session.lower() != origin.session_id:
        refuse(origin, raw, f"it belongs to another session, {str(session)[:60]!r} (a fork's copied part, perhaps)")
    if kind is None:
        return None
    if not isinstance(kind, str):
        refuse(origin, raw, f"its type {kind!r} is not text")
    is_entry = kind in ROLES
    if entry_id is None and not is_entry:
        return None
    if not isinstance(entry_id, str) or not entry_id:
        refuse(origin, raw, "it has no uuid")
    instant(line.timestamp, raw, origin)
    return CanonicalRecord(
        session_id=origin.session_id,
        account=origin.account,
        entry_id=entry_id,
        role=kind,
        timestamp=line.timestamp or "",
        content=_canonical_content(line) if is_entry else (),
        source=source_of(raw, origin, StorageType.CLAUDE_CODE.value),
        is_unsupported=not is_entry,
        restarts=line.is_compact_summary is True,
    )


def _canonical_content(line: Line) -> tuple[Chunk, ...]:
    """Return the first content that is not empty: the message if it is a text, its content, the record's content."""
    message = line.message
    inner = message.content if isinstance(message, Message) else message if isinstance(message, str) else None
    return next((found for found in (chunks(plain(place)) for place in (inner, line.content)) if found), ())


def dialogue(lines: Iterable[RawLine], findings: Findings) -> Iterator[Entry]:
    """Yield the entries of a transcript for people; what is learned on the way goes into the findings."""
    for raw in lines:
        line = DECODER.leniently(raw.data)
        if line is None:
            findings.note_damage(raw.number)
            continue
        if line.cwd is not None:
            note_once(findings.workspaces, line.cwd)
        if line.type in ROLES:
            try:
                entry = _entry(line, raw.number)
            except UNFIT:
                findings.note_damage(raw.number)
                continue
            findings.note(entry)
            yield entry


def _entry(line: Line, number: int) -> Entry:
    message = line.message
    inner = message.content if isinstance(message, Message) else message
    model = message.model if isinstance(message, Message) else None
    parts = tuple(_parts(plain(inner)))
    if line.is_compact_summary is True:
        parts = tuple(Part(Kind.SUMMARY, part.text) for part in parts if part.kind is Kind.TEXT)
    elif line.is_meta is True:
        parts = tuple(Part(Kind.CONTEXT, part.text, part.label) for part in parts)
    return Entry(
        role=str(line.type),
        at=line.timestamp or "",
        parts=parts,
        entry_id=line.uuid or "",
        model=None if model == NO_MODEL else model,
        line=number,
        is_sidechain=line.is_sidechain is True,
    )


def _parts(content: object) -> Iterator[Part]:
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, str):
            yield _text(item)
        elif isinstance(item, dict):
            yield from _block(item)


def _text(text: str) -> Part:
    return Part(Kind.CONTEXT if text.startswith(NOT_TYPED) else Kind.TEXT, text)


def _block(block: Mapping[str, Any]) -> Iterator[Part]:
    kind = str(block.get("type", "text"))
    if kind == "text":
        yield _text(str(block.get("text") or ""))
    elif kind in ("thinking", "redacted_thinking"):
        yield Part(Kind.THINKING, str(block.get("thinking") or ""))
    elif kind.endswith("tool_use"):
        yield _call(block)
    elif kind.endswith("tool_result"):
        yield from _result(block)
    elif kind in ("image", "document"):
        source = block.get("source")
        source = source if isinstance(source, dict) else {}
        yield image_part(source.get("media_type") or kind, source.get("data"))
    else:
        yield Part(Kind.CONTEXT, arguments_text(block), kind)


def _call(block: Mapping[str, Any]) -> Part:
    tool = str(block.get("name") or "tool")
    arguments = block.get("input")
    command = arguments.get("command") if isinstance(arguments, dict) else None
    part = Part(Kind.CALL, arguments_text(arguments), tool, call_id=str(block.get("id") or ""))
    if tool == SHELL and isinstance(command, str):
        return replace(part, command=command)
    return part


def _result(block: Mapping[str, Any]) -> Iterator[Part]:
    is_error = block.get("is_error") is True
    call_id = str(block.get("tool_use_id") or "")
    for part in _parts(block.get("content")):
        code = read_exit_code(part.text) if is_error else None
        result = Part(Kind.RESULT, part.text, is_error=is_error, call_id=call_id, exit_code=code)
        yield part if part.kind is Kind.IMAGE else result


def read_exit_code(text: str) -> int | None:
    """Return the exit code that the result of a command which failed begins with; None: it tells none."""
    code = _EXIT_CODE.match(text)
    return int(code[1]) if code else None
