"""What the outbox tells of live sessions: which of their events, and what of each. Pure.

Their texts are without secrets when they come here. Long ones are cut: an event is no archive.
"""

from __future__ import annotations

from typing import Any, Literal

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.records import Record

Topic = Literal[
    "session_started", "session_ended", "message_sent", "message_received", "tool_used", "error", "settings_changed",
    "event",  # of an extension
]  # fmt: skip
Body = dict[str, Any]

_LONGEST = 64 << 10  # characters of a text
_TOOLS = ("command", "file_change", "tool")


class OutboxEvent(Record):
    """Something that has happened."""

    id: int  # grows
    topic: Topic
    at: int  # Unix milliseconds
    session_id: str  # ours; of a one-shot the id of its run; empty: of no session
    body: Body


def cut_text(text: str) -> str:
    """Return a text as an event may have it."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[{len(text) - _LONGEST:,} characters were cut off]"


def describe_live(event: ev.AnyEvent) -> tuple[Topic, Body] | None:
    """Return the topic and the body of what has happened in a live session; None: nobody is told of it."""
    match event:
        case ev.SessionOpened():
            body = {"kind": "live", "native_id": event.native_id, "model": event.model, "version": event.version}
            return "session_started", body
        case ev.SessionClosed():
            return "session_ended", {"kind": "live", "reason": event.reason} | {"exit_code": event.exit_code}
        case ev.SessionFailed():
            return "error", {"code": event.reason, "message": event.message}
        case ev.TurnEnded(status="failed"):
            return "error", {"turn_id": event.turn_id, "code": event.code, "message": event.message}
        case ev.ItemEnded():
            return _describe_item(event.item, event.turn_id)
    return None


def _describe_item(item: ev.Item, turn_id: str) -> tuple[Topic, Body] | None:
    if item.kind in _TOOLS:
        body: Body = {"turn_id": turn_id, "kind": item.kind, "name": item.native_kind, "title": cut_text(item.title)}
        body |= {"status": item.status, "exit_code": item.exit_code}
        return "tool_used", body | {"paths": [change.path for change in item.changes[:100]]}
    if item.status == "completed" and item.text:
        if item.kind == "user_message":
            return "message_sent", {"turn_id": turn_id, "text": cut_text(item.text)}
        if item.kind == "agent_message":
            return "message_received", {"turn_id": turn_id, "text": cut_text(item.text), "phase": item.phase}
    return None
