"""Where a session can be read, one order for all: its CLI's transcript, the kept copy in the archive, our own rows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from oulipoly_engine.adapters.transcript_file import find_status, is_transcript, lines_of, open_transcript
from oulipoly_engine.clock import from_text
from oulipoly_engine.core.accounts.accounts import LONGEST_LINE, StorageType
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.errors import RunnerError, StorageUnsupported
from oulipoly_engine.records import Record
from oulipoly_engine.service.sessions.locate import Locator, describe_unsupported
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.transcripts.bodies import StoredBody, bodies

if TYPE_CHECKING:
    from oulipoly_engine.core.transcripts.canonical import LongLine
    from oulipoly_engine.core.transcripts.dialogue import Entry, Findings
    from oulipoly_engine.core.transcripts.document_head import Origin
    from oulipoly_engine.service.archive.archive import Archive
    from oulipoly_engine.service.reading.pages import FilePages, Pages
    from oulipoly_engine.store.archive.copies import KeptCopy

# ruff: noqa: PLC0415 - an export needs none of the readers of dialogues, and `session locate` only what is deleted

T = TypeVar("T")

_BLOCK = 1 << 20
_EPOCH = from_text("1970-01-01T00:00:00Z")


class Transcript(Record):
    """The file that a CLI keeps of a session, or why none is known."""

    kind: StorageType  # OTHER: no format that we read
    path: Path | None  # always None for OTHER
    problem: str = ""


class OpenTranscript(Record):
    """A session that is being read."""

    origin: Origin
    entries: Iterator[Entry]
    findings: Findings  # grows while the entries are taken


class TranscriptSource(Record):
    """Opens sessions where they can be read."""

    store: Store
    locator: Locator
    archive: Archive | None = None
    longest_line: int = LONGEST_LINE

    @contextmanager
    def open(self, session: ResolvedSession) -> Iterator[OpenTranscript]:
        """Open a session to be read from its beginning, for as long as the block lasts.

        What a CLI appends meanwhile is left for another time.
        Raises StorageUnsupported when neither transcript nor kept copy nor stored entry is there.
        """
        from oulipoly_engine.core.transcripts import claude, codex
        from oulipoly_engine.core.transcripts.canonical import scan
        from oulipoly_engine.core.transcripts.dialogue import Findings
        from oulipoly_engine.core.transcripts.document_head import Origin

        findings = Findings()
        kind, opened, kept, problem = self._first(session, None, lambda path, _: (path, open_transcript(path, _BLOCK)))
        read = codex.dialogue if kind is StorageType.CODEX_SESSION else claude.dialogue
        if opened is not None:
            path, file = opened
            with file:
                yield OpenTranscript(
                    Origin.TRANSCRIPT,
                    _translate_read_errors(read(scan(_snapshot(file, self.longest_line)), findings), path),
                    findings,
                )
        elif kept is not None and self.archive is not None:
            with self.archive.open(kept) as copy:
                yield OpenTranscript(Origin.ARCHIVE, read(scan(lines_of(copy, self.longest_line)), findings), findings)
        else:
            with closing(_read_stored_entries(self.store, session, findings, problem)) as entries:
                yield OpenTranscript(Origin.STATE, entries, findings)

    def pages(self, account: str, session_id: str, path: str | None = None) -> Pages:
        """Open a session to be read in any place. path: its file, where it is known. Raises as `open`."""
        from oulipoly_engine.service.reading.pages import FilePages, StoredPages

        session = ResolvedSession("", "", account, session_id, _EPOCH)
        kind, pages, kept, problem = self._first(
            session, path, lambda found, kind: FilePages(found, kind, longest_line=self.longest_line)
        )
        if pages is not None:
            return pages
        if kept is not None and self.archive is not None:
            return _copy(self.archive, kept, kind, self.longest_line)
        stored = StoredPages(self.store, account, session_id)
        if not len(stored):
            raise describe_nothing_stored(session, problem)
        return stored

    def _first(
        self, session: ResolvedSession, path: str | None, opener: Callable[[Path, StorageType], T]
    ) -> tuple[StorageType, T | None, KeptCopy | None, str]:
        """Return the format, the opened file or the kept copy, and why there is no file. Neither: read the rows."""
        found = transcript_of(self.locator, session, path)
        problem = found.problem
        if found.path is not None:
            try:
                return found.kind, opener(found.path, found.kind), None, ""
            except OSError as error:
                problem = f"the transcript {found.path} cannot be read: {error.strerror or error}"
        if self.archive is None or found.kind is StorageType.OTHER:
            return found.kind, None, None, problem
        return found.kind, None, self.archive.find_copy(session.account, session.session_id), problem


def transcript_of(locator: Locator, session: ResolvedSession, path: str | None = None) -> Transcript:
    """Return a session's transcript. path: the file, where it is known: no script is asked, as long as it is there."""
    problem = locator.explain_no_storage(session.account)
    kind = StorageType.OTHER if problem else locator.storage(session).storage_type
    if kind is StorageType.OTHER and path is not None:
        kind = StorageType.CODEX_SESSION if Path(path).name.startswith("rollout-") else StorageType.CLAUDE_CODE
    if kind is StorageType.OTHER:
        return Transcript(kind, None, problem or "its format is not known")
    if path is not None and is_transcript(path):
        return Transcript(kind, Path(path))
    if problem:
        return Transcript(kind, None, problem)
    answer = locator.transcript(session)
    return Transcript(kind, answer.path, answer.problem)


def find_copy_of_deleted(store: Store, session: ResolvedSession) -> KeptCopy | None:
    """Return the kept copy of a session's transcript if the transcript itself is gone."""
    from oulipoly_engine.store.archive import copies

    found = copies.of_session(store, session.account, session.session_id)
    copy = next((one for one in found if not one.part and not one.is_pruned), None)
    return None if copy is None or not _is_gone(copy.path) else copy


def read_stored_bodies(store: Store, session: ResolvedSession, problem: str) -> Generator[StoredBody, None, None]:
    """Yield a session's stored entries. Raises StorageUnsupported, behind the last, if there was none."""
    is_empty = True
    for row in bodies(store, session.account, session.session_id):
        is_empty = False
        yield row
    if is_empty:
        raise describe_nothing_stored(session, problem)


def describe_nothing_stored(session: ResolvedSession, problem: str) -> StorageUnsupported:
    """Return the error for a session that can be read nowhere."""
    return describe_unsupported(session, f"{problem}; and no turn of it is stored")


def _is_gone(path: Path) -> bool:
    """Tell whether a file is known not to be there; in a folder that may not be looked into nobody can tell."""
    try:
        return find_status(path) is None
    except OSError:
        return False


def _snapshot(file: BinaryIO, longest: int) -> Iterator[bytes | LongLine]:
    """Yield the lines that a file has now, and nothing of one that grows while it is read."""
    left = file.seek(0, 2)
    file.seek(0)
    for line in lines_of(file, longest):
        left -= len(line)
        if left < 0:
            return
        yield line


def _translate_read_errors(entries: Iterable[Entry], path: Path) -> Iterator[Entry]:
    try:
        yield from entries
    except OSError as error:
        raise RunnerError(f"the transcript {path} cannot be read to its end: {error.strerror or error}") from error


def _copy(archive: Archive, kept: KeptCopy, kind: StorageType, longest_line: int) -> FilePages:
    """Unpack a kept copy into a file without a name. Raises ArchiveDamaged."""
    import tempfile

    from oulipoly_engine.core.transcripts.document_head import Origin
    from oulipoly_engine.service.reading.pages import FilePages

    file = tempfile.TemporaryFile()  # noqa: SIM115 - the pages close it
    try:
        with archive.open(kept) as source:
            while block := source.read(_BLOCK):
                file.write(block)
        file.flush()
        return FilePages(kept.path, kind, Origin.ARCHIVE, file, longest_line)
    except BaseException:
        file.close()
        raise


def _read_stored_entries(
    store: Store, session: ResolvedSession, findings: Findings, problem: str
) -> Generator[Entry, None, None]:
    from oulipoly_engine.core.transcripts.canonical import read_stored_chunks
    from oulipoly_engine.core.transcripts.dialogue import of_chunks

    for row in read_stored_bodies(store, session, problem):
        try:
            chunks = read_stored_chunks(row.body) if row.body is not None else ()
        except (ValueError, RecursionError):
            findings.note_damage(row.row_id)
            continue
        entry = of_chunks(row.role, row.timestamp, chunks, row.entry_id, row.row_id)
        findings.note(entry)
        yield entry
