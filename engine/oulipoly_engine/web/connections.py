"""How many connections the server holds: so many in all, and so many a client.

They are counted where they are accepted, before TLS is spoken: so nobody takes the descriptors that the rest needs.
"""

from __future__ import annotations

import errno
import resource
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any

from oulipoly_engine.records import Record
from oulipoly_engine.web.access.forwarded import Network, find_network, is_proxy

_MOST, _LEAST = 256, 8  # connections in all
_KEPT_FREE = 64  # descriptors for the state file, event streams, git and the CLIs' hosts


class Limits(Record):
    """How many connections there may be."""

    most: int
    each: int  # a client


def find_limits() -> Limits:
    """Return what the descriptors of this process allow."""
    return limits_for(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def limits_for(descriptors: int) -> Limits:
    """Return what so many descriptors allow."""
    most = min(max((descriptors - _KEPT_FREE) // 2, _LEAST), _MOST)
    if descriptors == resource.RLIM_INFINITY:
        most = _MOST
    return Limits(most, max(most // 4, _LEAST))


class Connections:
    """The connections of one server. Not safe for threads: its event loop alone uses it."""

    def __init__(self, limits: Limits, *, proxies: tuple[Network, ...] | None, only_proxies: bool) -> None:
        """proxies: who passes on requests of many clients; None: nobody. only_proxies: all others are refused."""
        self._limits, self._proxies, self._only_proxies = limits, proxies, only_proxies
        self._counts: Counter[str] = Counter()

    def admit(self, address: str) -> str | None:
        """Count a connection and return what `release` is to be given; None: it is refused.

        address: its client's; "" by the own user's socket.
        """
        passes_on = self._proxies is not None and is_proxy(address, self._proxies)
        if self._only_proxies and not passes_on:
            return None
        place = find_network(address)
        is_one_too_many = not passes_on and self._counts[place] >= self._limits.each
        if is_one_too_many or self._counts.total() >= self._limits.most:
            return None
        self._counts[place] += 1
        return place

    def release(self, place: str) -> None:
        """Count a connection no longer."""
        self._counts[place] -= 1
        if not self._counts[place]:
            del self._counts[place]


class BoundedListener(socket.socket):
    """A listening socket whose connections are counted; it closes those that are refused."""

    connections: Connections | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        """Return a connection and its client. Raises ConnectionAbortedError for one that is refused."""
        accepted, client = super().accept()
        if self.connections is None:
            return accepted, client
        place = self.connections.admit(client[0] if client else "")
        if place is None:
            accepted.close()
            raise ConnectionAbortedError(errno.ECONNABORTED, "this connection is refused")  # the loop goes on
        connections = self.connections
        return _Counted(accepted, lambda: connections.release(place)), client


class _Counted(socket.socket):
    """A connection that says when it is closed."""

    def __init__(self, accepted: socket.socket, closed: Callable[[], None]) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        self._was_closed: Callable[[], None] | None = closed

    def close(self) -> None:
        """Close it."""
        super().close()
        closed, self._was_closed = self._was_closed, None
        if closed is not None:
            closed()
