"""Lines out of a stream that is cut anywhere, without those that are too long; and the JSON in a line. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from oulipoly_engine.records import Record

# Half a character above U+FFFF, as JavaScript writes it when a text was cut there: `\ud83d` without its second half.
_HALF = re.compile(
    r"""(?<!\\)((?:\\\\)*)                                    # behind an even number of backslashes
    (?: \\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])       # a first half without a second one
    | (?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})""",
    re.VERBOSE,
)


class Oversized(Record):
    """A line that was left out."""

    length: int  # bytes, its newline among them
    last_byte: bytes  # before the newline


class LineSplitter:
    """Splits a stream into lines; it holds one unfinished line at most."""

    def __init__(self, limit: int) -> None:
        """limit: bytes of a line with its newline."""
        self._limit = limit
        self._pending = bytearray()
        self._dropped = 0  # bytes of the line that is being left out
        self._last = b""

    def feed(self, data: bytes | memoryview) -> Iterator[bytes | Oversized]:
        """Take bytes and yield the lines that are complete now, without their newlines."""
        start, data = 0, bytes(data)
        while (end := data.find(b"\n", start)) >= 0:
            yield self._finish(data[start:end])
            start = end + 1
        self._add(data[start:])

    def rest(self) -> bytes:
        """Return what stands behind the last newline, once the stream has ended."""
        rest = bytes(self._pending)
        self._pending.clear()
        return rest

    def unfinished(self, limit: int = 4096) -> bytes:
        """Return the end of the line that has no newline yet: a prompt stands there, which waits for an answer."""
        return bytes(self._pending[-limit:])

    def _add(self, part: bytes) -> None:
        if not part:
            return
        if not self._dropped and len(self._pending) + len(part) < self._limit:
            self._pending += part
            return
        self._dropped += len(self._pending) + len(part)
        self._pending.clear()
        self._last = part[-1:]

    def _finish(self, part: bytes) -> bytes | Oversized:
        self._add(part)
        if self._dropped:
            length, self._dropped = self._dropped + 1, 0
            return Oversized(length, self._last)
        line = bytes(self._pending)
        self._pending.clear()
        return line


def decode_json(line: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return what a line holds. Raises ValueError where it is no JSON."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        mended = _HALF.sub(r"\1\\ufffd", line.decode("utf-8", "replace"))
        return _decode_mended(mended)
    except RecursionError as error:
        raise _too_deep() from error


def _decode_mended(text: str) -> Any:  # noqa: ANN401 - as above
    try:
        return msgspec.json.decode(text)
    except RecursionError as error:
        raise _too_deep() from error


def _too_deep() -> ValueError:
    return ValueError("the JSON is nested too deeply")
