"""What a person says of a session: its name, a note, a pin. Secrets are taken out of all of it."""

from __future__ import annotations

from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live.sessions import first_line
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import fn
from oulipoly_engine.store.models.live import LiveSessionRow, LiveTurnRow
from oulipoly_engine.store.models.sessions import NoteRow, SegmentRow


class SessionNotes(Record):
    """Everything that was said; None: nothing."""

    name: str | None = None
    note: str | None = None
    pinned_at: str | None = None


def of_chain(store: Store, chain_id: str) -> SessionNotes:
    """Return what was said of a chain."""
    rows = store.rows(NoteRow.select(NoteRow.name, NoteRow.note, NoteRow.pinned_at).where(NoteRow.chain_id == chain_id))
    return SessionNotes(*rows[0]) if rows else SessionNotes()


def rename(store: Store, chain_id: str, name: str | None, now: datetime) -> None:
    """Give a chain a name, or take it away; the live sessions that write it have the same one, or their first name.

    Runs in its own transaction, or in the caller's.
    """
    name = name and redact(name)
    segments = SegmentRow.select(SegmentRow.provider_name, SegmentRow.session_id).where(SegmentRow.chain_id == chain_id)
    with store.write():
        _set(store, chain_id, "name", name, now)
        for account, native_id in store.rows(segments):
            mine = (LiveSessionRow.account == account) & (LiveSessionRow.native_id == native_id)
            live = LiveSessionRow
            for (session_id,) in store.rows(live.select(live.session_id).where(mine)):
                title = find_first_name(store, session_id) if name is None else name
                store.run(live.update({live.title: title}).where(live.session_id == session_id))


def annotate(store: Store, chain_id: str, note: str | None, now: datetime) -> None:
    """Give a chain a note, or take it away, as `rename` does."""
    _set(store, chain_id, "note", note and redact(note), now)


def find_first_name(store: Store, session_id: str) -> str:
    """Return what a live session began as, its title or its first message; empty: it has none yet."""
    turn = LiveTurnRow
    session = LiveSessionRow
    query = turn.select(turn.input).where(turn.session_id == session_id, turn.kind == "user")
    title = fn.json_extract(session.opening, "$.title")
    with store.read():
        titles = store.rows(session.select(title).where(session.session_id == session_id))
        inputs = store.rows(query.order_by(turn.created_at, turn.turn_id).limit(1))
    if titles and isinstance(titles[0][0], str):
        return titles[0][0]
    return first_line(inputs[0][0]) if inputs else ""


def pin(store: Store, chain_id: str, now: datetime) -> None:
    """Pin a chain; one that is pinned keeps the moment when it was."""
    with store.write():
        if of_chain(store, chain_id).pinned_at is None:
            _set(store, chain_id, "pinned_at", to_text(now), now)


def unpin(store: Store, chain_id: str, now: datetime) -> None:
    """Take a chain's pin away."""
    _set(store, chain_id, "pinned_at", None, now)


def _set(store: Store, chain_id: str, column: str, value: str | None, now: datetime) -> None:
    changed = {getattr(NoteRow, column): value, NoteRow.changed_at: to_text(now)}
    told = NoteRow.insert({NoteRow.chain_id: chain_id, **changed})
    says_nothing = NoteRow.name.is_null() & NoteRow.note.is_null() & NoteRow.pinned_at.is_null()
    with store.write():
        store.run(told.on_conflict(conflict_target=[NoteRow.chain_id], preserve=list(changed)))
        store.run(NoteRow.delete().where(NoteRow.chain_id == chain_id, says_nothing))
