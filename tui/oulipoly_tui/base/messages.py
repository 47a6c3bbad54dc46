"""What travels inside the app: events of the engine, new snapshots, wishes of panes, results of work."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from textual.message import Message

from oulipoly_engine.records import Record, field

if TYPE_CHECKING:
    from oulipoly_engine.events import Event


class EventArrived(Message):
    """The engine has published an event. Posted by the bridge alone."""

    def __init__(self, event: Event) -> None:
        self.event = event
        super().__init__()


class Wish(Message):
    """A pane asks for a command of the registry, by its name and with its arguments."""

    def __init__(self, name: str, *arguments: str) -> None:
        self.name = name
        self.arguments = arguments
        super().__init__()


class KeysChanged(Message):
    """Other keys may work in a pane now."""

    def __init__(self, pane: str) -> None:
        self.pane = pane
        super().__init__()


class MenuWanted(Message):
    """A pane wants the keys, and the menu of the row under its cursor."""

    def __init__(self, pane: str) -> None:
        self.pane = pane
        super().__init__()


class ReplWanted(Message):
    """Somebody wants to talk to a model in a terminal; the REPL pane takes this up."""

    def __init__(self, model: str, account: str | None = None, session: str | None = None) -> None:
        self.model = model  # empty: the session's own
        self.account = account  # None: whom the balancer chooses
        self.session = session  # None: a new one
        super().__init__()


class Job(Record, frozen=False, eq=False):
    """Work under way."""

    name: str
    title: str  # what a person reads; empty: nobody asked for it
    can_stop: bool
    since: float  # monotonic seconds
    asked: threading.Event = field(default_factory=threading.Event)  # to stop
    thread: threading.Thread | None = None


class WorkDone(Message):
    """Blocking work has ended; `act` runs in the app's own thread."""

    def __init__(self, job: Job, result: object, error: Exception | None, act: object) -> None:
        self.job = job
        self.result = result
        self.error = error
        self.act = act
        super().__init__()
