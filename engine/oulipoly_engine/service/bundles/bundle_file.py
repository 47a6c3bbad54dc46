"""A bundle as bytes: written and read in one pass, by a pipe or a file, with flat memory.

The reader takes exactly what the writer makes: a gzipped tar of plain files, in the manifest's order. It has its own
few lines for tar headers, because a general reader obeys long names, links, sparse maps and header sizes, and reads
what these claim into memory.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import BinaryIO

from oulipoly_engine import stopping
from oulipoly_engine.core.archive.bundle import (
    MANIFEST,
    MOST_MANIFEST_BYTES,
    BundledFile,
    BundleRefused,
    Manifest,
    check_ratio,
    read_manifest,
    write_manifest,
)
from oulipoly_engine.errors import RunnerError

_BLOCK = 1 << 20
_RECORD = 512  # bytes; tar's unit
_PADDING = 1 << 20  # bytes of zeros that may follow the end mark
_LEVEL = 6
_MODE = 0o600


class BundleInvalid(RunnerError, slug="invalid-bundle", exit_code=15):
    """A bundle is damaged, cut off, or not as we write it."""


class BundleChanged(RunnerError):
    """A file was rewritten while it was bundled."""


def write_bundle(
    manifest: Manifest, contents: Callable[[BundledFile], Iterable[bytes]], write: Callable[[bytes], object]
) -> None:
    """Write a whole bundle.

    contents: gives a file's bytes, at least as many as the manifest says; what is behind them is not taken.
    Raises BundleChanged when they are not what the manifest says, RunnerError when no machine would unpack so much.
    """
    sink = _Sink(write)
    with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=sink, mtime=0) as packed:
        data = write_manifest(manifest)
        packed.write(_header(MANIFEST, len(data)))
        packed.write(data + _make_padding(len(data)))
        for file in manifest.files:
            packed.write(_header(file.member, file.size_bytes))
            digest, left = sha256(), file.size_bytes
            for block in contents(file):
                stopping.check()
                taken = block[:left]
                digest.update(taken)
                packed.write(taken)
                left -= len(taken)
                _check_written_ratio(file, packed.tell(), sink.size_bytes)
                if not left:
                    break
            if left or digest.hexdigest() != file.sha256:
                raise BundleChanged(f"{file.name} was rewritten while it was bundled: run it again")
            packed.write(_make_padding(file.size_bytes))
        packed.write(bytes(2 * _RECORD))


class BundleReader:
    """A bundle that is read from its beginning to its end."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = _Counted(raw)
        self._packed = gzip.GzipFile(fileobj=self._raw, mode="rb")

    def manifest(self) -> Manifest:
        """Return the manifest. Raises BundleInvalid."""
        with _translate_errors():
            name, size = self._header()
            if name != MANIFEST:
                raise BundleRefused(f"it does not begin with {MANIFEST}")
            if size > MOST_MANIFEST_BYTES:
                raise BundleRefused(f"its manifest has {size} bytes, and the most are {MOST_MANIFEST_BYTES}")
            data = self._take(size)
            self._take(-size % _RECORD)
            manifest = read_manifest(data)
            packed_bytes = self._raw.find_size()
            if packed_bytes is not None:
                check_ratio(sum(file.size_bytes for file in manifest.files), packed_bytes)
            return manifest

    def member(self, file: BundledFile) -> Iterator[bytes]:
        """Yield a file's bytes, which must be the next ones; their hash is checked at their end.

        Raises BundleInvalid.
        """
        with _translate_errors():
            name, size = self._header()
            if (name, size) != (file.member, file.size_bytes):
                message = f"{file.member} of {file.size_bytes} bytes should come, not {name[:100]!r} of {size}"
                raise BundleRefused(message)
            digest, left = sha256(), size
            while left:
                stopping.check()
                block = self._take(min(left, _BLOCK))
                digest.update(block)
                left -= len(block)
                yield block
            if digest.hexdigest() != file.sha256:
                raise BundleRefused(f"{file.name} does not have the hash that the manifest says")
            self._take(-size % _RECORD)

    def end(self) -> None:
        """Read to the end, where nothing else may stand; the whole stream's checksum is checked here.

        Raises BundleInvalid.
        """
        with _translate_errors():
            rest = self._packed.read(_PADDING + 1)
            while more := self._packed.read(_PADDING + 1):
                rest += more
                if len(rest) > _PADDING:
                    break
            if len(rest) < 2 * _RECORD or len(rest) > _PADDING or rest.strip(b"\0"):
                raise BundleRefused("something stands behind the last file")

    def _header(self) -> tuple[str, int]:
        """Return name and size of the next member."""
        block = self._take(_RECORD)
        if not block.strip(b"\0"):
            raise BundleRefused("it ends before its last file")
        name, size, total, kind = block[:100], block[124:136], block[148:156], block[156:157]
        try:
            expected, length = int(total.strip(b" \0"), 8), int(size.strip(b" \0"), 8)
        except ValueError:
            expected, length = -1, 0
        if length < 0 or expected != sum(block) - sum(total) + 8 * 32 or block[345:500].strip(b"\0"):
            raise BundleRefused("a header is damaged, or not of our making")
        if kind not in (b"0", b"\0"):
            raise BundleRefused(f"{name.rstrip(bytes(1))[:100]!r} is not a plain file")
        return name.rstrip(b"\0").decode("utf-8", "replace"), length

    def _take(self, size: int) -> bytes:
        data = self._packed.read(size)
        if len(data) < size:
            raise BundleRefused("it is cut off")
        check_ratio(self._packed.tell(), self._raw.size_bytes)  # of a pipe nobody knew the size before
        return data


class _Sink(io.RawIOBase):
    """What gzip writes to."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self.size_bytes = 0  # written so far

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # the stub wants any buffer
        self._write(data)
        self.size_bytes += len(data)
        return len(data)


class _Counted(io.RawIOBase):
    """What gzip reads from."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.size_bytes = 0  # read so far

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self.size_bytes += len(data)
        return data

    def find_size(self) -> int | None:
        """Return how many bytes there are in all, None for a pipe."""
        if not self._raw.seekable():
            return None
        here = self._raw.tell()
        size = self._raw.seek(0, io.SEEK_END) - here + self.size_bytes
        self._raw.seek(here)
        return size


def _check_written_ratio(file: BundledFile, unpacked_bytes: int, packed_bytes: int) -> None:
    try:
        check_ratio(unpacked_bytes, packed_bytes)
    except BundleRefused as error:  # what nobody could unbundle is not to be found out there
        message = f"the bundle was not written, for no machine would take it: up to {file.name}, {error}"
        raise RunnerError(message) from error


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, _MODE
    return info.tobuf(tarfile.USTAR_FORMAT)


def _make_padding(size: int) -> bytes:
    return bytes(-size % _RECORD)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (BundleRefused, EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = "it is cut off" if isinstance(error, EOFError) else str(error)
        message = f"the bundle cannot be taken, and nothing was written: {reason}; make it again with `session bundle`"
        raise BundleInvalid(message) from error
    except OSError as error:
        message = f"the bundle cannot be read: {error.strerror or error}"
        raise RunnerError(message) from error
