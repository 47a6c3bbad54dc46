"""What the host of a live session and its clients say to each other, in the frames of `host.frames`. Pure.

A client says Hello, then Follow if it wants what happens; each order is answered once. Events come in the order of
their numbers. A client that does not read misses deltas, and nothing else.
"""

from __future__ import annotations

from typing import Any, Self

import msgspec

from oulipoly_engine.core.live.orders import AnyOrder, Order, read_order, write_order
from oulipoly_engine.host.frames import NAME_LIMIT as NAME_LIMIT
from oulipoly_engine.host.frames import Budget, Bye, Hello, Message
from oulipoly_engine.host.link import Kind
from oulipoly_engine.records import Record

VERSION = 1
COMPACTED = "its next process goes on with the summary"  # why a process ends once its session is compacted
SESSION_ENDS = "session-ends"  # the slug of an order's refusal: the next host takes it


class Client(Record):
    """Who is at the other end: what it answers and sends is recorded by the name."""

    name: str  # of NAME_LIMIT characters
    is_person: bool = False  # in the app or on a page: what it sends takes control


class Follow(Message, frozen=True, tag="follow"):
    """Ask for all events after a number, those that are kept first."""

    after: int = 0
    deltas: bool = True


class OrderFrame(Message, frozen=True, tag="order"):
    """Have something done: `core.live.orders` names what. `by_person` in its data: written in the app or on a page."""

    number: int  # the client's, for the answer
    verb: str
    data: dict[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def wrap(cls, number: int, order: Order, *, by_person: bool) -> Self:
        """Return an order as it is sent."""
        verb, fields = write_order(order)
        return cls(number, verb, fields | ({"by_person": True} if by_person else {}))

    @property
    def order(self) -> AnyOrder:
        """Return what is ordered. Raises UsageInvalid."""
        return read_order(self.verb, self.data)

    @property
    def is_by_person(self) -> bool:
        """Return whether it was written in the app or on a page."""
        return bool(self.data.get("by_person"))


class Answer(Message, frozen=True, tag="answer"):
    """What came of an order. error: `slug` and `message`; empty: it was done."""

    number: int
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    error: dict[str, Any] = msgspec.field(default_factory=dict)


class Happened(Message, frozen=True, tag="happened"):
    """One event. line: `core.live.events.Numbered` as JSON, which clients decode or print."""

    line: bytes


FromClient = Hello | Bye | Follow | OrderFrame
FromHost = Hello | Bye | Answer | Happened
LIVE = Kind("live session", "agents session list --live", FromHost, Budget(VERSION))
