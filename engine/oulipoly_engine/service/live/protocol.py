"""What the host of a live session and its clients say to each other, in the frames of `host.frames`. Pure.

A client says Hello, then Follow if it wants what happens; each Order is answered once. Events come in the order of
their numbers. A client that does not read misses deltas, and nothing else.
"""

from __future__ import annotations

from typing import Any

import msgspec

from oulipoly_engine.host.frames import NAME_LIMIT as NAME_LIMIT
from oulipoly_engine.host.frames import Budget, Bye, Hello, Message
from oulipoly_engine.host.link import Kind
from oulipoly_engine.records import Record

VERSION = 1
SESSION_ENDS = "session-ends"  # the slug of an order's refusal: the next host takes it


class Client(Record):
    """Who is at the other end: what it answers and sends is recorded by the name."""

    name: str  # of NAME_LIMIT characters
    is_person: bool = False  # in the app or on a page: what it sends takes control


class Follow(Message, frozen=True, tag="follow"):
    """Ask for all events after a number, those that are kept first."""

    after: int = 0
    deltas: bool = True


class Order(Message, frozen=True, tag="order"):
    """Have something done: `service.live.turns` names what. `by_person` in its data: written in the app or on a page.

    `clients` answers who has control and who is attached (`core.live.events.ClientsChanged`); hosts of earlier releases
    refuse it, and skip what they do not know in the data of others.
    """

    number: int  # the client's, for the answer
    verb: str
    data: dict[str, Any] = msgspec.field(default_factory=dict)


class Answer(Message, frozen=True, tag="answer"):
    """What came of an order. error: `slug` and `message`; empty: it was done."""

    number: int
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    error: dict[str, Any] = msgspec.field(default_factory=dict)


class Happened(Message, frozen=True, tag="happened"):
    """One event. line: `core.live.events.Numbered` as JSON, which clients decode or print."""

    line: bytes


FromClient = Hello | Bye | Follow | Order
FromHost = Hello | Bye | Answer | Happened
LIVE = Kind("live session", "agents session list --live", FromHost, Budget(VERSION))
