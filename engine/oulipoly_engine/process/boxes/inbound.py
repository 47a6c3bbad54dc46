"""A Unix socket by which a server in a sealed box is reached from outside.

We listen, outside of the box, and the relay in it takes the connections (`forwarder`): the box does not see the
socket's folder, so nothing that it leaves there leads us elsewhere. A socket that listens connects to nobody, so it is
no way out either; one of TCP would be, with `connect(AF_UNSPEC)`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from pathlib import Path
from typing import Self

from oulipoly_engine.core.boxes.box import Inbound

_LEAST = 10  # the number of a descriptor: those below may be taken by a shell's words


class InboundSocket:
    """A socket that listens while the block runs; for one start of a server."""

    def __init__(self, path: Path, port: int) -> None:
        """path: of the socket; what lies there is removed. port: of the box's loopback, on which the server listens."""
        self._path = path
        self._port = port
        self._ends: list[int] = []
        self.is_ready = False  # the server has taken connections
        self.is_lost = False  # the relay has ended, and nothing reaches the server any more

    def __enter__(self) -> Self:
        """Listen. Raises OSError."""
        self._path.unlink(missing_ok=True)  # of one that was killed
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self._path))
            self._path.chmod(0o600)
            listener.listen()
            self._ends.append(fcntl.fcntl(listener.fileno(), fcntl.F_DUPFD_CLOEXEC, _LEAST))
        self.ready, writing = os.pipe()
        os.set_blocking(self.ready, False)
        self._ends.append(fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, _LEAST))
        os.close(writing)
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        self.hand_over()
        os.close(self.ready)
        self._path.unlink(missing_ok=True)

    @property
    def inbound(self) -> Inbound:
        """Return what the box is started with."""
        listener, writing = self._ends
        return Inbound(listener, writing, self._port)

    def hand_over(self) -> None:
        """Leave the socket to the box alone: with that it ends."""
        while self._ends:
            os.close(self._ends.pop())

    def look(self) -> bool:
        """Look how it stands, and return whether there is more to come."""
        with contextlib.suppress(BlockingIOError):
            self.is_lost = not os.read(self.ready, 1)
            self.is_ready = self.is_ready or not self.is_lost
        return not self.is_lost
