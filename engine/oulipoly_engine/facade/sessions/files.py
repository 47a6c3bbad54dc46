"""Sessions as files: canonical lines for programs, documents for people; and the user's own pager and editor."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.facade.sessions.values import (
    CANONICAL,
    FORMATS,
    SESSION_FILES,
    SUFFIXES,
    Exported,
    ExportOptions,
    choose_parts,
    file_names,
    limit_blocks,
    write_file,
)
from oulipoly_engine.private_files import write_private
from oulipoly_engine.store.sessions.sessions import list_sessions

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.resolve import ResolvedSession
    from oulipoly_engine.core.sessions.sessions import Session
    from oulipoly_engine.service.reading.documents import Documents, Preview
    from oulipoly_engine.service.sessions.session_copies import Imported
    from oulipoly_engine.store.base.db import Store

# ruff: noqa: PLC0415 - canonical lines need none of what documents need, and neither a pager

_PREVIEW_BYTES = 4_000  # of canonical lines


class SessionFiles(SessionPart):
    """The exports of one user's sessions."""

    @contextmanager
    def blocks(self, text: str, wish: ExportOptions, *, is_exact: bool = False) -> Iterator[Iterator[bytes]]:
        """Lend a whole session's bytes, piece by piece. is_exact: the text is a full id, as the contract has it.

        Raises SessionNotFound, SessionAmbiguous, StorageUnsupported, TranscriptMalformed and RunnerError.
        """
        with (
            (self._exact_session if is_exact else self._session)(text) as (store, session),
            self._open_blocks(store, session, wish) as found,
        ):
            yield found

    def export(self, text: str, wish: ExportOptions, path: Path, *, force: bool = False) -> Exported:
        """Write a session to a file, whole or not at all. Raises as `blocks`, and FileExists."""
        self._home.refuse_if_read_only("write files")
        known = (*FORMATS, *SESSION_FILES)
        if wish.format not in known:
            raise UsageInvalid(f"there is no format {wish.format!r}: {', '.join(known)}")
        with self.blocks(text, wish) as found:
            return write_file(path, found, force=force)

    def import_file(self, path: Path) -> Imported:
        """Take another tool's session file in; again only what is new in it. Raises RunnerError."""
        from oulipoly_engine.service.sessions.session_copies import import_file

        self._home.refuse_if_read_only("import a session")
        try:
            with self._home.lend_store() as store:
                done = import_file(store, path, self._copies, self._home.wiring.longest_line(), self._home.now())
        except OSError as error:
            raise RunnerError(f"{path} cannot be read: {error.strerror or error}") from error
        self._tell()
        return done

    def names(self, found: Sequence[Session], wish: ExportOptions) -> tuple[str, ...]:
        """Return the file names that are offered, no two alike."""
        return file_names([one.active for one in found], SUFFIXES.get(wish.format, "txt"))

    def preview(self, text: str, wish: ExportOptions, entries: int = 20) -> Preview | str:
        """Return the first entries as they would be shown; of canonical lines the first ones as text."""
        with self._session(text) as (store, session):
            if wish.format == CANONICAL:
                with self._open_blocks(store, session, wish) as found:
                    return "".join(block.decode("utf-8", "replace") for block in limit_blocks(found, _PREVIEW_BYTES))
            return self._documents(store).preview(session, entries, choose_parts(wish), redacting=wish.redacting)

    def document(self, text: str) -> str:
        """Return a whole session as Markdown, for the pager and the editor."""
        with self.blocks(text, ExportOptions(everything=True)) as found:
            return b"".join(found).decode("utf-8", "replace")

    def page(self, lines: Iterable[str]) -> bool:
        """Show lines in the user's pager; the face has let go of the terminal. False: there is none."""
        from oulipoly_engine.process.user_programs import page

        return page(lines)

    def edit_copy(self, text: str, name: str) -> str | None:
        """Open a copy of a text in the user's editor; what is written there changes nothing. Returns a problem."""
        from oulipoly_engine.process.user_programs import edit

        with tempfile.TemporaryDirectory(prefix="agents-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / name
            write_private(path, text.encode("utf-8", "backslashreplace"))
            return edit(path)

    @contextmanager
    def _open_blocks(self, store: Store, session: ResolvedSession, wish: ExportOptions) -> Iterator[Iterator[bytes]]:
        if wish.format == CANONICAL:
            with self._home.wiring.exporter(store, self._locator()).export(session) as export:
                yield export.blocks()
            return
        if wish.format in SESSION_FILES:
            from oulipoly_engine.service.sessions.session_copies import write_file as write_session

            (known,) = list_sessions(store, (session.chain_id,))
            longest_line = self._home.wiring.longest_line()
            yield write_session(store, known, self._copies, longest_line, SESSION_FILES[wish.format])
            return
        from oulipoly_engine.core.transcripts.document_head import Format
        from oulipoly_engine.service.reading.documents import Style

        style = Style(Format(wish.format), choose_parts(wish), wish.redacting)
        with self._documents(store).open(session, style) as document:
            yield document.blocks()

    def _documents(self, store: Store) -> Documents:
        return self._home.wiring.documents(store, self._locator(), self._archive(store))
