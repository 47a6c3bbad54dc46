"""Run the app on a socket until INT or TERM."""

from __future__ import annotations

import errno
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from fastapi import FastAPI

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record

DEFAULT_PORT = 8787
_PATIENCE_S = 3  # for answers that are under way when it ends
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Bound(Record):
    """A socket that listens."""

    socket: socket.socket
    port: int
    is_fallback: bool  # the default port was taken


def bind(address: str, port: int | None) -> Bound:
    """Listen on an address. port: None: the usual one, or any where it is taken; 0: any. Raises RequestRefused."""
    wanted = DEFAULT_PORT if port is None else port
    try:
        return Bound(listener := _listen(address, wanted), listener.getsockname()[1], is_fallback=False)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return Bound(listener := _listen(address, 0), listener.getsockname()[1], is_fallback=True)
        raise RequestRefused(f"cannot listen on {address} port {wanted}: {error.strerror or error}") from error


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


class _Server(uvicorn.Server):
    """uvicorn's, which ends at a signal without sending itself the same one again."""

    def __init__(self, config: uvicorn.Config, on_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_end = on_end

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._end) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self._on_end()
        self.should_exit = True


def serve(app: FastAPI, bound: Bound, on_end: Callable[[], None] = lambda: None) -> None:
    """Serve until INT, TERM, HUP or QUIT. on_end: called first, to end what waits for nothing else."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_PATIENCE_S,
    )
    with bound.socket:
        _Server(config, on_end).run(sockets=[bound.socket])
