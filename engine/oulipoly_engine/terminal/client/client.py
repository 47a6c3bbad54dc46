"""The client's end of a terminal.

`Link` never waits: it has a descriptor for any event loop, takes what has come and sends what it can. `Client` waits,
for commands and tests. A `RemoteScreen` makes rows of `Picture`s.

The host's process that we are connected to may die of its emulator at any moment. The socket then still listens, and
the next process takes over: a link that breaks without a goodbye is made again, and everything that was asked for is
asked for again, the full picture with it.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.terminal.protocol.messages import (
    Attach,
    Bye,
    Decoder,
    FocusChange,
    FromHost,
    Hello,
    Message,
    WindowSize,
    WireBroken,
    encode,
)
from oulipoly_engine.terminal.protocol.peer_credentials import is_same_user

_CHUNK = 64 << 10  # larger ones come from the kernel anew each time
_AGAIN_WITHIN_S = 5.0  # three starts of a screen's process
_AGAIN_EVERY_S = 0.05


class HostUnreachable(RunnerError):
    """Nobody listens at a terminal's socket, or somebody else's process does."""

    slug = "terminal-unreachable"


class HostGone(RunnerError):
    """The connection to a terminal's host has ended for good; the message says why, as far as the host said."""

    slug = "terminal-gone"


class Link:
    """A connection that never waits."""

    def __init__(self, path: Path, name: str) -> None:
        """Connect and greet. Raises HostUnreachable."""
        self._path = path
        self._name = name
        self._attached: Attach | None = None
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

    def attach(self, attach: Attach) -> None:
        """Ask for pictures, now and after every reconnection."""
        self._attached = attach
        self.send(attach)

    def send(self, message: Message) -> None:
        """Send a message, or keep what the host does not take at once for `flush`."""
        attached = self._attached
        if isinstance(message, WindowSize) and attached is not None:
            self._attached = Attach(message.columns, message.rows, attached.focus, attached.only_reads)
        elif isinstance(message, FocusChange) and attached is not None:
            self._attached = Attach(attached.columns, attached.rows, message.focus, attached.only_reads)
        self._out += encode(message)
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
            raise HostGone(f"the terminal's host said something that nobody understands: {error}") from error
        for index, message in enumerate(messages):
            if isinstance(message, Bye):
                if index:  # first what came before it; the goodbye shows as the end of the stream
                    self._parted = message.text
                    return messages[:index]
                raise HostGone(message.text or "the terminal's host said goodbye")
        return messages

    def reconnect(self) -> bool:
        """Try once to connect again and to ask for everything again; tells whether it worked. Raises HostGone."""
        if self._parted is not None:
            raise HostGone(self._parted or "the terminal's host said goodbye")
        self._socket.close()
        self._out.clear()
        try:
            self._socket = self._connect()
        except HostUnreachable:
            return False
        if self._attached is not None:
            self.send(self._attached)
        return True

    def close(self) -> None:
        """Say goodbye and close."""
        with contextlib.suppress(OSError):
            self._socket.send(encode(Bye()))
        self._socket.close()

    def _connect(self) -> socket.socket:
        self._decoder = Decoder(FromHost)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            connection.connect(str(self._path))
        except OSError as error:
            connection.close()
            message = f"nobody answers at {self._path} ({error.strerror}): `agents terminal list` lists what lives"
            raise HostUnreachable(message) from error
        if not is_same_user(connection):
            connection.close()
            message = f"the process at {self._path} is another user's: nothing was sent to it"
            raise HostUnreachable(message)
        self._out += encode(Hello(name=self._name))
        self._socket = connection
        self.flush()
        return connection


class Client:
    """A connection that waits."""

    def __init__(self, path: Path, name: str) -> None:
        """Connect and greet. Raises HostUnreachable."""
        self.link = Link(path, name)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say goodbye."""
        self.close()

    def attach(self, columns: int, rows: int, *, focus: str = "focused", only_reads: bool = False) -> None:
        """Ask for pictures."""
        self.link.attach(Attach(columns, rows, focus, only_reads))  # type: ignore[arg-type]

    def send(self, message: Message, patience_s: float = 30.0) -> None:
        """Send a message whole. Raises HostGone when the host does not take it."""
        self.link.send(message)
        deadline = time.monotonic() + patience_s
        while self.link.wants_to_write:
            if time.monotonic() > deadline:
                raise HostGone("the terminal's host does not read")
            select.select([], [self.link], [], 0.1)
            self.link.flush()

    def receive(self, timeout_s: float) -> list[Message]:
        """Return the messages that come within so long, none if none do; a broken connection is mended.

        Raises HostGone when it cannot be, or the host said goodbye.
        """
        if not select.select([self.link], [], [], max(0.0, timeout_s))[0]:
            return []
        try:
            return self.link.receive()
        except ConnectionResetError:
            self.mend()
            return []

    def events(self, timeout_s: float) -> Iterator[Message]:
        """Yield messages until nothing has come for so long."""
        while messages := self.receive(timeout_s):
            yield from messages

    def mend(self) -> None:
        """Connect again, trying for a while. Raises HostGone."""
        deadline = time.monotonic() + _AGAIN_WITHIN_S
        while not self.link.reconnect():
            if time.monotonic() > deadline:
                raise HostGone("the terminal's host has died, and its program has lost its terminal")
            time.sleep(_AGAIN_EVERY_S)

    def close(self) -> None:
        """Say goodbye and close."""
        self.link.close()
