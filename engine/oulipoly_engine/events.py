"""What has happened, as values, and the listeners that are told. The engine publishes; it never calls a face.

Events are frozen and named in the past tense. A listener is called in the thread in which the event happened and must
return at once; one that raises is left out of nothing else, and what it raised goes to the registry's `failed`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import Lock

from oulipoly_engine.records import Record


class Event(Record):
    """The root of all events."""

    at: datetime  # aware, UTC


class QuotaRefreshed(Event):
    """An account was read, or an attempt at it ended."""

    account: str
    outcome: str  # the word of service.refresh.Kind
    text: str | None = None  # the failure, in one sentence


class AlertRaised(Event):
    """A window is almost exhausted, or will run out before its reset; raised once in a window's cycle."""

    kind: str  # "threshold" or "forecast"
    account: str
    window: str
    used: float  # 0..1
    resets_at: datetime
    dry_at: datetime | None  # forecast only
    text: str  # one sentence


class InvocationStarted(Event):
    """A CLI was started by us."""

    invocation_uuid: str
    model: str
    account: str


class InvocationEnded(Event):
    """An invocation's row became final."""

    invocation_uuid: str
    model: str
    account: str
    success: bool
    category: str | None = None  # of a failure


class EntriesIngested(Event):
    """New entries of an account were stored."""

    account: str
    new_turns: int
    sessions: tuple[str, ...] = ()  # that got them


class SessionsChanged(Event):
    """We have changed what a list of sessions says."""


class StateChanged(Event):
    """Another process of ours has written to the state file."""


class ConfigurationChanged(Event):
    """A file of the configuration was written, added or taken away."""


class OneShotSaid(Event):
    """A background one-shot printed something."""

    number: int  # as `start` returned it
    text: str
    is_note: bool  # from stderr: what the runner or the CLI says about the run


class OneShotEnded(Event):
    """A background one-shot has ended."""

    number: int
    exit_code: int
    failure: str | None = None  # why it never started


Listener = Callable[[Event], None]


class Listeners:
    """Who wants to be told. Safe to use from several threads."""

    def __init__(self, failed: Callable[[Exception], None] | None = None) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._lock = Lock()
        self._failed = failed

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener and return what takes it away again."""
        with self._lock:
            self._listeners += (listener,)
        return lambda: self._remove(listener)

    def publish(self, event: Event) -> None:
        """Tell every listener, in the order in which they came."""
        for listener in self._listeners:
            try:
                listener(event)
            except Exception as error:  # a border: a face's bug must not undo what the engine has just done
                if self._failed is None:
                    raise
                self._failed(error)

    def _remove(self, listener: Listener) -> None:
        with self._lock:
            self._listeners = tuple(one for one in self._listeners if one is not listener)
