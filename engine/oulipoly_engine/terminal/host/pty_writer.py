"""Write input to the child as fast as it reads, without ever waiting for it."""

from __future__ import annotations

from collections import deque

from oulipoly_engine.terminal.host.handles import ChildPty

LIMIT = 16 << 20  # bytes that wait: the largest paste that a child which does not read may leave with us
_PIECE = 4096  # a Linux terminal takes no more at once


class PtyWriter:
    """The queue of one terminal's input."""

    def __init__(self, pty: ChildPty) -> None:
        self._pty = pty
        self._queue: deque[memoryview] = deque()
        self._waiting = 0

    @property
    def is_waiting(self) -> bool:
        """Return whether something is still to be written when the terminal takes more."""
        return bool(self._queue)

    def write(self, data: bytes) -> bool:
        """Write bytes after those that wait. Returns False if too many wait; none of the new ones is written then."""
        if self._waiting + len(data) > LIMIT:
            return False
        if data:
            self._queue.append(memoryview(data))
            self._waiting += len(data)
            if len(self._queue) == 1:
                self.flush()
        return True

    def flush(self) -> None:
        """Write what the terminal takes now."""
        while self._queue:
            count = self._pty.write(self._queue[0][:_PIECE])
            if count == 0:
                return
            self._waiting -= count
            if count < len(self._queue[0]):
                self._queue[0] = self._queue[0][count:]
            else:
                self._queue.popleft()

    def clear(self) -> None:
        """Drop what waits: nobody is left to read it."""
        self._queue.clear()
        self._waiting = 0
