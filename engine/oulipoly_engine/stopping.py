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


class Stopped(RunnerError):
    """The user has stopped the work."""

    slug = "stopped"
    exit_code = 130


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


def is_asked() -> bool:
    """Return whether this thread's work shall stop, for a loop that ends by itself."""
    event = _asked.get()
    return event is not None and event.is_set()


def check() -> None:
    """Raise Stopped if this thread's work shall stop."""
    if is_asked():
        message = "it was stopped"
        raise Stopped(message)
