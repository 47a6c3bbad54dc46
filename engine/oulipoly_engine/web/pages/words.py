"""How sessions stand, in words; the same ones everywhere on the pages. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.sessions.facets import STATUSES, WAITS
from oulipoly_engine.core.text.quantities import ago
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from datetime import datetime

    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_engine.facade.sessions.types import ListedSession

# What more there is to say of a status, where nothing went wrong.
_DETAILS = {
    "waiting_input": "it waits for the next message",
    "closed": "the next message goes on with it",
    "canceled": "the next message goes on with it",
    "timed_out": "its turn said nothing for too long",
}
ORDER = (
    WAITS,
    "blocked",
    "failed",
    "recoverable",
    "timed out",
    "running",
    "starting",
    "closing",
    "queued",
    "ready",
    "canceled",
    "ended",
)


class Standing(Record):
    """How a session stands."""

    word: str  # of `ORDER`
    detail: str = ""

    @property
    def mark(self) -> str:
        """Return the class of its colour; the word says the same."""
        if self.word in (WAITS, "blocked"):
            return "ask"
        if self.word in ("failed", "recoverable", "timed out"):
            return "bad"
        return "on" if self.word in ("running", "starting", "closing") else "off"


def standing_of(work: LiveStatus) -> Standing:
    """Return a session's word, and what more there is to say."""
    if work.pending_approval:
        return Standing(WAITS, "it asks before it goes on")
    detail = _DETAILS.get(work.word, "")
    if work.session.lifecycle == "oneshot" and "goes on" in detail:
        detail = "a one-shot session takes no other message"
    if work.status == "queued":
        detail = work.waits_for
    elif work.pid is None:
        detail = work.error or detail
    return Standing(STATUSES.get(work.word, work.word), detail)


def standing_of_listed(listed: ListedSession, now: datetime) -> Standing:
    """Return the word of a session that was not begun here, and when it was used last."""
    return Standing(STATUSES[listed.facets.status], ago(from_text(listed.session.last_used_at), now))
