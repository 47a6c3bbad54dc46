"""The artifact store: put, get, list, label, remove and collect. Contract: section 14.

What is said to be stored is on the disk. A put that is killed leaves a file without a version at most, which the next
collection deletes.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine import stopping
from oulipoly_engine.blobs.blobs import BlobDamaged, Blobs
from oulipoly_engine.clock import Clock
from oulipoly_engine.core.artifacts.addresses import Address
from oulipoly_engine.core.artifacts.versions import NewVersion, Removal, Version
from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.errors import ArtifactInputFailed, ArtifactMissing, ArtifactStoreUnusable
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import check_regular
from oulipoly_engine.service.artifacts.contents import IN_ROW, blocks_of, read_part, refusals
from oulipoly_engine.service.transcripts.atomic_file import new_file
from oulipoly_engine.store.artifacts.artifact_file import ArtifactFile, initialise, open_file

SCRATCHPAD_LASTS = timedelta(days=7)


class Collected(Record):
    """What a collection did."""

    expired: tuple[Version, ...]  # kept by invocations for themselves, and now removed
    files: int  # contents that were deleted
    size: int  # bytes that were freed, in files and in rows


class ArtifactStore:
    """One store, open. Threads may share it."""

    def __init__(self, file: ArtifactFile, clock: Clock) -> None:
        self.file, self.clock = file, clock
        place = file.path.resolve()  # the same one through every link
        self._blobs = Blobs(place.with_name(f"{place.name}.contents"))

    def put(self, new: NewVersion, content: BinaryIO | bytes) -> Version:
        """Store a content as the next version.

        Raises ArtifactCollision, ArtifactMissing, ArtifactInputFailed, ArtifactStoreUnusable.
        """
        source = io.BytesIO(content) if isinstance(content, bytes) else content
        head = read_part(source, IN_ROW + 1)
        if len(head) <= IN_ROW:
            with self.file.write():
                return self._add(new, hashlib.sha256(head).hexdigest(), len(head), head)
        with refusals(self._blobs.folder):
            staged = self._blobs.stage(blocks_of(source, head, self.file.limit()))
            try:
                with self.file.write():  # so whoever holds this lock knows that a content without a version is nobody's
                    version = self._add(new, staged.sha256, staged.size, None)
                    self._blobs.place(staged)
                    return version
            finally:
                self._blobs.drop(staged)

    def read(self, address: Address) -> tuple[Version, Iterator[bytes]]:
        """Return a version and its content in blocks; behind the last one its hash has been checked.

        Raises ArtifactMissing at once, or while it is read for a content that is gone, cut or changed.
        """
        version = self.file.find(address)
        return version, self._blocks(version)

    def save(self, address: Address, path: Path, *, force: bool = True) -> Version:
        """Write a content into a file, whole or not at all.

        force: take the place of a file that is there; else FileExists. A link stays one, and what is not a file, a
        device or a FIFO, is refused. Raises ArtifactMissing, ArtifactInputFailed.
        """
        version, blocks = self.read(address)
        suffix = f"{os.getpid()}-{threading.get_ident()}"  # several threads of ours may write the same file
        try:
            if force:
                with suppress(FileNotFoundError):
                    check_regular(path.stat(), path)
            with new_file(path.resolve() if force else path, force=force, suffix=suffix) as file:
                for block in blocks:
                    stopping.check()
                    file.write(block)
        except (OSError, ValueError) as error:  # the latter for a name with a NUL
            message = f"cannot write {path}: {getattr(error, 'strerror', None) or error}: choose another place"
            raise ArtifactInputFailed(message) from error
        return version

    def head(self, version: Version, most: int) -> bytes:
        """Return the beginning of a content, for a preview. Raises ArtifactMissing."""
        parts, left = [], most
        for block in self._blocks(version):
            parts.append(block[:left])
            left -= len(parts[-1])
            if not left:
                break
        return b"".join(parts)

    def remove(self, address: Address, actor: str, reason: str) -> tuple[Version, bool]:
        """Mark a version as removed; return it and whether it was not before: then what was said first stays."""
        with self.file.write():
            done = self.file.remove(address, Removal(self.clock.now(), actor, reason))
            return self.file.find(address, with_removed=True), done

    def copy(self, source: Address, new: NewVersion) -> Version:
        """Store the content of a version as the next version of another artifact; a large one is not read."""
        with self.file.write():
            version = self.file.find(source)
            self._check_there(version)
            in_row = self.file.content_of(version.address)
            return self.file.add(new, version.sha256, version.content_len, in_row, self.clock.now())

    def expire(self, versions: Callable[[], Sequence[Version]], actor: str, reason: str) -> tuple[Version, ...]:
        """Mark versions as removed that are found under the lock; return which."""
        with self.file.write():
            removal = Removal(self.clock.now(), actor, reason)
            return tuple(one for one in versions() if self.file.remove(one.address, removal))

    def expired(self, cutoff: datetime) -> tuple[Version, ...]:
        """Return what invocations kept for themselves, and had expired at an instant."""
        return self.file.expired(cutoff - SCRATCHPAD_LASTS)

    def collect(self) -> Collected:
        """Remove what has expired, and delete the contents of what was removed."""
        now = self.clock.now()
        with self.file.write():
            removal = Removal(now, "collection", f"kept for {SCRATCHPAD_LASTS.days} days")
            gone = tuple(one for one in self.expired(now) if self.file.remove(one.address, removal))
            in_rows = self.file.drop_removed()
            files, size = self._blobs.collect(self.file.is_kept)
        return Collected(gone, files, size + in_rows)

    def is_there(self, version: Version) -> bool:
        """Return whether a content lies where it should, as long as it should be; its hash is not made."""
        with suppress(ArtifactMissing):
            self._check_there(version)
            return True
        return False

    def _check_there(self, version: Version) -> None:
        if self.file.content_of(version.address) is None:
            try:
                size = self._blobs.path(version.sha256).stat().st_size
            except OSError as error:
                raise _gone(version, error.strerror or str(error)) from error
            if size != version.content_len:
                raise _gone(version, f"{size} bytes in place of {version.content_len}")

    def _blocks(self, version: Version) -> Iterator[bytes]:
        data = self.file.content_of(version.address)
        if data is not None:
            if hashlib.sha256(data).hexdigest() != version.sha256:
                raise _gone(version, "another hash than it was stored with")
            yield data
            return
        try:
            yield from self._blobs.blocks(version.sha256)
        except BlobDamaged as error:
            raise _gone(version, str(error)) from error

    def _add(self, new: NewVersion, sha256: str, size: int, in_row: bytes | None) -> Version:
        limit = self.file.limit()
        if limit is not None and (total := self.file.size_with(sha256, size)) > limit:
            raise ArtifactStoreUnusable(
                f"the artifact store {self.file.path} may hold {size_text(limit)}, and this would make it "
                f"{size_text(total)}: remove something, or raise the limit"
            )
        return self.file.add(new, sha256, size, in_row, self.clock.now())


def _gone(version: Version, why: str) -> ArtifactMissing:
    return ArtifactMissing(f"the content of {version.address.text} is not what was stored: {why}")


def make_store(path: Path, clock: Clock) -> tuple[ArtifactStore, bool]:
    """Open a store, and make it where there is none; return it and whether it was made."""
    file, is_new = initialise(path)
    return ArtifactStore(file, clock), is_new


@contextmanager
def opened(path: Path, clock: Clock) -> Iterator[ArtifactStore]:
    """Open a store that was made before, and close it. Raises ArtifactStoreUnusable."""
    file = open_file(path)
    try:
        yield ArtifactStore(file, clock)
    finally:
        file.close()
