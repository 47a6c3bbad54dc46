"""The life of an extension as a table: (state, event) to state. Pure.

pending --activate--> active --disable--> disabled --activate--> active; each --fail--> failed --activate--> active;
each --unload--> unloaded, which is the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

State = Literal["pending", "active", "disabled", "failed", "unloaded"]
Event = Literal["activate", "disable", "fail", "unload"]

EXTENSION: Mapping[tuple[State, Event], State] = {
    ("pending", "activate"): "active",  # imported, created, and its on_load has come back
    ("pending", "disable"): "disabled",
    ("pending", "fail"): "failed",
    ("pending", "unload"): "unloaded",
    ("active", "disable"): "disabled",
    ("active", "fail"): "failed",
    ("active", "unload"): "unloaded",
    ("disabled", "activate"): "active",
    ("disabled", "fail"): "failed",
    ("disabled", "unload"): "unloaded",
    ("failed", "activate"): "active",  # its on_load is called again
    ("failed", "disable"): "disabled",
    ("failed", "unload"): "unloaded",
}
MOST_FAILURES = 3  # then it is disabled, with the reason


def advance(state: State, event: Event) -> State:
    """Return the state after an event. Raises ValueError, which is a mistake of ours, where it cannot come."""
    if (state, event) not in EXTENSION:
        raise ValueError(f"an extension that is {state} cannot {event}")
    return EXTENSION[state, event]
