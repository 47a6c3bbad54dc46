"""INT, TERM, HUP and QUIT while we are responsible for a child or for a record that must become final."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from oulipoly_engine.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_current: Guard | None = None  # signal handlers belong to the process, and so does what they talk to


class Guard:
    """Keeps a signal until it can be acted on: at once while armed, else at the next `check` or `arm`."""

    def __init__(self) -> None:
        self._armed = False
        self._pending: int | None = None
        self.signals = 0  # that have come

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal. Raises Interrupted out of whatever runs, if armed."""
        self._pending = number
        self.signals += 1
        if self._armed:
            self._armed = False
            raise Interrupted(number)

    def arm(self) -> None:
        """Let signals interrupt from here on. Raises Interrupted if one has come already."""
        self._armed = True
        if self._pending is not None:
            self._armed = False
            raise Interrupted(self._pending)

    def disarm(self) -> None:
        """Keep signals from here on."""
        self._armed = False

    @contextmanager
    def arming(self) -> Iterator[None]:
        """Let signals interrupt the block, and leave it behind as it was before. Raises Interrupted."""
        was_armed = self._armed
        self.arm()
        yield
        self._armed = was_armed

    def check(self) -> None:
        """Raise Interrupted if a signal has come."""
        if self._pending is not None:
            raise Interrupted(self._pending)


@contextmanager
def interruptible() -> Iterator[Guard]:
    """Turn signals into Interrupted for the length of the block; an inner block shares the outer one's guard.

    Signals reach the main thread only; whoever runs a child in another thread stops it by its own means.
    """
    global _current
    if _current is not None:
        yield _current
        return
    guard = Guard()
    if threading.current_thread() is not threading.main_thread():
        yield guard
        return
    previous = {number: signal.signal(number, guard.handle) for number in _SIGNALS}
    _current = guard
    try:
        yield guard
    finally:
        _current = None
        for number, handler in previous.items():
            signal.signal(number, handler)
