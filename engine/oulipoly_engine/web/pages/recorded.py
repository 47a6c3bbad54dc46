"""A session that was not begun here: what its CLI has written, to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.entry_text import extract_text, passages, text_of
from oulipoly_engine.web.api.engine import NotFound
from oulipoly_engine.web.api.listing import open_recorded
from oulipoly_engine.web.pages.entries import LONGEST, Entry, newest_that_fit
from oulipoly_engine.web.pages.words import standing_of_listed

if TYPE_CHECKING:
    from starlette.responses import Response

    from oulipoly_engine.facade.sessions.types import Entry as StoredEntry
    from oulipoly_engine.web.pages.page import Page

_ENTRIES = 100  # that one look reads


def show_recorded(page: Page) -> Response:
    """Show the last entries, or those before a number. Raises NotFound."""
    before = page.number("before")
    with open_recorded(page.engine, page.viewer, page.path["session_id"]) as stored:
        end = len(stored.entries) if before is None else before
        start = max(0, end - _ENTRIES)
        rows = stored.entries.page(start, end - start)
        entries = newest_that_fit([_make_entry(number, row) for number, row in enumerate(rows, start + 1)])
        listed = stored.listed
    return page.show(
        "recorded.html",
        listed=listed,
        standing=standing_of_listed(listed, page.engine.surroundings.clock.now()),
        entries=entries,
        earlier=entries[0].seq - 1 if entries else 0,
        is_past=before is not None,
    )


def read_whole_text(page: Page, number: int) -> tuple[str, str]:
    """Return a session's title and all that its entry of a number says. Raises NotFound."""
    with open_recorded(page.engine, page.viewer, page.path["session_id"]) as stored:
        rows = stored.entries.page(number - 1, 1) if number else ()
        if not rows:
            raise NotFound(f"this session has nothing to show at {number}")
        return stored.listed.session.title or "", redact(text_of(rows[0].body))


def _make_entry(number: int, row: StoredEntry) -> Entry:
    said = redact(extract_text(row.body))
    everything = redact(text_of(row.body))
    text = (said or everything)[:LONGEST]
    left_out = len(everything) - len(text)
    note = "compaction" if row.is_compaction_boundary else ""
    if not said:
        kinds = " ".join(passage.kind for passage in passages(row.body))
        return Entry(number, row.timestamp, "tool", kinds[:100], text, left_out, note=note)
    kind = "agent" if row.role == "assistant" else "user"
    return Entry(number, row.timestamp, kind, "", text, left_out, note=note)
