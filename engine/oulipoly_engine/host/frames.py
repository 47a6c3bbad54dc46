"""The frames between a host and its clients, and the messages that all protocols share. Pure: bytes in, messages out.

A frame is four bytes of length, big-endian, and a msgpack array: the name of the message, then its fields in order.
The first message names the version, and another version is refused with a sentence. It names the largest frame that its
sender takes, too, where that is not the usual one: hosts outlive the app, so the two ends may be of different releases.
"""

from __future__ import annotations

import struct
from typing import Annotated, Any

import msgspec

from oulipoly_engine.records import Record, prepare

VERSION = 1
USUAL = 32 << 20  # bytes of one frame: a paste of that size, or a thousand hits of a search, fits well
LARGEST = USUAL  # of those that this release takes
SMALLEST = 64 << 10  # of what an end may say that it takes
NAME_LIMIT = 80  # characters of who a client is
_LENGTH = struct.Struct(">I")


class WireBroken(Exception):
    """The received bytes are no message of ours; the connection cannot be used any more."""


class Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The root of all messages."""


class Hello(Message, frozen=True, tag="hello"):
    """The first message of each end."""

    version: int = VERSION
    name: str = ""  # who speaks, for people: "app", "attach", "host"
    largest: Annotated[int, msgspec.Meta(ge=SMALLEST)] = USUAL  # bytes of a frame that the sender takes


class _UsualHello(Message, frozen=True, tag="hello"):
    """A Hello as all releases know it; they refuse fields that they do not know."""

    version: int
    name: str


class Budget(Record):
    """What an end of a connection speaks, and the largest frame that it takes, in bytes."""

    version: int = VERSION
    largest: int = LARGEST


def agree(one: Budget, other: Budget) -> Budget | None:
    """Return what two ends keep to, in both directions; None: they do not understand each other."""
    return min(one, other, key=lambda budget: budget.largest) if one.version == other.version else None


class Bye(Message, frozen=True, tag="bye"):
    """The sender closes the connection on purpose; the text says why, empty when there is nothing to say."""

    text: str = ""


_encoder = msgspec.msgpack.Encoder()


def encode(message: Message, largest: int = LARGEST) -> bytes:
    """Return a message as one frame. Raises WireBroken when it is larger than a frame may be."""
    if isinstance(message, Hello) and message.largest == USUAL:
        message = _UsualHello(message.version, message.name)
    data = _encoder.encode(message)
    if len(data) > largest:
        raise WireBroken(f"a message of {len(data):,} bytes is larger than the limit of {largest:,}")
    return _LENGTH.pack(len(data)) + data


class Decoder:
    """Turns bytes, cut anywhere, into messages. It holds one frame and one piece at most."""

    def __init__(self, messages: Any, largest: int = LARGEST) -> None:  # noqa: ANN401 - a union type is not a type[...]
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(prepare(messages))
        self._largest = largest
        self._pending = bytearray()

    def feed(self, data: bytes | memoryview) -> list[Any]:
        """Take bytes and return the messages that are complete now.

        Raises WireBroken for a frame that is too large or no message; nothing can be read after that.
        """
        pending = self._pending
        pending += data
        decoded = []
        start = 0
        while len(pending) - start >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(pending, start)
            if size > self._largest:
                raise WireBroken(f"a frame of {size} bytes is announced, more than the limit of {self._largest}")
            end = start + _LENGTH.size + size
            if len(pending) < end:
                break
            decoded.append(self._read(bytes(pending[start + _LENGTH.size : end])))
            start = end
        if start:
            del pending[:start]
        return decoded

    def _read(self, data: bytes) -> Any:  # noqa: ANN401 - one of the union
        try:
            return self._decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise WireBroken(f"no message of ours: {error}") from error
