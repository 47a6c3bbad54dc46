"""A session that was not begun here: what its CLI has written, to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.entry_text import text_of
from oulipoly_engine.web.api.engine import NotFound
from oulipoly_engine.web.api.listing import make_event, open_recorded
from oulipoly_engine.web.pages.entries import make_entries, newest_that_fit
from oulipoly_engine.web.pages.words import standing_of_listed

if TYPE_CHECKING:
    from starlette.responses import Response

    from oulipoly_engine.web.pages.page import Page

_ENTRIES = 100  # that one look reads


def show_recorded(page: Page) -> Response:
    """Show the last entries, or those before a number. Raises NotFound."""
    before = page.number("before")
    with open_recorded(page.engine, page.viewer, page.path["session_id"]) as stored:
        end = len(stored.entries) if before is None else before
        start = max(0, end - _ENTRIES)
        rows = stored.entries.page(start, end - start)
        events = [make_event(number, row) for number, row in enumerate(rows, start + 1)]
        entries = newest_that_fit(make_entries(events, {}))
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
