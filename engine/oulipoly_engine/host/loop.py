"""The loop of a host: one thread that waits for descriptors, signals, other threads and time, and calls what they need.

    with Loop() as loop:
        loop.take_signals(ignored=(signal.SIGHUP,), on_term=note_term)
        loop.watch(listener, READ, accept)
        while not is_done:
            loop.turn(seconds_until_due())

What a host holds, its payload, stays with the host. An action that finds nothing to do after all may raise
BlockingIOError; any other error leaves the loop.
"""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
from collections.abc import Callable, Iterable
from typing import Any, Self

READ = selectors.EVENT_READ
WRITE = selectors.EVENT_WRITE
_CHUNK = 4096


class Loop:
    """One loop, of the thread that makes it."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wakers: tuple[socket.socket, ...] = ()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def watch(self, source: Any, events: int, action: Callable[[], object]) -> None:  # noqa: ANN401 - has a descriptor
        """Call an action whenever a source can be read or written, from now on; of one source the last call counts.

        source: a descriptor, or what has one. events: READ, WRITE, both or 0, which forgets it.
        """
        if not events:
            self.forget(source)
        elif self._is_watched(source):
            self._selector.modify(source, events, action)
        else:
            self._selector.register(source, events, action)

    def forget(self, source: Any) -> None:  # noqa: ANN401 - as above
        """Watch a source no more, if it was watched; it may be closed."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(source)

    def take_signals(self, *, ignored: Iterable[signal.Signals], on_term: Callable[..., object]) -> None:
        """Have the end of a child and other threads (`wake`) end a wait, and TERM call something; main thread only."""
        reader, writer = socket.socketpair()
        self._wakers = reader, writer
        for end in self._wakers:
            end.setblocking(False)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        # A handler that does nothing, not SIG_IGN: that a child would inherit, and no INT would end it.
        for number in ignored:
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, on_term)
        self.watch(reader, READ, lambda: reader.recv(_CHUNK))

    def wake(self) -> None:
        """End the wait of a loop that has taken its signals, from any thread."""
        with contextlib.suppress(BlockingIOError):  # it has not read the last ones yet
            self._wakers[1].send(b"\0")

    def turn(self, timeout_s: float | None) -> None:
        """Wait once, for so long at most (None: for ever), and call what is due."""
        for key, _ in self._selector.select(timeout_s):
            with contextlib.suppress(BlockingIOError):
                key.data()

    def close(self) -> None:
        """Give everything back; a fork that goes on without the loop does so too."""
        if self._wakers:
            signal.set_wakeup_fd(-1)
        self._selector.close()
        for end in self._wakers:
            end.close()

    def _is_watched(self, source: Any) -> bool:  # noqa: ANN401 - as above
        try:
            self._selector.get_key(source)
        except KeyError:
            return False
        return True
