"""Requests of a CLI to its API, which a proxy logs in to: what the CLI holds is a token of this proxy alone.

A connection carries one request. Bodies pass as they come, in both directions, and none is ever held as a whole.
"""

from __future__ import annotations

import contextlib
import hmac
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from urllib.parse import urlsplit

from oulipoly_engine.core.accounts.clis.host_login import ApiLogin
from oulipoly_engine.records import Record

_CHUNK = 64 << 10
_CONNECT_S = 15.0
_SILENCE_S = 600.0  # of an API that thinks
_LONGEST_BODY = 256 << 20
_PATH = re.compile(r"/[A-Za-z0-9._~/-]*")
_OF_LOGIN = ("authorization", "x-api-key", "cookie", "chatgpt-account-id")  # whatever the CLI has put there
_OF_HOP = ("host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "upgrade", "te", "expect")
_DROPPED = frozenset((*_OF_LOGIN, *_OF_HOP))


class ApiRoute(Record):
    """What a proxy lets through to an API."""

    token: str  # that a request must hold; secret
    paths: tuple[str, ...]  # each with what is below
    find_login: Callable[[], ApiLogin | str]  # asked for each request; a text: why there is none now


class _Request(Record):
    method: str
    target: str  # path and query
    headers: tuple[tuple[str, str], ...]  # names in lower case

    def first(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")


def answer_api(
    route: ApiRoute,
    client: socket.socket,
    head: bytes,
    rest: bytes,
    track: Callable[[socket.socket], AbstractContextManager[None]],
) -> None:
    """Answer one request to the API. head, rest: what has come already. track: has a connection end with the proxy."""
    request = _parse(head)
    if request is None:
        refuse(client, "400 Bad Request", "this is not a request that the API takes")
        return
    tokens = (request.first("x-api-key"), request.first("authorization").removeprefix("Bearer "))
    if not any(hmac.compare_digest(each.encode(), route.token.encode()) for each in tokens):
        refuse(client, "401 Unauthorized", "this token is not one of this agent, or was revoked")
        return
    path = request.target.partition("?")[0]
    is_known = any(path == each or path.startswith(f"{each}/") for each in route.paths)
    if not is_known or not _PATH.fullmatch(path) or ".." in path or "//" in path:
        refuse(client, "403 Forbidden", f"{path[:80]} is not asked for by an agent: {', '.join(route.paths)} are")
        return
    login = route.find_login()
    if isinstance(login, str):
        refuse(client, "401 Unauthorized", f"the account of this agent is not logged in: {login}")
        return
    try:
        server = _connect(login.upstream)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        refuse(client, "502 Bad Gateway", f"the API cannot be reached: {reason}")
        return
    with server, track(server):
        _exchange(client, server, request, rest, login)


def _parse(head: bytes) -> _Request | None:
    """Read a request's first lines; None: they are none, or say two things about its body."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[0].isalpha():
        return None
    if not (words[1].isascii() and words[1].isprintable()):  # a newline alone ends a line for some servers
        return None
    pairs = [(name.strip().lower(), value.strip()) for name, colon, value in (line.partition(":") for line in lines)]
    if any(":" not in line or line[:1].isspace() or "\n" in line or "\r" in line for line in lines):
        return None
    request = _Request(words[0], words[1], tuple(pairs))
    lengths = [value for name, value in pairs if name == "content-length"]
    is_chunked = "transfer-encoding" in dict(pairs)
    if len(lengths) + is_chunked > 1 or not all(text.isdecimal() and int(text) <= _LONGEST_BODY for text in lengths):
        return None
    if is_chunked and request.first("transfer-encoding").lower() != "chunked":
        return None
    return request


def _connect(upstream: str) -> socket.socket:
    """Return a connection to an API. Raises OSError, ValueError."""
    url = urlsplit(upstream)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(upstream)
    server = socket.create_connection((url.hostname, url.port or (443 if url.scheme == "https" else 80)), _CONNECT_S)
    if url.scheme == "http":
        return server
    try:
        return ssl.create_default_context().wrap_socket(server, server_hostname=url.hostname)
    except OSError:
        server.close()
        raise


def _exchange(client: socket.socket, server: socket.socket, request: _Request, rest: bytes, login: ApiLogin) -> None:
    """Carry the request and then its answer: one after the other, as TLS in Python lets no two threads at it."""
    for end in (client, server):
        end.settimeout(_SILENCE_S)
    url = urlsplit(login.upstream)
    lines = [f"{request.method} {url.path}{request.target} HTTP/1.1", f"Host: {url.netloc.rpartition('@')[2]}"]
    own = {**login.headers, "connection": "close"}
    lines += [f"{name}: {value}" for name, value in request.headers if name not in _DROPPED and name not in own]
    lines += [f"{name}: {value}" for name, value in own.items()]
    answered = False
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may answer before it has read all
            server.sendall("\r\n".join((*lines, "", "")).encode("latin-1"))
            if request.first("expect"):
                client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            for data in _read_body(client, request, rest):
                server.sendall(data)
        while data := server.recv(_CHUNK):
            client.sendall(data)
            answered = True
    except (TimeoutError, ConnectionResetError, ssl.SSLError) as error:
        if not answered:
            refuse(client, "502 Bad Gateway", f"the API did not answer: {type(error).__name__}")


def _read_body(client: socket.socket, request: _Request, rest: bytes) -> Iterator[bytes]:
    """Yield a body as it comes. Raises OSError where the client ends before it."""
    if request.first("transfer-encoding"):
        yield from _read_chunks(client, rest)
        return
    left = int(request.first("content-length") or 0)
    data = rest[:left]
    while left > 0:
        data = data or client.recv(min(left, _CHUNK))
        if not data:
            raise OSError("the client ended within its request")
        left -= len(data)
        yield data
        data = b""


def _read_chunks(client: socket.socket, rest: bytes) -> Iterator[bytes]:
    """Yield a body in chunks as they are, up to the last one. Raises OSError where they are none."""
    with client.makefile("rb") as file:
        stream = _Behind(rest, file.read, file.readline)
        while True:
            line = stream.read_line()
            size = int(line.partition(b";")[0], 16) if re.fullmatch(rb"[0-9A-Fa-f]{1,8}(;.*)?\r\n", line) else -1
            if size < 0:
                raise OSError("the body of the request is not in chunks")
            yield b"%x\r\n" % size
            left = size
            while left:
                data = stream.read(min(left, _CHUNK))
                if not data:
                    raise OSError("the client ended within its request")
                left -= len(data)
                yield data
            if stream.read_line() != b"\r\n":
                raise OSError("the body of the request is not in chunks")
            yield b"\r\n"
            if size == 0:
                return


class _Behind:
    """What has come already, and then what comes."""

    def __init__(self, first: bytes, read: Callable[[int], bytes], read_line: Callable[[int], bytes]) -> None:
        self._first = first
        self._read = read
        self._read_line = read_line

    def read(self, size: int) -> bytes:
        if not self._first:
            return self._read(size)
        data = self._first[:size]
        self._first = self._first[size:]
        return data

    def read_line(self) -> bytes:
        line, newline, behind = self._first.partition(b"\n")
        if newline:
            self._first = behind
            return line + newline
        self._first = b""
        return line + self._read_line(1024)


def refuse(client: socket.socket, status: str, text: str) -> None:
    """Answer a request with an error, and what to do."""
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}"
    with contextlib.suppress(OSError):
        client.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode() + body)
