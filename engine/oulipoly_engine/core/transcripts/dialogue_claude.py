"""Read a Claude Code transcript for people. Pure.

In the file's order: branches of one conversation follow each other as they were written.
Source: transcripts of 2.1.50 to 2.1.329, seen 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from oulipoly_engine.core.transcripts.canonical import ROLES, Line
from oulipoly_engine.core.transcripts.dialogue import (
    Findings,
    Kind,
    Part,
    Turn,
    arguments_text,
    image_part,
    note_once,
    record_of,
)

_NOT_TYPED = (
    "<local-command-caveat>",
    "<local-command-stdout>",
    "<command-name>",
    "<command-message>",
    "<task-notification>",
    "<system-reminder>",
)
_NO_MODEL = "<synthetic>"  # the CLI's own words where an answer was due


def read(lines: Iterable[Line], findings: Findings) -> Iterator[Turn]:
    """Yield the turns of a transcript; what is learned on the way goes into the findings."""
    for line in lines:
        record = record_of(line)
        if record is None:
            findings.note_damage(line.number)
            continue
        cwd = record.get("cwd")
        if isinstance(cwd, str):
            note_once(findings.workspaces, cwd)
        if record.get("type") in ROLES:
            turn = _turn(record, line.number)
            findings.note(turn)
            yield turn


def _turn(record: Mapping[str, Any], line: int) -> Turn:
    message = record.get("message")
    inner = message if isinstance(message, dict) else {"content": message}
    model = inner.get("model")
    parts = tuple(_parts(inner.get("content")))
    if record.get("isCompactSummary") is True:
        parts = tuple(Part(Kind.SUMMARY, part.text) for part in parts if part.kind is Kind.TEXT)
    elif record.get("isMeta") is True:
        parts = tuple(Part(Kind.CONTEXT, part.text, part.label) for part in parts)
    at, turn_id = record.get("timestamp"), record.get("uuid")
    return Turn(
        role=str(record["type"]),
        at=at if isinstance(at, str) else "",
        parts=parts,
        turn_id=turn_id if isinstance(turn_id, str) else "",
        model=model if isinstance(model, str) and model != _NO_MODEL else None,
        line=line,
        is_sidechain=record.get("isSidechain") is True,
    )


def _parts(content: object) -> Iterator[Part]:
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, str):
            yield _text(item)
        elif isinstance(item, dict):
            yield from _block(item)


def _text(text: str) -> Part:
    return Part(Kind.CONTEXT if text.startswith(_NOT_TYPED) else Kind.TEXT, text)


def _block(block: Mapping[str, Any]) -> Iterator[Part]:
    kind = str(block.get("type", "text"))
    if kind == "text":
        yield _text(str(block.get("text") or ""))
    elif kind in ("thinking", "redacted_thinking"):
        yield Part(Kind.THINKING, str(block.get("thinking") or ""))
    elif kind.endswith("tool_use"):
        yield Part(Kind.CALL, arguments_text(block.get("input")), str(block.get("name") or "tool"))
    elif kind.endswith("tool_result"):
        yield from _result(block)
    elif kind in ("image", "document"):
        source = block.get("source")
        source = source if isinstance(source, dict) else {}
        yield image_part(source.get("media_type") or kind, source.get("data"))
    else:
        yield Part(Kind.CONTEXT, arguments_text(block), kind)


def _result(block: Mapping[str, Any]) -> Iterator[Part]:
    is_error = block.get("is_error") is True
    for part in _parts(block.get("content")):
        yield part if part.kind is Kind.IMAGE else Part(Kind.RESULT, part.text, is_error=is_error)
