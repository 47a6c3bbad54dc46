"""Compressed chunks as files named by their hash, each there whole or not at all."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.private_files import make_folder, open_private, sync_folder
from oulipoly_engine.records import Record, field

_LEVEL = 3  # on real transcripts 146 MB/s to a 5.9th; level 6: 66 MB/s to a 7.6th, level 1 is no faster than 3
_MOST_RAW = 64 << 20  # bytes that a chunk of ours can never have


class ArchiveDamaged(RunnerError, slug="archive-damaged"):
    """A kept copy is not what it was."""


class ObjectFolder(Record, frozen=False):
    """The objects of an archive. Written ones count only after `settle`."""

    folder: Path
    _unsettled: dict[bytes, tuple[Path, int]] = field(default_factory=dict)

    def add(self, chunk: bytes) -> bytes:
        """Write a chunk, unless it is there, and return its hash. Raises OSError."""
        digest = sha256(chunk).digest()
        if digest not in self._unsettled:
            final = self._path(digest)
            try:
                self._unsettled[digest] = (final, final.stat().st_size)
            except FileNotFoundError:
                self._unsettled[digest] = (self._write(final, zlib.compress(chunk, _LEVEL)), 0)
        return digest

    @property
    def unsettled(self) -> int:
        """Return how many objects are not settled yet."""
        return len(self._unsettled)

    def settle(self) -> dict[bytes, int]:
        """Sync what was added and give it its names; return the objects' sizes in bytes. Raises OSError."""
        sizes: dict[bytes, int] = {}
        folders: set[Path] = set()
        for digest, (path, size) in self._unsettled.items():
            final = self._path(digest)
            sizes[digest] = size or _sync_and_measure(path)
            if path != final:
                path.rename(final)
                folders.add(final.parent)
        for folder in folders:
            sync_folder(folder)
        self._unsettled.clear()
        return sizes

    def abandon(self) -> None:
        """Remove what was added and not settled."""
        for digest, (path, _) in self._unsettled.items():
            if path != self._path(digest):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        self._unsettled.clear()

    def read(self, digest: bytes, size: int) -> bytes:
        """Return a chunk. Raises ArchiveDamaged when it is gone or not what it was."""
        path = self._path(digest)
        try:
            unpacked = zlib.decompressobj().decompress(path.read_bytes(), min(size + 1, _MOST_RAW))
        except (OSError, zlib.error) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ArchiveDamaged(f"the kept copy cannot be read: {path}: {reason}") from error
        if len(unpacked) != size or sha256(unpacked).digest() != digest:
            raise ArchiveDamaged(f"the kept copy is damaged: {path} does not hold what its name says")
        return unpacked

    def remove(self, digest: bytes) -> None:
        """Remove an object."""
        self._path(digest).unlink(missing_ok=True)

    def strays(self) -> Iterator[tuple[bytes | None, Path]]:
        """Yield every file in the folder with the hash that it is named by; None: no object's name."""
        for path in self.folder.glob("??/*"):
            try:
                yield bytes.fromhex(path.name.removesuffix(".z")), path
            except ValueError:
                yield None, path

    def _write(self, final: Path, data: bytes) -> Path:
        make_folder(final.parent)
        temporary = final.with_name(f"{final.name}.part")  # a fixed name: the archive's lock is held
        descriptor = open_private(temporary, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except BaseException as error:
            with suppress(OSError):
                temporary.unlink()
            if isinstance(error, OSError):  # a full disk names no file
                raise OSError(error.errno, error.strerror, str(temporary)) from error
            raise
        return temporary

    def _path(self, digest: bytes) -> Path:
        name = digest.hex()
        return self.folder / name[:2] / f"{name}.z"


def _sync_and_measure(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
