"""Identifiers as the two vendors write them, without the `uuid` module (which costs the CLI 3 ms a start)."""

from __future__ import annotations

import os
import re

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def random_uuid() -> str:
    """Return a random UUID (version 4)."""
    return _text(bytearray(os.urandom(16)), version=4)


def timed_uuid(now: float) -> str:
    """Return a UUID that sorts by time (version 7), as Codex names its threads; `now` is in Unix seconds."""
    return _text(bytearray(int(now * 1000).to_bytes(6, "big") + os.urandom(10)), version=7)


def uuid_of(raw: bytes, *, version: int) -> str:
    """Return the UUID that 16 bytes make, so that dice can name what shall have the same name every time."""
    return _text(bytearray(raw), version=version)


def is_uuid(text: str) -> bool:
    """Tell whether `text` is a UUID in the usual 36 characters."""
    return _UUID.fullmatch(text) is not None


def message_id() -> str:
    """Return an id for one API reply, in the form of Claude's."""
    return "msg_" + os.urandom(12).hex()


def _text(raw: bytearray, *, version: int) -> str:
    raw[6] = (raw[6] & 0x0F) | (version << 4)
    raw[8] = (raw[8] & 0x3F) | 0x80
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
