"""What the set-up agent tells its face, and what it asks permission for. Pure.

As JSON each event is `{"event": NAME, "data": {...}}` (agent-runner section 13).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import msgspec

from oulipoly_engine.core.setup.dialogs import AnyDialog, AnyShown
from oulipoly_engine.records import Record


class Outcome(StrEnum):
    """How a set-up ended."""

    SUCCESS = "success"
    DONE = "done"
    CANCELLED = "cancelled"
    AGENT_ERROR = "agent_error"
    MAX_TURNS_EXCEEDED = "max_turns_exceeded"
    FAILED_BOOTSTRAP = "failed_bootstrap"


class Event(Record):
    """One event."""


class Status(Event):
    """What goes on."""

    message: str


class Progress(Event):
    """A turn begins."""

    message: str
    percent: float  # 0..100, of the turns that there may be
    detail: str = ""


class NeedInput(Event):
    """A person is asked."""

    action: AnyDialog


class ShowResult(Event):
    """Something that came of an action."""

    content: AnyShown


class Complete(Event):
    """The set-up has done what it was asked for."""

    summary: str
    items_configured: tuple[str, ...] = ()


class Failure(Event):
    """Something failed."""

    message: str
    recoverable: bool  # false: the set-up ends


Told = Status | Progress | Complete | Failure
_NAMES: dict[type[Event], str] = {
    Status: "status",
    Progress: "progress",
    NeedInput: "need_input",
    ShowResult: "show_result",
    Complete: "complete",
    Failure: "error",
}


class PastSetup(Record):
    """How a set-up went."""

    began_at: datetime
    wish: str
    outcome: str | None  # None: it goes on, or was killed
    turns: int
    model: str  # or the account that served; "": none could be chosen
    summary: str


class Agreement(Record):
    """Something that would be done; without a yes it is not, and the default is no."""

    kind: Literal["command", "file", "account", "sync", "memory"]
    question: str
    text: str  # all of it: the command as one would type it, or a unified diff without secrets
    description: str = ""  # why, in the model's words
    warning: str = ""
    is_diff: bool = False


def event_document(event: Event) -> dict[str, Any]:
    """Return an event as a document."""
    return {"event": _NAMES[type(event)], "data": msgspec.to_builtins(event)}
