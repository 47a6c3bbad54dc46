"""Read a Codex rollout into canonical records. Pure.

Its order is the order of time: a timestamp before the one of the message above it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.transcripts.canonical import (
    ROLES,
    CanonicalRecord,
    Line,
    Origin,
    chunks,
    instant,
    parse_line,
    refuse,
    source_of,
)
from oulipoly_engine.errors import TranscriptMalformed


def read(lines: Iterable[Line], origin: Origin) -> Iterator[CanonicalRecord]:
    """Yield the messages of user and assistant; everything else in a rollout is left out.

    A message without an id of its own is named after its place, `<path>:<line>`. A fork's rollout holds its parent's
    session_meta too (0.169), so one that matches is enough.
    Raises TranscriptMalformed, naming the line; at the end, when no session_meta was this session's.
    """
    is_ours, latest = False, None
    for line in lines:
        data = parse_line(line, origin)
        payload = data.get("payload")
        if not isinstance(payload, dict):
            continue
        if data.get("type") == "session_meta":
            is_ours = is_ours or _is(payload.get("id"), origin.session_id)
        if data.get("type") != "response_item" or payload.get("type") != "message" or payload.get("role") not in ROLES:
            continue
        latest = _later(instant(data.get("timestamp"), line, origin), latest, line, origin)
        turn_id = payload.get("id")
        yield CanonicalRecord(
            session_id=origin.session_id,
            account=origin.account,
            turn_id=turn_id if isinstance(turn_id, str) and turn_id else f"{origin.path}:{line.number}",
            role=payload["role"],
            timestamp=data["timestamp"],
            content=chunks(payload.get("content")),
            source=source_of(line, origin, StorageType.CODEX_SESSION.value),
        )
    if not is_ours:
        message = f"{origin.path} has no session_meta of session {origin.session_id}: it is another session's rollout"
        raise TranscriptMalformed(message)


def _is(value: object, session_id: str) -> bool:
    return isinstance(value, str) and value.lower() == session_id


def _later(at: datetime, latest: datetime | None, line: Line, origin: Origin) -> datetime:
    if latest is not None and at < latest:
        refuse(origin, line, f"its timestamp lies before the one of the message above it ({latest.isoformat()})")
    return at
