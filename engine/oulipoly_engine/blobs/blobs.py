"""Contents as files named by their SHA-256, each there whole or not at all.

A content is written under a name of its own and gets the name of its hash when it is placed: `FOLDER/ab/abcd…SUFFIX`,
or `FOLDER/abcd…` as OCI image layouts have it.
Until then it is locked by its writer, so that `collect` knows what a kill has left behind. Whoever places contents and
whoever collects them must exclude each other, by a lock or a transaction of their own.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from oulipoly_engine.private_files import make_folder, open_private, sync_folder
from oulipoly_engine.records import Record, field
from oulipoly_engine.regular_files import open_regular

BLOCK = 1 << 20  # bytes
_UNFINISHED = "unfinished-"
_HASH = re.compile(r"[0-9a-f]{64}(?:[0-9a-f]{64})?")
_UNFINISHED_ONCE = re.compile(r"\.?[0-9a-f]{64}\.(z\.part|gz\.\d+\.tmp)")  # as versions before 2026-12 called them


class BlobDamaged(Exception):
    """A content is gone, or is not what its name says. The text says which, and names no file."""


class Hash(Protocol):
    """What computes a hash."""

    def update(self, data: bytes, /) -> None:
        """Take the next piece."""

    def hexdigest(self) -> str:
        """Return the hash of all pieces."""


class Form(Record):
    """How contents lie on the disk."""

    suffix: str = ""  # of their names
    window_bits: int = 0  # as zlib has them, 15: zlib, 31: gzip; 0: as they are
    level: int = 6  # of compression
    is_flat: bool = False  # all lie in one folder
    algorithm: str = "sha256"  # of the hashes, as hashlib names it


class Staged(Record):
    """A content that is written and has no name yet."""

    sha256: str
    size: int  # bytes, before compression
    path: Path
    descriptor: int  # of the file, locked as long as it is open


class Blobs(Record, frozen=False):
    """The contents in one folder, which need not be there."""

    folder: Path
    form: Form = field(default_factory=Form)
    _added: dict[str, Staged | None] = field(default_factory=dict)  # by hash; None: it was there

    def path(self, sha256: str) -> Path:
        """Return where a content lies."""
        folder = self.folder if self.form.is_flat else self.folder / sha256[:2]
        return folder / f"{sha256}{self.form.suffix}"

    def new_hash(self) -> Hash:
        """Return what computes the hash of a content."""
        return hashlib.new(self.form.algorithm)

    def add(self, data: bytes, *, checks: bool = False) -> str:
        """Write a content unless it is there, and return its hash; it counts after `settle`. Raises OSError.

        checks: read the one that is there, and write it anew if it is damaged.
        """
        sha256 = hashlib.new(self.form.algorithm, data).hexdigest()
        if sha256 not in self._added:
            is_there = self.path(sha256).exists() and (not checks or self._is_whole(sha256))
            self._added[sha256] = None if is_there else self._write([data], lambda: sha256)
        return sha256

    @property
    def unsettled(self) -> int:
        """Return how many contents were added since the last `settle`."""
        return len(self._added)

    def settle(self) -> dict[str, int]:
        """Sync what was added and give it its names; return the bytes of each on the disk. Raises OSError."""
        staged = [blob for blob in self._added.values() if blob is not None]
        for blob in staged:
            os.fsync(blob.descriptor)
        self.place(*staged)
        sizes = {sha256: self.path(sha256).stat().st_size for sha256 in self._added}
        self.abandon()
        return sizes

    def abandon(self) -> None:
        """Remove what was added and not settled."""
        for blob in self._added.values():
            if blob is not None:
                self.drop(blob)
        self._added.clear()

    def stage(self, blocks: Iterable[bytes]) -> Staged:
        """Write a content and sync it. What the blocks raise passes through; then nothing is left. Raises OSError."""
        digest = self.new_hash()
        return self._write(_hash_meanwhile(blocks, digest.update), digest.hexdigest, syncs=True)

    def open_writer(self) -> Writer:
        """Begin a content that comes in pieces; `Writer.end` stages it. Raises OSError."""
        make_folder(self.folder)
        path = self.folder / f"{_UNFINISHED}{uuid.uuid4().hex}"
        return Writer(path, _open_locked(path), self.form)

    def place(self, *staged: Staged) -> None:
        """Give contents the names of their hashes. `drop` must follow. Raises OSError."""
        folders = set()
        for blob in staged:
            path = self.path(blob.sha256)
            make_folder(path.parent)
            blob.path.replace(path)
            folders.add(path.parent)
        for folder in folders:
            sync_folder(folder)

    def drop(self, blob: Staged) -> None:
        """Close a staged content. One that has no name yet is gone."""
        with suppress(OSError):
            blob.path.unlink()
        os.close(blob.descriptor)

    def read(self, sha256: str, most: int | None = None) -> bytes:
        """Return a content. Raises BlobDamaged, also for one of more than `most` bytes."""
        parts = []
        left = most
        for block in self.blocks(sha256):
            parts.append(block)
            if left is not None and (left := left - len(block)) < 0:
                raise BlobDamaged("it is larger than it was")
        return b"".join(parts)

    def blocks(self, sha256: str) -> Iterator[bytes]:
        """Yield a content in blocks of at most 1 MiB; behind the last its hash has been checked. Raises BlobDamaged."""
        digest = self.new_hash()
        try:
            with open_regular(self.path(sha256), follows_links=False, buffering=0) as file:
                for block in self._unpack(file):
                    digest.update(block)
                    yield block
        except (OSError, zlib.error) as error:
            raise BlobDamaged(getattr(error, "strerror", None) or str(error)) from error
        if digest.hexdigest() != sha256:
            raise BlobDamaged("another hash than it was stored with")

    def remove(self, sha256: str) -> None:
        """Remove a content, if it is there. Raises OSError."""
        self.path(sha256).unlink(missing_ok=True)

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield the hash and the file of every content, in order of hashes."""
        folders = [self.folder] if self.form.is_flat else [path for path in _list(self.folder) if len(path.name) == 2]
        for folder in folders:
            for path in _list(folder):
                sha256 = path.name.removesuffix(self.form.suffix)
                if _HASH.fullmatch(sha256) and path == self.path(sha256):
                    yield sha256, path

    def collect(self, is_kept: Callable[[str], bool]) -> tuple[int, int]:
        """Remove the contents that are not kept, and what killed writers left; return how many, and their bytes.

        What has another name than a content stays, and so does what cannot be removed.
        """
        files = size = 0
        gone = [path for sha256, path in self.files() if not is_kept(sha256)]
        for path in [*gone, *self._unfinished()]:
            with suppress(OSError):
                size += _remove_unlocked(path)
                files += 1
        return files, size

    def _is_whole(self, sha256: str) -> bool:
        with suppress(BlobDamaged):
            self.read(sha256)
            return True
        return False

    def _unfinished(self) -> Iterator[Path]:
        for path in _list(self.folder):
            if path.name.startswith(_UNFINISHED):
                yield path
            elif len(path.name) == 2:
                yield from (cut for cut in _list(path) if _UNFINISHED_ONCE.fullmatch(cut.name))

    def _write(self, blocks: Iterable[bytes], read_hash: Callable[[], str], *, syncs: bool = False) -> Staged:
        """Write a content as it lies. read_hash: asked behind the last block. Raises OSError that names the file."""
        writer = self.open_writer()
        try:
            for block in blocks:
                writer.write(block)
            writer.flush(syncs=syncs)
        except BaseException as error:
            writer.abandon()
            if isinstance(error, OSError) and error.filename is None:  # a full disk names no file
                raise OSError(error.errno, error.strerror, str(writer.path)) from error
            raise
        return writer.end(read_hash())

    def _unpack(self, file: BinaryIO) -> Iterator[bytes]:
        if not self.form.window_bits:
            while data := file.read(BLOCK):
                yield data
            return
        unpacker = zlib.decompressobj(self.form.window_bits)
        while not unpacker.eof and (data := unpacker.unconsumed_tail or file.read(BLOCK)):
            yield unpacker.decompress(data, BLOCK)
        if not unpacker.eof:
            raise BlobDamaged("it is cut off")


class Writer:
    """Writes one content, locked as long as it is open. Every method raises OSError."""

    def __init__(self, path: Path, descriptor: int, form: Form) -> None:
        self.path = path
        self.size = 0  # bytes, before compression
        self._descriptor = descriptor
        self._file = os.fdopen(descriptor, "wb", closefd=False)
        self._packer = zlib.compressobj(form.level, wbits=form.window_bits) if form.window_bits else None

    def write(self, block: bytes) -> None:
        """Write the next piece."""
        self.size += len(block)
        self._file.write(block if self._packer is None else self._packer.compress(block))

    def flush(self, *, syncs: bool) -> None:
        """Hand all to the system; behind this nothing is written. syncs: to the disk."""
        if self._packer is not None:
            self._file.write(self._packer.flush())
        self._file.flush()
        if syncs:
            os.fsync(self._descriptor)

    def end(self, sha256: str) -> Staged:
        """Return what was written and flushed. sha256: its hash, which the caller has computed."""
        self._file.close()
        return Staged(sha256, self.size, self.path, self._descriptor)

    def abandon(self) -> None:
        """Remove what was written."""
        with suppress(OSError):
            self.path.unlink()
        with suppress(OSError):  # what it still held finds no room
            self._file.close()
        os.close(self._descriptor)


def _list(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # not there, or not a folder
        return []


def _hash_meanwhile(blocks: Iterable[bytes], update: Callable[[bytes], object]) -> Iterator[bytes]:
    """Yield blocks, each of which is hashed while whoever takes it writes it."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - 4 ms, only what is written needs it

    with ThreadPoolExecutor(1, "blob-hash") as pool:
        for block in blocks:
            hashed = pool.submit(update, block)
            yield block
            hashed.result()


def _open_locked(path: Path) -> int:
    """Make a file and lock it, which says to collectors that somebody writes it."""
    while True:
        descriptor = open_private(path, os.O_WRONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # a collector came in between


def _remove_unlocked(path: Path) -> int:
    """Remove a file that no living process writes, and return its bytes. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
