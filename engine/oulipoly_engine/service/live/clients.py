"""The clients of a live session's host: what waits to be sent to each is bounded, and only deltas are left out."""

from __future__ import annotations

import socket
import time

import msgspec

from oulipoly_engine.core.live.events import ItemDelta, Numbered
from oulipoly_engine.host.frames import Bye, Decoder, Hello, Message, WireBroken, encode
from oulipoly_engine.records import replace
from oulipoly_engine.service.live.protocol import VERSION, FromClient, Happened

_CHUNK = 64 << 10
_PAUSE_S = 0.015  # between two deltas to one client: nobody sees more of them, and each costs both ends
_UNREAD_LIMIT = 64 << 10  # bytes that wait before deltas are gathered instead
_GATHERED_LIMIT = 256 << 10  # characters of one item's deltas; what is older is left out
_GIVEN_UP = 64 << 20  # bytes that wait before a client is let go: it comes again and reads what is kept
_encoder = msgspec.json.Encoder()


class ClientSeat:
    """A connection from a client."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.name = ""
        self.follows = False
        self.takes_deltas = True
        self.watched = 0  # the events that the selector looks for
        self._decoder = Decoder(FromClient)
        self._greeted = False
        self._out = bytearray()
        self._gathered: dict[tuple[str, str], Numbered] = {}
        self._told_at = 0.0  # when it was sent a delta

    @property
    def has_unsent(self) -> bool:
        """Return whether bytes wait for it to read."""
        return bool(self._out)

    @property
    def is_lost(self) -> bool:
        """Return whether it leaves so much unread that it is not worth waiting for."""
        return len(self._out) > _GIVEN_UP

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
        received = self._decoder.feed(data)
        if received and not self._greeted:
            self._greet(received[0])
        return received

    def _greet(self, first: Message) -> None:
        if not isinstance(first, Hello):
            text = "the first message must be hello"
            raise WireBroken(text)
        if first.version != VERSION:
            text = f"this session's host speaks version {VERSION} of the protocol, not {first.version}: it was started"
            raise WireBroken(f"{text} by another release; `agents session close` ends it")
        self.name, self._greeted = first.name[:80], True
        self.send(Hello(VERSION, "live"))

    def tell(self, numbered: Numbered) -> None:
        """Send an event; deltas are put together while they come fast, or while the client does not read."""
        event = numbered.event
        if isinstance(event, ItemDelta):
            if not self.takes_deltas:
                return
            now = time.monotonic()
            if self._gathered or len(self._out) > _UNREAD_LIMIT or now - self._told_at < _PAUSE_S:
                self._gather(numbered, event)
                return
            self._told_at = now
        else:
            self._send_gathered()
        self.send(Happened(_encoder.encode(numbered)))

    def send(self, message: Message) -> None:
        """Send a message now or, if the client does not read, later."""
        data = encode(message)
        if not self._out:
            data = data[self._write(data) :]
        self._out += data

    def flush(self) -> None:
        """Send what waits, as far as the client reads."""
        if self._out:
            del self._out[: self._write(self._out)]
        self.send_due(time.monotonic())

    def send_due(self, now: float) -> float | None:
        """Send the deltas that are put together, once it is time. Returns the seconds until then; None: none wait."""
        if not self._gathered or self._out:
            return None
        left = self._told_at + _PAUSE_S - now
        if left > 0:
            return left
        self._told_at = now
        self._send_gathered()
        return None

    def close(self, text: str = "") -> None:
        """Close the connection, after a goodbye if the client still reads."""
        if not self._out:
            self._write(encode(Bye(text)))
        self.connection.close()

    def _gather(self, numbered: Numbered, event: ItemDelta) -> None:
        key = event.item_id, event.stream
        before = self._gathered.get(key)
        if before is not None and isinstance(before.event, ItemDelta):
            event = replace(event, text=(before.event.text + event.text)[-_GATHERED_LIMIT:])
        self._gathered[key] = replace(numbered, event=event)

    def _send_gathered(self) -> None:
        gathered, self._gathered = self._gathered, {}
        for numbered in gathered.values():
            self.send(Happened(_encoder.encode(numbered)))

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return self.connection.send(data)
        except BlockingIOError:
            return 0
        except OSError:  # it is gone; reading shows the end
            return len(data)
