"""Read a Claude Code transcript into canonical records, in the file's order. Pure.

The order of timestamps is not looked at: every `/compact` writes user records 40 to 100 ms older than the summary
before them (2.1.50 to 2.1.329), so a transcript is in order when its parent chain is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.transcripts.canonical import (
    ROLES,
    CanonicalRecord,
    Chunk,
    Line,
    Origin,
    chunks,
    instant,
    parse_line,
    refuse,
    source_of,
)


def read(lines: Iterable[Line], origin: Origin) -> Iterator[CanonicalRecord]:
    """Yield the records of a transcript.

    Records of any type but user and assistant are placeholders. Left out are lines without a session or a type, and
    the CLI's notes to itself, which have no uuid (queue-operation, last-prompt, mode and the like: every transcript of
    2.1.197 and later holds some).
    Raises TranscriptMalformed, naming the line.
    """
    for line in lines:
        record = _record(parse_line(line, origin), line, origin)
        if record is not None:
            yield record


def _record(data: Mapping[str, Any], line: Line, origin: Origin) -> CanonicalRecord | None:
    session, kind, turn_id = data.get("sessionId"), data.get("type"), data.get("uuid")
    if session is None:
        return None
    if not isinstance(session, str) or session.lower() != origin.session_id:
        refuse(origin, line, f"it belongs to another session, {str(session)[:60]!r} (a fork's copied part, perhaps)")
    if kind is None:
        return None
    if not isinstance(kind, str):
        refuse(origin, line, f"its type {kind!r} is no text")
    is_turn = kind in ROLES
    if turn_id is None and not is_turn:
        return None
    if not isinstance(turn_id, str) or not turn_id:
        refuse(origin, line, "it has no uuid")
    instant(data.get("timestamp"), line, origin)
    return CanonicalRecord(
        session_id=origin.session_id,
        account=origin.account,
        turn_id=turn_id,
        role=kind,
        timestamp=data["timestamp"],
        content=_content(data) if is_turn else (),
        source=source_of(line, origin, StorageType.CLAUDE_CODE.value),
        is_unsupported=not is_turn,
        restarts=data.get("isCompactSummary") is True,
    )


def _content(data: Mapping[str, Any]) -> tuple[Chunk, ...]:
    """Return the first content that is not empty: the message if it is a text, its content, the record's content."""
    message = data.get("message")
    places = (
        message if isinstance(message, str) else None,
        message.get("content") if isinstance(message, dict) else None,
        data.get("content"),
    )
    return next((found for found in map(chunks, places) if found), ())
