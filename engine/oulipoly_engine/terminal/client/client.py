"""The client's end of a terminal.

`Link` never waits: it has a descriptor for any event loop, takes what has come and sends what it can. `Client` waits,
for commands and tests. A `RemoteScreen` makes rows of `Picture`s.

The host's process that we are connected to may die of its emulator at any moment. The socket then still listens, and
the next process takes over: a link that breaks without a goodbye is made again, and everything that was asked for is
asked for again, the full picture with it.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from oulipoly_engine.host import link
from oulipoly_engine.host.link import HostGone, HostUnreachable, Kind
from oulipoly_engine.terminal.protocol.messages import Attach, FocusChange, FromHost, Message, WindowSize

__all__ = ["HostGone", "HostUnreachable"]

_AGAIN_WITHIN_S = 5.0  # three starts of a screen's process
_AGAIN_EVERY_S = 0.05


TERMINAL = Kind("terminal", "agents terminal list", FromHost)


class Link(link.Link):
    """A connection that never waits."""

    def __init__(self, path: Path, name: str) -> None:
        """Connect and greet. Raises HostUnreachable."""
        self._attached: Attach | None = None
        super().__init__(path, name, TERMINAL)

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
        super().send(message)

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
