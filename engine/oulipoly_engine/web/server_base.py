"""What every server of ours on a socket has: its listener, and an end at INT, TERM, HUP and QUIT."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from oulipoly_engine.web.connections import BoundedListener

BACKLOG = 256
PATIENCE_S = 3  # for answers that are under way when it ends
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def listen(address: str, port: int) -> BoundedListener:
    """Return a socket that listens. port: 0: any. Raises OSError."""
    listener = BoundedListener(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


class SignalServer(uvicorn.Server):
    """uvicorn's server, which ends at a signal without sending itself the same one again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End at a signal for the block."""
        is_main = threading.current_thread() is threading.main_thread()  # the only one that gets signals
        before = {number: signal.signal(number, self._end) for number in _SIGNALS if is_main}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self.should_exit = True
