"""Which session a one-shot has made that told no session id (contract, 5.5). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from oulipoly_engine.records import Record


class SessionActivity(Record):
    """What came into one session while a one-shot ran."""

    session_id: str
    new_turns: int  # with instants inside (started, finished]
    first_entry_at: str  # of these; RFC 3339 in the one fixed form, so that texts compare as instants


def choose_session(active: Iterable[SessionActivity]) -> str | None:
    """Return the session with the most new entries; None when nothing came in.

    Where several have as many, the one that began earlier, then the lesser id.
    """
    candidates = [session for session in active if session.new_turns > 0]
    best = min(candidates, key=lambda one: (-one.new_turns, one.first_entry_at, one.session_id), default=None)
    return None if best is None else best.session_id
