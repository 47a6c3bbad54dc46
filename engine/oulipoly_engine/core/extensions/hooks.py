"""What extensions can hook into, and of which sort each hook is. Pure.

A guard is called where the thing happens, with a time limit; where it fails or refuses, the thing does not happen, and
the first that refuses ends the chain. A transform may change what goes on. An observer hears of what has happened, and
costs it nothing. `load` hooks are the extension's own beginning and end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Sort = Literal["load", "guard", "transform", "observer"]

HOOKS: Mapping[str, Sort] = {
    "on_load": "load",
    "on_unload": "load",
    "input": "transform",  # Continue, Transform(text) or Handled; it fails closed as guards do
    "before_tool": "guard",  # where a CLI asks for approval
    "before_fork": "guard",
    "before_compaction": "guard",
    "before_tree": "guard",  # going back to an earlier entry
    "before_switch": "guard",  # to another session or account
    "session_started": "observer",
    "session_ended": "observer",
    "message_sent": "observer",
    "message_received": "observer",
    "tool_used": "observer",
    "settings_changed": "observer",
    "error": "observer",
    "event": "observer",  # what extensions tell each other
}
OBSERVERS = tuple(name for name, sort in HOOKS.items() if sort == "observer")  # topics of the outbox
