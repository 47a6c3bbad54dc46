"""Which addresses a proxy lets through, and what it is asked for. Pure.

    example.org          this name, ports 80 and 443
    *.example.org:8443   any name below it, this port
    127.0.0.1:8080       an address; only one that is listed so may be of this machine or of its network

A name that leads to an address of this machine, of its network or of a cloud's metadata is refused: who answers for a
name is not who wrote the list.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from oulipoly_engine.errors import InputInvalid
from oulipoly_engine.records import Record

_WEB_PORTS = (80, 443)


class Target(Record):
    """What a proxy is asked for."""

    host: str  # lower case, without brackets
    port: int
    path: str  # of a plain request: what its server is to be asked for; empty: a tunnel

    @property
    def text(self) -> str:
        """Return host and port as they are written in a list."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Allowed(Record):
    """One entry of a list."""

    host: str  # `*.` before it: any name below
    ports: tuple[int, ...]


def parse_allowed(text: str) -> Allowed:
    """Read an entry of a list. Raises InputInvalid."""
    target = _split(text.strip())
    if target is None or not target[0].removeprefix("*.").strip("*"):
        raise InputInvalid(f"{text!r} is not an address: write NAME, *.NAME or either with :PORT")
    host, port = target
    return Allowed(host, _WEB_PORTS if port is None else (port,))


def is_allowed(target: Target, entries: Iterable[Allowed]) -> bool:
    """Return whether an entry names a target."""
    return any(target.port in entry.ports and _matches(target.host, entry.host) for entry in entries)


def may_connect(target: Target, address: str) -> bool:
    """Return whether a target that is allowed may be looked for at an address that its name leads to."""
    number = ipaddress.ip_address(address.partition("%")[0])
    number = getattr(number, "ipv4_mapped", None) or number
    return number.is_global or target.host == address or (target.host == "localhost" and number.is_loopback)


def parse_request(line: str) -> Target | None:
    """Read the first line of a request to a proxy; None: it is not one."""
    words = line.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    if words[0] == "CONNECT":
        address = _split(words[1])
        if address is None or address[1] is None:
            return None
        return Target(address[0], address[1], "")
    try:
        url = urlsplit(words[1])
        port = url.port or 80
    except ValueError:
        return None
    if url.scheme != "http" or not url.hostname:
        return None
    path = url.path or "/"
    return Target(url.hostname.lower(), port, f"{path}?{url.query}" if url.query else path)


def _matches(host: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern


def _split(text: str) -> tuple[str, int | None] | None:
    """Return host and port of `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`; None: it is not such."""
    try:
        url = urlsplit(f"//{text}")
        port = url.port
    except ValueError:
        return None
    if not url.hostname or url.path or url.query or url.fragment or url.username or " " in text or port == 0:
        return None
    return url.hostname.lower(), port
