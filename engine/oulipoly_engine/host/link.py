"""A client's connection to a host that never waits: it has a descriptor for any event loop."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from typing import Any

from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.host.frames import Budget, Bye, Decoder, Hello, Message, WireBroken, agree, encode
from oulipoly_engine.host.peer_credentials import is_same_user
from oulipoly_engine.records import Record

_CHUNK = 64 << 10  # larger ones come from the kernel anew each time


class HostUnreachable(RunnerError, slug="terminal-unreachable"):
    """Nobody listens at a host's socket, or somebody else's process does."""


class HostGone(RunnerError, slug="terminal-gone"):
    """The connection to a host has ended for good; the message says why, as far as the host said."""


class Kind(Record):
    """What a host holds, for errors, and the messages that it sends."""

    name: str  # "terminal"
    list_command: str  # which lists what lives
    messages: Any  # the union of what its hosts send
    budget: Budget = Budget()  # ours


class Link:
    """A connection that takes what has come and sends what it can."""

    def __init__(self, path: Path, name: str, kind: Kind) -> None:
        """Connect and greet. name: who we are, for people. Raises HostUnreachable."""
        self._path = path
        self._name = name
        self._kind = kind
        self._out = bytearray()
        self._parted: str | None = None  # what the host said for goodbye
        self._socket = self._connect()

    def fileno(self) -> int:
        """Return the descriptor to watch; another one after a reconnection."""
        return self._socket.fileno()

    @property
    def wants_to_write(self) -> bool:
        """Return whether `flush` should be called when the descriptor takes more."""
        return bool(self._out)

    def send(self, message: Message) -> None:
        """Send a message, or keep what the host does not take at once for `flush`.

        Raises UsageInvalid for one that is larger than the host takes, as far as it has said that: `is_greeted`.
        """
        try:
            self._out += encode(message, self._budget.largest)
        except WireBroken as error:
            raise UsageInvalid(f"the {self._kind.name}'s host does not take that: {error}") from error
        self.flush()

    def flush(self) -> None:
        """Send what waits, as far as the host takes it; a broken connection shows when it is read."""
        while self._out:
            try:
                del self._out[: self._socket.send(self._out)]
            except BlockingIOError:
                return
            except OSError:
                self._out.clear()

    def receive(self) -> list[Message]:
        """Return the messages that have come.

        Raises ConnectionResetError when the connection broke, and `reconnect` may mend it; HostGone when the host said
        goodbye, or said what nobody understands.
        """
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return []
        except OSError as error:
            raise ConnectionResetError from error
        if not data:
            raise ConnectionResetError
        try:
            messages: list[Message] = self._decoder.feed(data)
        except WireBroken as error:
            raise HostGone(f"the {self._kind.name}'s host said something that nobody understands: {error}") from error
        for index, message in enumerate(messages):
            if isinstance(message, Bye):
                if index:  # first what came before it; the goodbye shows as the end of the stream
                    self._parted = message.text
                    return messages[:index]
                raise HostGone(message.text or f"the {self._kind.name}'s host said goodbye")
            if isinstance(message, Hello):
                agreed = agree(self._kind.budget, Budget(message.version, message.largest))
                self._budget = agreed or self._kind.budget  # none: the host refuses the version
                self.is_greeted = True
        return messages

    def close(self) -> None:
        """Say goodbye and close."""
        with contextlib.suppress(OSError):
            self._socket.send(encode(Bye()))
        self._socket.close()

    def _connect(self) -> socket.socket:
        self._budget = self._kind.budget
        self.is_greeted = False
        self._decoder: Decoder = Decoder(self._kind.messages, self._budget.largest)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            connection.connect(str(self._path))
        except OSError as error:
            connection.close()
            message = f"nobody answers at {self._path} ({error.strerror}): `{self._kind.list_command}` lists what lives"
            raise HostUnreachable(message) from error
        if not is_same_user(connection):
            connection.close()
            raise HostUnreachable(f"the process at {self._path} is another user's: nothing was sent to it")
        self._out += encode(Hello(self._budget.version, self._name, self._budget.largest))
        self._socket = connection
        self.flush()
        return connection
