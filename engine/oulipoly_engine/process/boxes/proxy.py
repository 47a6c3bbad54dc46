"""A proxy for a box: HTTP and tunnels to listed addresses, and one API to which it logs in, behind a socket of ours.

It runs in threads of the process that makes it, two for each connection, and asks for names outside the box. What is
not listed is refused with 403 and what to add.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from oulipoly_engine.core.boxes.allow_list import Allowed, Target, is_allowed, may_connect, parse_request
from oulipoly_engine.process.boxes.api_route import ApiRoute, answer_api, refuse

_MOST = 64  # connections at once
_LONGEST_HEAD = 64 << 10
_PATIENCE_S = 15.0  # for a request, for an address
_IDLE_S = 600.0  # of a tunnel in which nothing moves
_CHUNK = 64 << 10
_OF_PROXIES = re.compile(rb"^(proxy-[^:]*|connection):.*\r\n", re.IGNORECASE | re.MULTILINE)


class AllowListProxy:
    """A proxy that listens while the block runs."""

    def __init__(
        self,
        path: Path | None,
        entries: tuple[Allowed, ...],
        note: Callable[[Target, str], object] = lambda *_: None,
        route: ApiRoute | None = None,
    ) -> None:
        """Prepare it.

        path: of its Unix socket, which must not exist; None: a port of this machine's loopback, which anybody here may
        try. note: called in any thread with each target, and why it was not let through; empty: it was. route: to an
        API, where it leads to one.
        """
        self._path = path
        self._entries = entries
        self._note = note
        self._route = route
        self._listener = socket.socket(socket.AF_INET if path is None else socket.AF_UNIX)
        self._places = threading.BoundedSemaphore(_MOST)
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        """Listen. Raises OSError."""
        if self._path is None:
            self._listener.bind(("127.0.0.1", 0))
        else:
            self._listener.bind(str(self._path))
            self._path.chmod(0o600)
        self._listener.listen()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close every connection."""
        for end in (self._listener, *tuple(self._open)):
            shut(end)
        self._thread.join()
        self._listener.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    @property
    def port(self) -> int:
        """Return the port that it listens on, of one without a path."""
        return int(self._listener.getsockname()[1])

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # it was closed
                return
            if not self._places.acquire(blocking=False):
                refuse(client, "503 Service Unavailable", f"more than {_MOST} connections at once")
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, self._kept(client), contextlib.suppress(OSError):
                self._answer(client)
        finally:
            self._places.release()

    @contextlib.contextmanager
    def _kept(self, end: socket.socket) -> Iterator[None]:
        """Have an end closed with the proxy during the block."""
        self._open.add(end)
        try:
            yield
        finally:
            self._open.discard(end)

    def _answer(self, client: socket.socket) -> None:
        client.settimeout(_PATIENCE_S)
        head, rest = _read_head(client)
        line, _, fields = head.partition(b"\r\n")
        if self._route is not None and line.split(b" ")[1:2] and line.split(b" ")[1].startswith(b"/"):
            answer_api(self._route, client, head, rest, self._kept)
            return
        target = parse_request(line.decode("latin-1"))
        if target is None:
            refuse(client, "400 Bad Request", "this proxy takes CONNECT and plain HTTP requests")
            return
        if not is_allowed(target, self._entries):
            self._note(target, "is not allowed")
            refuse(client, "403 Forbidden", f"{target.text} is not allowed: add it to the addresses that are")
            return
        server = _connect(target)
        problem = "" if server else "cannot be reached, or leads into this network"
        self._note(target, problem)
        if server is None:
            refuse(client, "502 Bad Gateway", f"{target.text} {problem}")
            return
        with server, self._kept(server):
            if target.path:
                method, _, version = line.split(b" ")
                plain = _OF_PROXIES.sub(b"", fields)
                request = b"%s %s %s\r\n%sConnection: close\r\n\r\n" % (method, target.path.encode(), version, plain)
                server.sendall(request + rest)
            else:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                server.sendall(rest)
            _pass_on(client, server)


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """Return a request up to its empty line, without that, and what has come behind it."""
    data = b""
    while b"\r\n\r\n" not in data and len(data) < _LONGEST_HEAD:
        more = client.recv(_CHUNK)
        if not more:
            break
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return head + b"\r\n", rest


def _connect(target: Target) -> socket.socket | None:
    """Return a connection to a target; None: it cannot be reached, or must not at the addresses of its name."""
    try:
        places = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except OSError:
        return None
    for family, kind, protocol, _, address in places:
        if not may_connect(target, str(address[0])):
            continue
        server = socket.socket(family, kind, protocol)
        server.settimeout(_PATIENCE_S)
        try:
            server.connect(address)
        except OSError:
            server.close()
        else:
            return server
    return None


def _pass_on(client: socket.socket, server: socket.socket) -> None:
    """Carry bytes both ways, in a thread each: who writes may wait for who reads."""
    for end in (client, server):
        end.settimeout(_IDLE_S)
    back = threading.Thread(target=_carry, args=(server, client), daemon=True)
    back.start()
    _carry(client, server)
    back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    """Carry bytes one way to their end; where they cannot be carried on, the other way ends too."""
    try:
        while data := source.recv(_CHUNK):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            shut(end)


def shut(end: socket.socket) -> None:
    """End a connection both ways, whoever waits for it."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(end, socket.SHUT_RDWR)  # not TLS's own, which another thread may be in
