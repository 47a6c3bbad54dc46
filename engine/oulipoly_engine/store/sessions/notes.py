"""What a person says of a conversation: its name, a note, a pin."""

from __future__ import annotations

from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store


class ConversationNotes(Record):
    """Everything that was said; None: nothing."""

    name: str | None = None
    note: str | None = None
    pinned_at: str | None = None


def of_chain(store: Store, chain_id: str) -> ConversationNotes:
    """Return what was said of a chain."""
    rows = store.rows("SELECT name, note, pinned_at FROM conversation_notes WHERE chain_id = ?", (chain_id,))
    return ConversationNotes(*rows[0]) if rows else ConversationNotes()


def rename(store: Store, chain_id: str, name: str | None, now: datetime) -> None:
    """Give a chain a name, or take it away. Runs in its own transaction, or in the caller's."""
    _set(store, chain_id, "name", name, now)


def annotate(store: Store, chain_id: str, note: str | None, now: datetime) -> None:
    """Give a chain a note, or take it away, as `rename` does."""
    _set(store, chain_id, "note", note, now)


def pin(store: Store, chain_id: str, now: datetime) -> None:
    """Pin a chain; one that is pinned keeps the moment when it was."""
    with store.write():
        if of_chain(store, chain_id).pinned_at is None:
            _set(store, chain_id, "pinned_at", to_text(now), now)


def unpin(store: Store, chain_id: str, now: datetime) -> None:
    """Take a chain's pin away."""
    _set(store, chain_id, "pinned_at", None, now)


def _set(store: Store, chain_id: str, column: str, value: str | None, now: datetime) -> None:
    with store.write():
        store.execute(
            f"INSERT INTO conversation_notes (chain_id, {column}, changed_at) VALUES (?, ?, ?)"  # noqa: S608 - our own words
            f" ON CONFLICT (chain_id) DO UPDATE SET {column} = excluded.{column}, changed_at = excluded.changed_at",
            (chain_id, value, to_text(now)),
        )
        store.execute(
            "DELETE FROM conversation_notes WHERE chain_id = ? AND name IS NULL AND note IS NULL AND pinned_at IS NULL",
            (chain_id,),
        )
