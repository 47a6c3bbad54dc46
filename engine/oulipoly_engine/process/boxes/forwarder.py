"""In a sealed box: carry connections out, from a port of its own loopback to the socket of the proxy, and in.

A program of its own, of Python's library alone: `forwarder.py SOCKET PORT INWARD PROGRAM [ARGUMENTS…]`. It becomes the
program once it listens; its fork carries, and ends with the box. INWARD is empty, or `LISTENER:READY:PORT`: two
descriptors, and a port on which the program serves. Once that takes connections a byte is written to the second, which
ends with the fork, and each connection to the first is carried to the port.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

_CHUNK = 64 << 10
_LOOK_S = 0.02
_MOST = 80  # connections at once each way; of 64 the proxy says that there are too many
_STACK = 256 << 10  # bytes of a thread


def _serve(listener: socket.socket, connect: Callable[[], socket.socket]) -> None:
    places = threading.BoundedSemaphore(_MOST)
    while True:
        client, _ = listener.accept()
        if not places.acquire(blocking=False):
            client.close()
            continue
        try:
            threading.Thread(target=_pass_on, args=(client, connect, places), daemon=True).start()
        except RuntimeError:  # the control group of the box lets no thread be
            client.close()
            places.release()


def _pass_on(client: socket.socket, connect: Callable[[], socket.socket], places: threading.BoundedSemaphore) -> None:
    """Carry bytes both ways, in a thread each: who writes may wait for who reads."""
    try:
        # It has ended, or no further thread may be.
        with client, contextlib.suppress(OSError, RuntimeError), connect() as server:
            back = threading.Thread(target=_carry, args=(server, client), daemon=True)
            back.start()
            _carry(client, server)
            back.join()
    finally:
        places.release()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(_CHUNK):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _connect(family: int, address: object) -> socket.socket:
    server = socket.socket(family)
    try:
        server.connect(address)  # type: ignore[arg-type]
    except OSError:
        server.close()
        raise
    return server


def _serve_inward(listener: int, ready: int, port: int) -> None:
    connect = partial(_connect, socket.AF_INET, ("127.0.0.1", port))
    while True:
        with contextlib.suppress(OSError):
            connect().close()
            break
        time.sleep(_LOOK_S)
    os.write(ready, b".")
    _serve(socket.socket(fileno=listener), connect)


def main(path: str, port: str, inward: str, *argv: str) -> None:
    """Listen, and become the program."""
    listener = socket.create_server(("127.0.0.1", int(port)))
    numbers = tuple(map(int, inward.split(":"))) if inward else ()
    if os.fork() == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program may end what it does first
        threading.stack_size(_STACK)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):  # whoever reads the program sees its end
            os.dup2(null, descriptor)
        if numbers:
            threading.Thread(target=_serve_inward, args=numbers, daemon=True).start()
        _serve(listener, partial(_connect, socket.AF_UNIX, path))
    listener.close()
    for descriptor in numbers[:2]:
        os.close(descriptor)
    os.execvp(argv[0], argv)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(*sys.argv[1:])
