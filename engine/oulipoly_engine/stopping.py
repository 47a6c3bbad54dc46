"""Work that its user may stop: whoever begins it says what it is asked by, and long loops ask.

Nobody has to know of each other: a loop asks for the work that its own thread is about, and work that nobody can stop
is never stopped. What is half done is taken back as after any other error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

from oulipoly_engine.errors import RunnerError

_asked: ContextVar[Event | None] = ContextVar("oulipoly_stopping", default=None)


class Stopped(RunnerError, slug="stopped", exit_code=130):
    """The user has stopped the work."""


class _InnerEvent(Event):
    """Is set by itself, and as soon as what the work around it is stopped by is."""

    def __init__(self, outer: Event) -> None:
        super().__init__()
        self._outer = outer

    def is_set(self) -> bool:
        """Return whether either of them is set."""
        return super().is_set() or self._outer.is_set()


@contextmanager
def stoppable(asked: Event) -> Iterator[None]:
    """Let the work of this thread be stopped for the length of the block. asked: is set by whoever stops it."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def stop_event() -> Event:
    """Return what this thread's work is stopped by, to be handed to threads of its own."""
    return _asked.get() or Event()


def inner_stop_event() -> Event:
    """Return what a part of this thread's work is stopped by: alone, or with all of it. It is asked, not waited for."""
    outer = _asked.get()
    return Event() if outer is None else _InnerEvent(outer)


def is_asked() -> bool:
    """Return whether this thread's work shall stop, for a loop that ends by itself."""
    event = _asked.get()
    return event is not None and event.is_set()


def check() -> None:
    """Raise Stopped if this thread's work shall stop."""
    if is_asked():
        raise Stopped("it was stopped")
