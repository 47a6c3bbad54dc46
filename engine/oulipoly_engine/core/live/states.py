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
    ("starting", "wait"): "starting",  # it has failed before it began, and is sent again
    ("running", "wait"): "starting",
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
    ("queued", "begin"): "delivered",  # as a turn of its own
    ("queued", "claim"): "claimed",
    ("queued", "revoke"): "revoked",
    ("claimed", "deliver"): "delivered",
    ("claimed", "give_back"): "queued",
    ("claimed", "revoke"): "revoked",
}

# How a session has ended, by why its process did; every other reason: by how the process itself ended.
SESSION_ENDED: Mapping[str, str] = {
    "closed": "closed",
    "idle": "closed",
    "shutdown": "closed",
    "cancelled": "canceled",  # the contract's spelling (worktree sessions, A32)
    "failed": "failed",
}


def session_ended(reason: str, exit_code: int, *, is_oneshot: bool, turn_status: str, turn_code: str) -> str:
    """Return the word for how a session has ended (contract of worktree sessions, B2).

    reason: of `SessionClosed`. turn_status, turn_code: of its last turn; empty: it has had none.
    """
    if is_oneshot and reason in ("finished", "exited", "killed"):
        if turn_code == "timed_out":
            return "timed_out"
        if turn_status == "interrupted":
            return "canceled"
        return "closed" if turn_status == "completed" or (not turn_status and exit_code == 0) else "failed"
    return SESSION_ENDED.get(reason, "closed")


def sources(table: Mapping[tuple[str, str], str], event: str) -> tuple[str, ...]:
    """Return the states in which an event may come."""
    return tuple(state for state, each in table if each == event)
