"""Read a tar of somebody else, packed by gzip or not, entry after entry: its headers, sizes and time have limits."""

from __future__ import annotations

import gzip
import os
import tarfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Self

from oulipoly_engine.blobs.blobs import BLOCK

BROKEN = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, RecursionError, OverflowError)
_GZIP = b"\x1f\x8b"
_LONGEST_HEADER = 4096  # bytes
_UNPACKING_S = 60.0
_MOST_ENDS = 4  # times that nothing was left to read


class TarRefused(Exception):
    """It has a header that is too long, or takes too much time."""


class _Header(tarfile.TarInfo):
    """A header that says no more than one needs: Python before 3.11.10 searches it for the square of its length."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        is_long = header.type not in (*tarfile.REGULAR_TYPES, tarfile.DIRTYPE) and header.size > _LONGEST_HEADER
        if is_long:
            raise TarRefused(f"it has a header of more than {_LONGEST_HEADER} bytes: pack it without attributes")
        return header


class _Limited:
    """An archive's bytes, unpacked, as long as they are as many as they may be and do not take too long."""

    def __init__(self, file: gzip.GzipFile | BinaryIO, check: Callable[[int], None]) -> None:
        self._file = file
        self._check = check
        self._unpacked = 0
        self._ends = 0
        self._deadline = time.monotonic() + _UNPACKING_S

    def read(self, size: int) -> bytes:
        if time.monotonic() > self._deadline:
            raise TarRefused(f"the archive takes more than {_UNPACKING_S:.0f} s to unpack: nothing of use does")
        data = self._file.read(min(size, BLOCK))
        self._ends += not data
        if self._ends > _MOST_ENDS:  # tarfile would go on to the end of what an entry claims
            raise EOFError("unexpected end of data")
        self._unpacked += len(data)
        self._check(self._unpacked)
        return data


@contextmanager
def open_tar(file: BinaryIO, check: Callable[[int, int], None]) -> Iterator[tarfile.TarFile]:
    """Give an archive whose entries are read in the order in which they lie there, by `entries`.

    check: gets the bytes of the file, and those that were unpacked, and raises where these are too many.
    Raises TarRefused, and what `BROKEN` names.
    """
    packed = os.fstat(file.fileno()).st_size
    is_gzip = file.read(2) == _GZIP
    file.seek(0)
    reader = _Limited(gzip.GzipFile(fileobj=file) if is_gzip else file, lambda unpacked: check(packed, unpacked))
    with tarfile.open(fileobj=reader, mode="r|", bufsize=64 << 10, tarinfo=_Header) as archive:  # type: ignore[call-overload]  # reads
        yield archive


def entries(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield what an archive holds, of which it remembers nothing: a million entries take no memory."""
    while (member := archive.next()) is not None:
        archive.members.clear()  # type: ignore[attr-defined]  # a list, as documented
        yield member
