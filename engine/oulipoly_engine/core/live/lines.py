"""Lines out of a stream that is cut anywhere; one that is too long is left out, and the next is whole again. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from oulipoly_engine.records import Record


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
