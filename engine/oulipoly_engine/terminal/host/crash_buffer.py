"""What outlives a crash of the emulator: the child's last output and the last dump of the screen, in shared memory.

Made by the supervisor before it forks, written by the screen's process, read by the next one. Nothing here is taken
on trust: a process may have died in the middle of any write. The output's counter is moved after its bytes lie there,
and of two dumps the older one stays whole while the newer is written.
"""

from __future__ import annotations

import mmap
import struct
import zlib

RING = 2 << 20  # bytes of output kept
DUMP_SLOT = 32 << 20  # bytes a dump may take; pages that are not written cost nothing
_TOTAL = struct.Struct("=Q")
_SLOT = struct.Struct("=QQQI")  # number of the dump, the output's total when it was made, length, checksum
_SIZE = struct.Struct("=II")
_SIZE_AT = 32
_HEADER = 4096


class CrashBuffer:
    """A ring of output and two slots for dumps."""

    def __init__(self, ring: int = RING, dump_slot: int = DUMP_SLOT) -> None:
        self._ring = ring
        self._dump_slot = dump_slot
        self._map = mmap.mmap(-1, _HEADER + ring + 2 * dump_slot)

    @property
    def total(self) -> int:
        """Return how many bytes the child has printed so far."""
        return int(_TOTAL.unpack_from(self._map, 0)[0])

    @property
    def size(self) -> tuple[int, int]:
        """Return the terminal's columns and rows; the child can set its line's own size to anything."""
        columns, rows = _SIZE.unpack_from(self._map, _SIZE_AT)
        return columns, rows

    @size.setter
    def size(self, size: tuple[int, int]) -> None:
        _SIZE.pack_into(self._map, _SIZE_AT, *size)

    def append(self, data: bytes) -> None:
        """Keep what the child has just printed."""
        total = self.total
        tail = data[-self._ring :]
        at = (total + len(data) - len(tail)) % self._ring
        first = tail[: self._ring - at]
        self._map[_HEADER + at : _HEADER + at + len(first)] = first
        if len(first) < len(tail):
            self._map[_HEADER : _HEADER + len(tail) - len(first)] = tail[len(first) :]
        _TOTAL.pack_into(self._map, 0, total + len(data))

    def output_since(self, position: int) -> tuple[bytes, bool]:
        """Return what was printed since a position, and whether all of it is still here.

        What is left of a longer output begins after a line's end, so that it does not begin inside a sequence.
        """
        total = self.total
        oldest = max(0, total - self._ring)
        start = max(position, oldest) % self._ring
        count = total - max(position, oldest)
        view = self._map
        data = view[_HEADER + start : _HEADER + min(start + count, self._ring)]
        if len(data) < count:
            data += view[_HEADER : _HEADER + count - len(data)]
        if position >= oldest:
            return data, True
        return data[data.find(b"\n") + 1 :], False

    def keep_dump(self, data: bytes, undrawn: int = 0) -> bool:
        """Keep a dump of the screen as it is after all output so far; tell whether it fits. undrawn: bytes to come."""
        if len(data) > self._dump_slot:
            return False
        number = max(self._slot(0)[0], self._slot(1)[0]) + 1
        at = self._place(number % 2)
        self._map[at : at + len(data)] = data
        _SLOT.pack_into(self._map, 64 * (1 + number % 2), number, self.total - undrawn, len(data), zlib.crc32(data))
        return True

    def dump(self) -> tuple[bytes, int] | None:
        """Return the last whole dump and the output's total when it was made; None when there is none."""
        for slot in sorted((0, 1), key=lambda slot: -self._slot(slot)[0]):
            number, position, length, checksum = self._slot(slot)
            if number == 0 or length > self._dump_slot:
                continue
            data = self._map[self._place(slot) : self._place(slot) + length]
            if zlib.crc32(data) == checksum:
                return data, position
        return None

    def close(self) -> None:
        """Give the memory back."""
        self._map.close()

    def _slot(self, slot: int) -> tuple[int, int, int, int]:
        number, position, length, checksum = _SLOT.unpack_from(self._map, 64 * (1 + slot))
        return number, position, length, checksum

    def _place(self, slot: int) -> int:
        return _HEADER + self._ring + slot * self._dump_slot
