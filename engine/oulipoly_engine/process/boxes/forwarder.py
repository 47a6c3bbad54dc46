"""In a sealed box: listen on a port of its own loopback, and carry each connection to the socket of the proxy.

A program of its own, of Python's library alone: `forwarder.py SOCKET PORT PROGRAM [ARGUMENTS…]`. It becomes the
program once it listens; its fork carries, and ends with the box.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading

_CHUNK = 64 << 10


def _serve(listener: socket.socket, path: str) -> None:
    while True:
        client, _ = listener.accept()
        proxy = socket.socket(socket.AF_UNIX)
        try:
            proxy.connect(path)
        except OSError:  # it has ended
            client.close()
            proxy.close()
            continue
        for ends in ((client, proxy), (proxy, client)):  # a thread each: who writes may wait for who reads
            threading.Thread(target=_carry, args=ends, daemon=True).start()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(_CHUNK):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def main(path: str, port: str, *argv: str) -> None:
    """Listen, and become the program."""
    listener = socket.create_server(("127.0.0.1", int(port)))
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):  # whoever reads the program sees its end
            os.dup2(null, descriptor)
        _serve(listener, path)
    listener.close()
    os.execvp(argv[0], argv)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(*sys.argv[1:])
