"""A client's socket as a host holds it: messages in, messages out, and what waits while the client does not read."""

from __future__ import annotations

import socket
from typing import Any

from oulipoly_engine.host.frames import NAME_LIMIT, Budget, Bye, Decoder, Hello, Message, WireBroken, agree, encode

_CHUNK = 64 << 10  # larger ones come from the kernel anew each time


class ClientSocket:
    """A connection from a client."""

    def __init__(self, connection: socket.socket, messages: Any, budget: Budget) -> None:  # noqa: ANN401 - a union
        """messages: the union of those that clients send. budget: the host's."""
        connection.setblocking(False)
        self.connection = connection
        self.name = ""
        self.greeted = False
        self.watched = 0  # the events that the selector looks for
        self.budget = budget  # once it has greeted, what both ends keep to
        self._decoder = Decoder(messages, budget.largest)
        self._out = bytearray()

    @property
    def has_unsent(self) -> bool:
        """Return whether bytes wait for it to read."""
        return bool(self._out)

    def receive(self) -> list[Message]:
        """Return the messages that have come. Raises EOFError when the client is gone, WireBroken for rubbish."""
        try:
            data = self.connection.recv(_CHUNK)
        except BlockingIOError:
            return []
        except OSError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        received: list[Message] = self._decoder.feed(data)
        if not self.greeted and received and not isinstance(received[0], Hello):
            raise WireBroken("the first message must be hello")
        return received

    def greet(self, first: Hello, name: str) -> bool:
        """Take the client's hello and answer it. name: the host's. Returns False where it speaks another version."""
        agreed = agree(self.budget, Budget(first.version, first.largest))
        if agreed is None:
            return False
        self.send(Hello(self.budget.version, name, self.budget.largest))
        self.name, self.greeted, self.budget = first.name[:NAME_LIMIT], True, agreed
        return True

    def send(self, message: Message) -> None:
        """Send a message now or, if the client does not read, later. Raises WireBroken where it takes none so large."""
        data = encode(message, self.budget.largest)
        if self._out:
            self._out += data
            return
        count = self._write(data)
        self._out += memoryview(data)[count:]

    def flush(self) -> None:
        """Send what waits, as far as the client reads."""
        if self._out:
            del self._out[: self._write(self._out)]

    def close(self, text: str | None = None) -> None:
        """Close the connection, after a goodbye, where there is a text, if the client still reads."""
        if text is not None and not self._out:
            self._write(encode(Bye(text)))
        self.connection.close()

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return self.connection.send(data)
        except BlockingIOError:
            return 0
        except OSError:  # it is gone; what it sent before may still be there to read, and shows the end
            return len(data)
