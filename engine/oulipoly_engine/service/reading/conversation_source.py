"""Where a conversation can be read: the CLI's transcript, the kept copy in the archive, or our own rows."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.transcripts import dialogue_claude, dialogue_codex
from oulipoly_engine.core.transcripts.canonical import scan, stored_chunks
from oulipoly_engine.core.transcripts.dialogue import Findings, Turn, of_chunks
from oulipoly_engine.core.transcripts.document_head import Origin
from oulipoly_engine.errors import RunnerError, StorageUnsupported
from oulipoly_engine.records import Record
from oulipoly_engine.service.archive.archive import Archive
from oulipoly_engine.service.sessions.locate import Locator, unsupported
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.transcripts.bodies import bodies

_BLOCK = 1 << 20
_READERS = {StorageType.CLAUDE_CODE: dialogue_claude.read, StorageType.CODEX_SESSION: dialogue_codex.read}


class Opened(Record):
    """A conversation that is being read."""

    origin: Origin
    turns: Iterator[Turn]
    findings: Findings  # grows while the turns are taken


class ConversationSource(Record):
    """Opens conversations."""

    store: Store
    locator: Locator
    archive: Archive | None = None

    @contextmanager
    def opened(self, session: ResolvedSession) -> Iterator[Opened]:
        """Open a session where it can be had, for as long as the block lasts.

        What a CLI appends meanwhile is left for another time.
        Raises StorageUnsupported when neither transcript nor kept copy nor stored turn is there.
        """
        findings = Findings()
        kind, path, problem = self._transcript(session)
        read = _READERS.get(kind)
        if read is not None and path is not None:
            try:
                file = path.open("rb", buffering=_BLOCK)
            except OSError as error:
                problem = f"the transcript {path} cannot be read: {error.strerror or error}"
            else:
                with file:
                    yield Opened(Origin.TRANSCRIPT, _translated(read(scan(_snapshot(file)), findings), path), findings)
                return
        kept = None if read is None or self.archive is None else self.archive.kept(session.account, session.session_id)
        if kept is not None and read is not None and self.archive is not None:
            with self.archive.open(kept) as copy:
                yield Opened(Origin.ARCHIVE, read(scan(copy), findings), findings)
            return
        with closing(_stored(self.store, session, findings, problem)) as turns:
            yield Opened(Origin.STATE, turns, findings)

    def _transcript(self, session: ResolvedSession) -> tuple[StorageType, Path | None, str]:
        """Return the format, where the transcript is, and why it is nowhere."""
        try:
            kind = self.locator.storage(session).storage_type
            answer = self.locator.transcript(session)
        except StorageUnsupported as error:
            return StorageType.OTHER, None, error.message
        return kind, answer.path, answer.problem


def _snapshot(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines that a file has now, and nothing of one that grows while it is read."""
    left = file.seek(0, 2)
    file.seek(0)
    for line in file:
        left -= len(line)
        if left < 0:
            return
        yield line


def _translated(turns: Iterable[Turn], path: Path) -> Iterator[Turn]:
    try:
        yield from turns
    except OSError as error:
        message = f"the transcript {path} cannot be read to its end: {error.strerror or error}"
        raise RunnerError(message) from error


def _stored(store: Store, session: ResolvedSession, findings: Findings, problem: str) -> Generator[Turn, None, None]:
    is_empty = True
    for row in bodies(store, session.account, session.session_id):
        is_empty = False
        try:
            chunks = stored_chunks(row.body) if row.body is not None else ()
        except (ValueError, RecursionError):
            findings.note_damage(row.row_id)
            continue
        turn = of_chunks(row.role, row.timestamp, chunks, row.turn_id, row.row_id)
        findings.note(turn)
        yield turn
    if is_empty:
        raise unsupported(session, f"{problem or 'its format is not known'}; and no turn of it is stored")
