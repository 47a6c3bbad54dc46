"""The kept copies of transcripts: read, restored, and what is at risk. `archive_keeper` makes and prunes them."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from oulipoly_engine.adapters.transcript_file import find_status, open_transcript
from oulipoly_engine.blobs.blobs import BlobDamaged, Blobs, Form
from oulipoly_engine.clock import Clock
from oulipoly_engine.errors import RunnerError, SessionNotFound
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.records import Record
from oulipoly_engine.service.transcripts.atomic_file import new_file
from oulipoly_engine.service.transcripts.files import Home, due, find_files
from oulipoly_engine.store.archive import copies as rows
from oulipoly_engine.store.archive.copies import Chunk, KeptCopy
from oulipoly_engine.store.base.db import Store

_BLOCK = 1 << 20
# On real transcripts level 3 gives 146 MB/s to a 5.9th; level 6: 66 MB/s to a 7.6th, and level 1 is no faster than 3.
_FORM = Form(".z", window_bits=15, level=3)
SOON = timedelta(days=7)  # a purge that near is called a risk


class ArchiveDamaged(RunnerError, slug="archive-damaged"):
    """A kept copy is not what it was."""


class CopyState(StrEnum):
    """How a transcript and its copy stand."""

    KEPT = "kept"  # a copy of what is there now
    BEHIND = "behind"  # a copy of an earlier state
    ONLY_COPY = "only-copy"  # the CLI's own is gone
    GIVEN_UP = "given-up"  # for the size limit
    NOT_KEPT = "not-kept"
    LOST = "lost"  # neither the CLI's own nor a copy is left


class ArchiveStatus(Record):
    """What is known of one transcript's copy."""

    account: str
    session_id: str
    path: Path
    keeping: CopyState
    size_bytes: int  # of the copy, uncompressed; of a file without a copy its own
    kept_at: str | None  # RFC 3339
    due: datetime | None  # from when on the CLI may delete its own; None: it does not, or has done so


class Restored(Record):
    """One file that was put back, or was there already."""

    path: Path
    size_bytes: int
    was_there: bool


class Archive(Record):
    """The kept copies."""

    store: Store
    folder: Path
    homes: Mapping[str, Home]  # by account
    clock: Clock

    @property
    def objects(self) -> Blobs:
        """Return the copies' chunks."""
        return Blobs(self.folder / "objects", _FORM)

    def find_copy(self, account: str, session_id: str) -> KeptCopy | None:
        """Return the newest kept copy of a session's transcript."""
        copies = rows.of_session(self.store, account, session_id)
        return next((copy for copy in copies if not copy.part and not copy.is_pruned), None)

    def parts(self, account: str, session_id: str) -> tuple[KeptCopy, ...]:
        """Return the kept copies of a session: the newest transcript, then what lay in its own folder."""
        transcript = self.find_copy(account, session_id)
        if transcript is None:
            return ()
        base = transcript.path.with_suffix("")
        copies = rows.of_session(self.store, account, session_id)
        return (transcript, *(copy for copy in copies if copy.path.is_relative_to(base) and not copy.is_pruned))

    def open(self, copy: KeptCopy) -> io.BufferedReader:
        """Open a copy for reading; every chunk is checked as it is read, which raises ArchiveDamaged."""
        raw: Any = _CopyReader(self.objects, rows.chunks_of(self.store, copy))  # the stub wants a file's methods
        return io.BufferedReader(raw, _BLOCK)

    def restore(self, account: str, session_id: str, to: Path | None = None) -> tuple[Restored, ...]:
        """Put a session's files back where the CLI had them, or below a folder; return what came of each.

        Their time of change is now, so that the CLI does not delete them again at once.
        Raises SessionNotFound for a session without a copy, FileExists where another file is in the way,
        ArchiveDamaged, and RunnerError for what the disk refuses.
        """
        copies = self.parts(account, session_id)
        if not copies:
            message = f"no copy of session {session_id} on account {account!r} is kept: see `session archive --list`"
            raise SessionNotFound(message, input=session_id)
        base = copies[0].path.parent
        targets = [copy.path if to is None else to / copy.path.relative_to(base) for copy in copies]
        present = [self._is_there(copy, target) for copy, target in zip(copies, targets, strict=True)]
        done = []
        # The transcript comes last: with it the session is there for its CLI.
        for copy, target, is_there in reversed(list(zip(copies, targets, present, strict=True))):
            if not is_there:
                self._write(copy, target)
            done.append(Restored(target, copy.size_bytes, is_there))
        return tuple(reversed(done))

    def statuses(self) -> tuple[ArchiveStatus, ...]:
        """Return how every transcript that was ever kept stands, newest first. Looks at each file's state."""
        return tuple(self._status(copy) for copy in rows.transcripts(self.store))

    def status(self, account: str, session_id: str) -> ArchiveStatus | None:
        """Return how a session's copy stands; None: it was never looked at."""
        copy = next((copy for copy in rows.of_session(self.store, account, session_id) if not copy.part), None)
        return None if copy is None else self._status(copy)

    def at_risk(self, within: timedelta = SOON) -> tuple[ArchiveStatus, ...]:
        """Return the transcripts that CLIs may delete within a time, the nearest first."""
        until = self.clock.now() + within
        found = []
        for home in self.homes.values():
            if home.cleanup_after() is None:
                continue
            known = rows.latest_of(self.store, home.account)
            for file in find_files(home):
                ends = due(home, file.status.st_mtime_ns)
                if not file.part and ends is not None and ends <= until:
                    copy = known.get(file.path)
                    keeping = (
                        CopyState.NOT_KEPT if copy is None else _describe_copy(copy, is_current=copy.is_of(file.status))
                    )
                    kept_at = None if copy is None or copy.is_pruned else copy.kept_at
                    size = file.status.st_size
                    found.append(ArchiveStatus(home.account, file.session_id, file.path, keeping, size, kept_at, ends))
        return tuple(sorted(found, key=lambda one: (one.due or datetime.max.replace(tzinfo=UTC), one.session_id)))

    def _status(self, copy: KeptCopy) -> ArchiveStatus:
        kept_at = None if copy.is_pruned else copy.kept_at
        home = self.homes.get(copy.account)
        try:
            status = find_status(copy.path)
        except OSError:  # nobody can tell
            keeping = _describe_copy(copy, is_current=False)
            return ArchiveStatus(copy.account, copy.session_id, copy.path, keeping, copy.size_bytes, kept_at, None)
        if status is None:
            keeping = CopyState.LOST if copy.is_pruned else CopyState.ONLY_COPY
            return ArchiveStatus(copy.account, copy.session_id, copy.path, keeping, copy.size_bytes, kept_at, None)
        keeping = _describe_copy(copy, is_current=copy.is_of(status))
        ends = None if home is None else due(home, status.st_mtime_ns)
        return ArchiveStatus(copy.account, copy.session_id, copy.path, keeping, copy.size_bytes, kept_at, ends)

    def _is_there(self, copy: KeptCopy, target: Path) -> bool:
        """Tell whether a file holds what its copy does. Another one is left to `new_file`, which refuses."""
        try:
            with open_transcript(target) as file:
                if os.fstat(file.fileno()).st_size != copy.size_bytes:
                    return False
                chunks = rows.chunks_of(self.store, copy)
                return all(sha256(file.read(chunk.size_bytes)).digest() == chunk.sha256 for chunk in chunks)
        except OSError:
            return False

    def _write(self, copy: KeptCopy, target: Path) -> None:
        try:
            make_folder(target.parent)
            with self.open(copy) as source, new_file(target) as file:
                size = 0
                while block := source.read(_BLOCK):
                    size += file.write(block)
                if size != copy.size_bytes:
                    message = f"the kept copy of {copy.path} is damaged: {size} of its {copy.size_bytes} bytes are left"
                    raise ArchiveDamaged(message)
        except OSError as error:
            raise RunnerError(f"{target} cannot be written: {error.strerror or error}") from error


def _describe_copy(copy: KeptCopy, *, is_current: bool) -> CopyState:
    if copy.is_pruned:
        return CopyState.GIVEN_UP
    return CopyState.KEPT if is_current else CopyState.BEHIND


class _CopyReader(io.RawIOBase):
    """A copy's bytes, a chunk in memory at a time."""

    def __init__(self, objects: Blobs, chunks: Sequence[Chunk]) -> None:
        self._chunks: Iterator[Chunk] = iter(chunks)
        self._objects = objects
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]  # the stub wants a union of buffers
        if not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(self._read(chunk))
        taken = min(len(buffer), len(self._rest))
        buffer[:taken] = self._rest[:taken]
        self._rest = self._rest[taken:]
        return taken

    def _read(self, chunk: Chunk) -> bytes:
        name = chunk.sha256.hex()
        try:
            return self._objects.read(name, chunk.size_bytes)
        except BlobDamaged as error:
            raise ArchiveDamaged(f"the kept copy is damaged: {self._objects.path(name)}: {error}") from error
