"""What telemetry keeps of an event: that it was, its kinds, lengths and codes; ids as hashes, no texts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.outbox.topics import OutboxEvent
from oulipoly_engine.core.text.redact import redact

_LONGEST_MESSAGE = 200  # characters of what an error says
_KEPT = {  # of each topic's body, as it is
    "session_started": ("kind", "model", "version"),
    "session_ended": ("kind", "reason", "exit_code"),
    "message_sent": (),
    "message_received": ("phase",),
    "tool_used": ("kind", "status", "exit_code"),
    "error": ("code",),
    "settings_changed": (),
}
_HASHED = ("account", "runtime", "workspace", "turn_id", "native_id")


def describe(event: OutboxEvent, hash_id: Callable[[str], str]) -> dict[str, Any]:
    """Return an event as telemetry keeps it. hash_id: makes of an id what nobody else makes of it."""
    body = event.body
    kept: dict[str, Any] = {"id": event.id, "at": to_text(datetime.fromtimestamp(event.at / 1000, UTC))}
    kept |= {"event": event.topic, "session": hash_id(event.session_id)}
    kept |= {name: body[name] for name in _KEPT.get(event.topic, ()) if body.get(name) not in (None, "")}
    kept |= {name: hash_id(str(body[name])) for name in _HASHED if body.get(name)}
    kept |= _count(body)
    if event.topic == "error":
        kept["message"] = redact(str(body.get("message", "")))[:_LONGEST_MESSAGE]
    return kept


def _count(body: Mapping[str, Any]) -> dict[str, int]:
    """Return how long what an event says is, without saying it."""
    names = {"text": "characters", "paths": "files", "changes": "settings"}
    return {counted: len(body[name]) for name, counted in names.items() if body.get(name)}
