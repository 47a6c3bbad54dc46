"""Sessions as documents for people, and their first entries for a preview.

A document's head tells what was found on the way, so the entries are rendered first, into a spool that is a file
without a name beyond a few megabytes: nothing is handed out before the last entry was read, and memory stays flat.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from typing import IO

from oulipoly_engine import stopping
from oulipoly_engine.core.accounts.accounts import LONGEST_LINE
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL, ResolvedSession
from oulipoly_engine.core.text.control_characters import visible_line, visible_text
from oulipoly_engine.core.transcripts import render_html, render_markdown
from oulipoly_engine.core.transcripts.dialogue import TALK, Entry, Findings, PartSelection, select
from oulipoly_engine.core.transcripts.document_head import Format, Head, Origin, Renderer
from oulipoly_engine.core.transcripts.sanitize import Visible
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import Record
from oulipoly_engine.service.archive.archive import Archive
from oulipoly_engine.service.reading.source import TranscriptSource
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.store.base.db import Store

_BLOCK = 1 << 20
_IN_MEMORY = 8 << 20  # bytes; most documents are smaller
_RENDERERS: Mapping[Format, Renderer] = {
    Format.MARKDOWN: render_markdown.RENDERER,
    Format.HTML: render_html.RENDERER,
}


class Style(Record):
    """How a document is made."""

    format: Format = Format.MARKDOWN
    wanted: PartSelection = TALK
    redacting: bool = True


_PLAIN = Style()


class Document:
    """A session, rendered whole."""

    def __init__(self, about: Head, spool: IO[bytes], renderer: Renderer) -> None:
        self.about = about
        self._spool = spool
        self._renderer = renderer

    def blocks(self) -> Iterator[bytes]:
        """Yield the document's bytes, UTF-8."""
        yield _encode(self._renderer.head(self.about))
        self._spool.seek(0)
        while block := self._spool.read(_BLOCK):
            yield block
        yield _encode(self._renderer.foot())


class Preview(Record):
    """The beginning of a session."""

    origin: Origin
    entries: tuple[Entry, ...]
    has_more: bool
    secrets: int | None  # taken out; None: nothing was


class Documents(Record):
    """Renders sessions."""

    store: Store
    locator: Locator
    archive: Archive | None = None
    in_memory_bytes: int = _IN_MEMORY
    longest_line: int = LONGEST_LINE

    @contextmanager
    def open(self, session: ResolvedSession, style: Style = _PLAIN) -> Iterator[Document]:
        """Lend a session as a document; made from its transcript, its kept copy or its stored entries, the first found.

        Raises StorageUnsupported when there is none of them, RunnerError for a full disk or a damaged copy.
        """
        renderer, visible = _RENDERERS[style.format], Visible(redacting=style.redacting)
        spool = tempfile.SpooledTemporaryFile(max_size=self.in_memory_bytes)  # noqa: SIM115 - closed below
        try:
            with self._source().open(session) as opened:
                entries = 0
                for entry in select(opened.entries, style.wanted):
                    stopping.check()
                    entries += not entry.continues
                    text = "".join(renderer.entry(visible.entry(entry), entries))
                    _write(spool, _encode(text))
                opened.findings.entries = entries
                about = _head(session, style, opened.origin, opened.findings, visible)
            yield Document(about, spool, renderer)
        finally:
            with suppress(OSError):  # on a full disk closing fails too, and would hide why
                spool.close()

    def render(self, session: ResolvedSession, style: Style = _PLAIN) -> Iterator[bytes]:
        """Yield the bytes of the document that `open` lends."""
        with self.open(session, style) as document:
            yield from document.blocks()

    def preview(
        self,
        session: ResolvedSession,
        entries: int = 20,
        wanted: PartSelection = TALK,
        *,
        redacting: bool = True,
    ) -> Preview:
        """Return the first entries as they would be shown; reads no further than these."""
        visible = Visible(redacting=redacting)
        with self._source().open(session) as opened:
            found = list(islice(select(opened.entries, wanted), entries + 1))
            origin = opened.origin
        shown = tuple(visible.entry(entry) for entry in found[:entries])
        return Preview(origin, shown, len(found) > entries, visible.secrets if redacting else None)

    def _source(self) -> TranscriptSource:
        return TranscriptSource(self.store, self.locator, self.archive, self.longest_line)


def _head(session: ResolvedSession, style: Style, origin: Origin, findings: Findings, visible: Visible) -> Head:
    shown = visible.findings(findings)
    model = None if session.model == UNKNOWN_MODEL else visible.text(session.model)
    return Head(
        session_id=visible_line(session.session_id),
        account=visible_line(session.account),
        origin=origin,
        findings=shown,
        wanted=style.wanted,
        secrets=visible.secrets if style.redacting else None,
        model=model,
    )


def _encode(text: str) -> bytes:
    return visible_text(text).encode("utf-8")


def _write(spool: IO[bytes], data: bytes) -> None:
    try:
        spool.write(data)
    except OSError as error:
        raise RunnerError(
            f"the document cannot be buffered in {tempfile.gettempdir()}: {error.strerror or error}; free some space"
        ) from error
