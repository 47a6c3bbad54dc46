"""In an agent's box: show a token at a socket of ours, then carry stdin to it and what comes to stdout.

A program of its own, of Python's library alone: `bridge.py SOCKET`. The token is in RUNNER_AGENT_TOKEN.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

_CHUNK = 64 << 10


def _send(server: socket.socket) -> None:
    while data := os.read(0, _CHUNK):
        server.sendall(data)
    server.shutdown(socket.SHUT_WR)


def main(path: str) -> None:
    """Carry until the server leaves."""
    server = socket.socket(socket.AF_UNIX)
    server.connect(path)
    server.sendall(os.environ.get("RUNNER_AGENT_TOKEN", "").encode() + b"\n")
    threading.Thread(target=_send, args=(server,), daemon=True).start()
    while data := server.recv(_CHUNK):
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]


if __name__ == "__main__":
    main(*sys.argv[1:])
