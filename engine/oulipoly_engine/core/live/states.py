"""The lifecycles of live sessions as tables: (state, event) to state. Pure.

The store applies them by compare-and-set, so that what is final stays so whatever comes late.
"""

from __future__ import annotations

from collections.abc import Mapping

# A turn (contract, D.2). Its row is written as `starting` before the CLI hears of it.
TURN: Mapping[tuple[str, str], str] = {
    ("starting", "begin"): "running",
    ("starting", "fail"): "failed",
    ("starting", "interrupt"): "interrupted",
    ("starting", "block"): "blocked",
    ("starting", "complete"): "completed",  # a turn so short that its end came first
    ("running", "begin"): "running",
    ("running", "complete"): "completed",
    ("running", "fail"): "failed",
    ("running", "interrupt"): "interrupted",
    ("running", "block"): "blocked",
}
TURN_OPEN = ("starting", "running")
TURN_END_EVENTS = {"completed": "complete", "failed": "fail", "interrupted": "interrupt", "blocked": "block"}

# A request (contract, D.4).
REQUEST: Mapping[tuple[str, str], str] = {
    ("pending", "answer"): "answered",
    ("pending", "resolve"): "resolved",
    ("pending", "cancel"): "cancelled",
    ("pending", "expire"): "expired",
}

# A message in the queue.
MESSAGE: Mapping[tuple[str, str], str] = {
    ("queued", "claim"): "claimed",
    ("queued", "revoke"): "revoked",
    ("claimed", "deliver"): "delivered",
    ("claimed", "give_back"): "queued",
    ("claimed", "revoke"): "revoked",
}


def sources(table: Mapping[tuple[str, str], str], event: str) -> tuple[str, ...]:
    """Return the states in which an event may come."""
    return tuple(state for state, each in table if each == event)
