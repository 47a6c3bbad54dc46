"""The contents of artifacts, as files named by their hash, beside the file of the store.

A content is written under a name of its own, hashed on the way, and gets the name of its hash while the store is locked
for writing; so whoever holds that lock knows that a content without a version is nobody's.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.errors import ArtifactInputFailed, ArtifactStoreUnusable
from oulipoly_engine.private_files import make_folder, open_private, sync_folder
from oulipoly_engine.records import Record

IN_ROW = 64 << 10  # bytes that a row holds; more lies in a file
BLOCK = 1 << 20
_UNFINISHED = "unfinished-"
_HASH = re.compile(r"[0-9a-f]{64}")


class Staged(Record):
    """A content that was read whole, and has no name yet."""

    sha256: str
    size: int  # bytes
    in_row: bytes | None = None
    path: Path | None = None  # None: it fits into a row
    descriptor: int = -1  # of the file, locked as long as it is open


class Contents:
    """The folder of one store."""

    def __init__(self, store: Path) -> None:
        place = store.resolve()  # the same one through every link
        self.folder = place.with_name(f"{place.name}.contents")

    def stage(self, source: BinaryIO, most: int | None = None) -> Staged:
        """Read a content to its end, but no more than so many bytes: a pipe may have none.

        Raises ArtifactInputFailed, ArtifactStoreUnusable.
        """
        head = _read(source, IN_ROW + 1)
        if len(head) <= IN_ROW:
            return Staged(hashlib.sha256(head).hexdigest(), len(head), head)
        path = self.folder / f"{_UNFINISHED}{uuid.uuid4().hex}"
        descriptor = -1
        try:
            make_folder(self.folder)
            while descriptor < 0:
                descriptor = open_private(path, os.O_WRONLY)
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # tells collectors that somebody writes it
                if not os.fstat(descriptor).st_nlink:  # one came in between
                    os.close(descriptor)
                    descriptor = -1
            sha256, size = _copy(source, head, descriptor, most)
            os.fsync(descriptor)
        except BaseException as error:
            self.drop(Staged("", 0, None, path, descriptor))
            if isinstance(error, OSError):
                raise _refusal(self.folder, error) from error
            raise
        return Staged(sha256, size, None, path, descriptor)

    def place(self, staged: Staged) -> None:
        """Give a content the name of its hash. Only inside the store's `write`."""
        if staged.path is None:
            return
        place = self.place_of(staged.sha256)
        try:
            make_folder(place.parent)
            staged.path.replace(place)
            sync_folder(place.parent)
        except OSError as error:
            raise _refusal(self.folder, error) from error

    def drop(self, staged: Staged) -> None:
        """Let go of what was staged: what has no name yet is gone."""
        if staged.path is not None:
            with suppress(OSError):
                staged.path.unlink()
        if staged.descriptor >= 0:
            os.close(staged.descriptor)

    def place_of(self, sha256: str) -> Path:
        """Return where the content of a hash lies."""
        return self.folder / sha256[:2] / sha256

    def collect(self, is_kept: Callable[[str], bool]) -> tuple[int, int]:
        """Delete the contents that nothing names; return how many, and their bytes. Only inside the store's `write`."""
        files = size = 0
        for path, is_whole in self._files():
            if is_whole and is_kept(path.name):
                continue
            with suppress(OSError):
                size += _delete(path) if is_whole else _delete_unlocked(path)
                files += not path.exists()
        return files, size

    def _files(self) -> Iterator[tuple[Path, bool]]:
        """Yield every file and whether it has the name of a hash; others are left alone."""
        with suppress(OSError):
            for folder in sorted(self.folder.iterdir()):
                if folder.name.startswith(_UNFINISHED):
                    yield folder, False
                elif len(folder.name) == 2 and folder.is_dir():
                    for path in sorted(folder.iterdir()):
                        if _HASH.fullmatch(path.name) and path.name.startswith(folder.name):
                            yield path, True


def _delete(path: Path) -> int:
    size = path.stat().st_size
    path.unlink()
    return size


def _delete_unlocked(path: Path) -> int:
    """Delete a file that no living process writes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _delete(path)
    finally:
        os.close(descriptor)


def _copy(source: BinaryIO, head: bytes, descriptor: int, most: int | None) -> tuple[str, int]:
    """Write head and rest of a source; return hash and size. The hash is made while the disk writes."""
    digest, size, data = hashlib.sha256(), 0, head
    with ThreadPoolExecutor(1, "artifact-hash") as pool:
        while data:
            hashed = pool.submit(digest.update, data)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            size += len(data)
            if most is not None and size > most:
                raise ArtifactStoreUnusable(
                    f"the content has more than {size_text(most)}, which the artifact store may hold: raise the limit"
                )
            following = _read(source, BLOCK)
            hashed.result()
            data = following
    return digest.hexdigest(), size


def _read(source: BinaryIO, most: int) -> bytes:
    """Read so many bytes, fewer at the end alone: a pipe gives what it has."""
    parts, left = [], most
    try:
        while left and (part := source.read(left)) != b"":
            if part is None:  # somebody left our stdin non-blocking, and it has nothing yet
                os.set_blocking(source.fileno(), True)
                continue
            parts.append(part)
            left -= len(part)
    except (OSError, ValueError) as error:
        raise ArtifactInputFailed(f"the content cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _refusal(folder: Path, error: OSError) -> ArtifactStoreUnusable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ArtifactStoreUnusable(
            f"the disk that holds {folder} is full: free some space, or collect what was removed"
        )
    return ArtifactStoreUnusable(f"cannot write into {folder}: {error.strerror or error}: check its rights")
