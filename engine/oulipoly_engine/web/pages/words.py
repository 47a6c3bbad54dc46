"""How sessions stand, in words; the same ones everywhere on the pages. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.facade.worktrees.work import Work

_ENDED = {
    "closed": ("ended", "the next message goes on with it"),
    "failed": ("failed", ""),
    "canceled": ("canceled", "the next message goes on with it"),
    "timed_out": ("timed out", "its turn said nothing for too long"),
}
ORDER = (
    "waiting for you",
    "blocked",
    "failed",
    "timed out",
    "running",
    "starting",
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
        if self.word in ("waiting for you", "blocked"):
            return "ask"
        if self.word in ("failed", "timed out"):
            return "bad"
        return "on" if self.word in ("running", "starting") else "off"


def standing_of(work: Work) -> Standing:
    """Return a session's word, and what more there is to say."""
    if work.session.status == "fenced":
        return Standing("blocked", work.error)
    if work.pending_approval:
        return Standing("waiting for you", "it asks before it goes on")
    if work.is_stale:
        return Standing("failed", work.error)
    if work.status == "queued":
        return Standing("queued", work.waits_for)
    if work.status in ("running", "waiting_input"):
        return Standing("running") if work.busy else Standing("ready", "it waits for the next message")
    word, detail = _ENDED.get(work.status, (work.status.replace("_", " "), ""))
    if work.session.lifecycle == "oneshot" and "next message" in detail:
        detail = "a one-shot session takes no other message"
    return Standing(word, work.error or detail)
