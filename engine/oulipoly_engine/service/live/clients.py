"""The clients of a live session's host: what waits to be sent to each is bounded, and only deltas are left out."""

from __future__ import annotations

import socket
import time

import msgspec

from oulipoly_engine.core.live.events import ClientsChanged, ItemDelta, Notice, Numbered
from oulipoly_engine.host.client_socket import ClientSocket
from oulipoly_engine.host.frames import Budget, Hello, Message, WireBroken
from oulipoly_engine.records import prepare, replace
from oulipoly_engine.service.live.protocol import LIVE, VERSION, Answer, FromClient, Happened

_PAUSE_S = 0.015  # between two deltas to one client: nobody sees more of them, and each costs both ends
_UNREAD_LIMIT = 64 << 10  # bytes that wait before deltas are gathered instead
_GATHERED_LIMIT = 256 << 10  # characters of one item's deltas; what is older is left out
_GIVEN_UP = 64 << 20  # bytes that wait before a client is let go: it comes again and reads what is kept
_AROUND_LINE = 1024  # bytes: what a frame has around an event
_encoder = msgspec.json.Encoder()


class _Head(msgspec.Struct):
    """What of an event tells its place."""

    seq: int
    at: str


class ClientSeat(ClientSocket):
    """A connection from a client."""

    def __init__(self, connection: socket.socket, budget: Budget = LIVE.budget) -> None:
        super().__init__(connection, FromClient, budget)
        self.follows = False
        self.takes_deltas = True
        self.names: tuple[str, ...] = ()  # who watches over it; empty: itself
        self.told_clients: ClientsChanged | None = None  # who is attached, as it was told; None: it does not ask
        self._gathered: dict[tuple[str, str], Numbered] = {}
        self._told_at = 0.0  # when it was sent a delta

    @property
    def is_lost(self) -> bool:
        """Return whether it leaves so much unread that it is not worth waiting for."""
        return len(self._out) > _GIVEN_UP

    def receive(self) -> list[Message]:
        """Return the messages that have come, and answer its hello. Raises EOFError when it is gone, WireBroken."""
        received = super().receive()
        first = received[0] if received and not self.greeted else None
        if isinstance(first, Hello) and not self.greet(first, "live"):
            text = f"this session's host speaks version {VERSION} of the protocol, not {first.version}: it was started"
            raise WireBroken(f"{text} by another release; `agents session close` ends it")
        return received

    def answer(self, answer: Answer) -> None:
        """Answer an order; one that the client takes no answer of that size to is done all the same."""
        try:
            self.send(answer)
        except WireBroken as error:
            self.send(Answer(answer.number, error={"slug": "oversized", "message": f"it was done, and {error}"}))

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
        self.send_line(_encoder.encode(numbered))

    def send_line(self, line: bytes) -> None:
        """Send an event as JSON; in place of one that no frame takes, as earlier releases kept them, a notice."""
        if len(line) > self.budget.largest - _AROUND_LINE:
            head = msgspec.json.decode(line, type=prepare(_Head))
            notice = Notice(f"an event of {len(line):,} bytes is left out: it is too long", "warning", "oversized")
            line = _encoder.encode(Numbered(head.seq, head.at, notice))
        self.send(Happened(line))

    def flush(self) -> None:
        """Send what waits, as far as the client reads."""
        super().flush()
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

    def _gather(self, numbered: Numbered, event: ItemDelta) -> None:
        key = event.item_id, event.stream
        before = self._gathered.get(key)
        if before is not None and isinstance(before.event, ItemDelta):
            event = replace(event, text=(before.event.text + event.text)[-_GATHERED_LIMIT:])
        self._gathered[key] = replace(numbered, event=event)

    def _send_gathered(self) -> None:
        gathered, self._gathered = self._gathered, {}
        for numbered in gathered.values():
            self.send_line(_encoder.encode(numbered))
