"""Export a session as canonical lines: all of them, or an error and none.

The lines are spooled while the transcript is read once, so that nothing is handed out before the last byte has been
checked, and memory stays flat: beyond a few megabytes the spool is a file without a name. (Reading twice instead would
cost the parsing twice, and the second time could still meet another file.)
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, TypeVar

from oulipoly_engine import stopping
from oulipoly_engine.adapters.transcript_file import lines_of, open_transcript, status_of
from oulipoly_engine.core.accounts.accounts import LONGEST_LINE, StorageType
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.transcripts import claude, codex
from oulipoly_engine.core.transcripts.canonical import (
    STATE_DB,
    CanonicalRecord,
    LongLine,
    Origin,
    Source,
    read_stored_chunks,
    render,
    scan,
)
from oulipoly_engine.errors import RunnerError, TranscriptMalformed
from oulipoly_engine.records import Record
from oulipoly_engine.service.reading.source import Transcript, read_stored_bodies, transcript_of
from oulipoly_engine.service.sessions.locate import Locator, describe_unsupported
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.store.transcripts.bodies import StoredBody

T = TypeVar("T")
Reader = Callable[[StorageType, Iterable[bytes | LongLine], Origin], Iterator[CanonicalRecord]]

_BLOCK = 1 << 20
_IN_MEMORY = 8 << 20  # bytes of output; most sessions export to less
_ATTEMPTS = 4  # at a file that changes while it is read


class Export:
    """The canonical lines of one session, whole and checked."""

    def __init__(self, spool: IO[bytes], *, is_from_state: bool, records: int, sha256: str) -> None:
        self._spool = spool
        self.is_from_state = is_from_state  # stored bodies, because the transcript is gone
        self.records = records
        self.sha256 = sha256  # of all lines: the preimage that a replacement is asked for

    def blocks(self) -> Iterator[bytes]:
        """Yield the lines' bytes, a megabyte at a time."""
        self._spool.seek(0)
        while block := _use_spool(lambda: self._spool.read(_BLOCK)):
            yield block


def canonical_records(
    storage_type: StorageType, raw_lines: Iterable[bytes | LongLine], origin: Origin
) -> Iterator[CanonicalRecord]:
    """Read a transcript's lines, as a binary file yields them, into records.

    A record with `restarts` throws away every one before it; that is left to the caller.
    Raises TranscriptMalformed; ValueError for a storage type that has no canonical form.
    """
    if storage_type is StorageType.CLAUDE_CODE:
        return claude.canonical_records(scan(raw_lines), origin)
    if storage_type is StorageType.CODEX_SESSION:
        return codex.canonical_records(scan(raw_lines), origin)
    raise ValueError(f"transcripts of storage type {storage_type.value} have no canonical form")


class Exporter(Record):
    """Exports sessions."""

    store: Store
    locator: Locator
    read: Reader = canonical_records
    in_memory_bytes: int = _IN_MEMORY
    longest_line: int = LONGEST_LINE

    @contextmanager
    def export(self, session: ResolvedSession) -> Iterator[Export]:
        """Export a session from its transcript, or from stored bodies where the transcript is missing or unreadable.

        Raises TranscriptMalformed, StorageUnsupported (a storage of another kind; or neither transcript nor stored
        entries), and RunnerError for a damaged stored body, a full disk, or a transcript that never holds still.
        """
        transcript = transcript_of(self.locator, session)
        if transcript.kind is StorageType.OTHER and not self._may_come_from_entries(session):
            raise describe_unsupported(session, "its storage_type is not a format that can be exported")
        spool = tempfile.SpooledTemporaryFile(max_size=self.in_memory_bytes)  # noqa: SIM115 - see below
        try:
            writer = _Writer(spool)
            problem = self._write_file(writer, transcript, session)
            if problem is not None:
                writer.restart()
                _write_rows(writer, self.store, session, problem)
            yield writer.done(is_from_state=problem is not None)
        finally:
            with suppress(OSError):  # on a full disk closing fails too, and would hide why
                spool.close()

    def _may_come_from_entries(self, session: ResolvedSession) -> bool:
        """Tell whether no storage of another kind than ours stands for a session."""
        has_storage = not self.locator.explain_no_storage(session.account)
        return not has_storage or entries.is_only_live(self.store, session.account, session.session_id)

    def _write_file(self, writer: _Writer, transcript: Transcript, session: ResolvedSession) -> str | None:
        """Write the transcript's records and return None, or why it cannot be read."""
        if transcript.path is None:
            return transcript.problem
        try:
            self._write_snapshot(writer, transcript.kind, session, transcript.path)
        except OSError as error:
            return f"the transcript {transcript.path} cannot be read: {error.strerror or error}"
        return None

    def _write_snapshot(self, writer: _Writer, storage_type: StorageType, session: ResolvedSession, path: Path) -> None:
        """Write every record of one unmoved state of the file. Raises OSError when it cannot be read."""
        origin = Origin(session.session_id, session.account, str(path))
        problem: TranscriptMalformed | None = None
        for _ in range(_ATTEMPTS):
            writer.restart()
            problem = None
            with open_transcript(path, _BLOCK) as file:
                snapshot = _Snapshot(file)
                try:
                    for record in self.read(storage_type, snapshot.lines(self.longest_line), origin):
                        writer.write(record)
                except TranscriptMalformed as error:
                    problem = error
                state = status_of(path)
                if problem is None and snapshot.still_stands(state):
                    return
            if problem is not None and snapshot.is_unchanged(state):
                break
        if problem is not None:
            raise problem
        message = f"the transcript {path} was rewritten each time it was read: wait for its CLI, or hold a lease on it"
        raise RunnerError(message)


class _Writer:
    """Renders records into the spool, with their count and hash."""

    def __init__(self, spool: IO[bytes]) -> None:
        self._spool = spool
        self._digest = hashlib.sha256()
        self.records = 0

    def restart(self) -> None:
        """Throw away what was written."""
        _use_spool(lambda: (self._spool.seek(0), self._spool.truncate()))
        self._digest = hashlib.sha256()
        self.records = 0

    def write(self, record: CanonicalRecord) -> None:
        """Add a record, or begin anew with it."""
        stopping.check()
        if record.restarts and self.records:
            self.restart()
        line = render(record)
        _use_spool(lambda: self._spool.write(line))
        self._digest.update(line)
        self.records += 1

    def done(self, *, is_from_state: bool) -> Export:
        """Return what was written."""
        return Export(self._spool, is_from_state=is_from_state, records=self.records, sha256=self._digest.hexdigest())


def _use_spool(action: Callable[[], T]) -> T:
    """Do something with the spool; its OSError must not be taken for the transcript's."""
    try:
        return action()
    except OSError as error:
        raise RunnerError(
            f"the export cannot be buffered in {tempfile.gettempdir()}: {error.strerror or error}; free some space"
        ) from error


class _Snapshot:
    """The bytes that a file had when it was opened, and whether it still has them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._before = os.fstat(file.fileno())
        self._digest = hashlib.sha256()

    def lines(self, longest: int) -> Iterator[bytes | LongLine]:
        """Yield the lines up to the size at the beginning; what is appended meanwhile is left for another time."""
        left = self._before.st_size
        for raw in lines_of(self._file, longest):
            if isinstance(raw, LongLine):  # whoever takes the lines refuses it
                yield raw
                return
            line = raw[:left]
            self._digest.update(line)
            yield line
            left -= len(line)
            if left <= 0:
                return

    def is_unchanged(self, now: os.stat_result) -> bool:
        """Return whether the file under that name is the same one, untouched."""
        return _identity(self._before) == _identity(now)

    def still_stands(self, now: os.stat_result) -> bool:
        """Return whether what was read still begins the file: unchanged, or only appended to."""
        if self.is_unchanged(now):
            return True
        is_longer = (self._before.st_dev, self._before.st_ino) == (now.st_dev, now.st_ino)
        if not is_longer or now.st_size < self._before.st_size:
            return False
        again, left = hashlib.sha256(), self._before.st_size
        self._file.seek(0)
        while left and (block := self._file.read(min(left, _BLOCK))):
            again.update(block)
            left -= len(block)
        return again.digest() == self._digest.digest()


def _identity(state: os.stat_result) -> tuple[int, int, int, int]:
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


def _write_rows(writer: _Writer, store: Store, session: ResolvedSession, problem: str) -> None:
    for row in read_stored_bodies(store, session, problem):
        writer.write(_read_stored_record(row, session, problem))


def _read_stored_record(row: StoredBody, session: ResolvedSession, problem: str) -> CanonicalRecord:
    """Return a row's record; one that was stored without its body is a placeholder, which no replacement takes."""
    try:
        content = () if row.body is None else read_stored_chunks(row.body)
    except (ValueError, RecursionError) as error:
        raise RunnerError(f"{problem}; and the stored body in row {row.row_id} cannot be read: {error}") from error
    digest = hashlib.sha256((row.body or "").encode("utf-8", "surrogatepass")).hexdigest()
    return CanonicalRecord(
        session_id=session.session_id,
        account=session.account,
        entry_id=row.entry_id,
        role=row.role,
        timestamp=row.timestamp,
        content=content,
        source=Source(STATE_DB, f"db://session_turns/{row.row_id}", row.row_id, 0, 0, digest),
        is_unsupported=row.body is None,
    )
