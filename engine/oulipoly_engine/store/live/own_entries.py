"""Entries that nobody has said: changes of model, thinking level and name, and summaries of branches that were left.

They lie in the part of a session that goes on. Where a change stands follows from its time (`entry_pages`), so that it
keeps its place when a transcript takes over what was heard round about; no leaf moves to it, and no turn sends it.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.turn_script import LIVE_IDS, SESSION_INFO, BodyChunk, EntryLine, encode_body
from oulipoly_engine.errors import SessionNotFound
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.models.sessions import SegmentRow
from oulipoly_engine.store.models.transcripts import EntryRow
from oulipoly_engine.store.sessions import leaves, notes
from oulipoly_engine.store.transcripts import entries

_SHORT = 1_000_000  # below it are the numbers by which people name these entries


@compile_query
def _select_part(chain_id: Parameter) -> Query:
    row = SegmentRow
    order = row.ended_at.is_null(is_null=False), row.started_at.desc(), row.id.desc()
    return row.select(row.provider_name, row.session_id).where(row.chain_id == chain_id).order_by(*order).limit(1)


def _find_part(store: Store, chain_id: str) -> tuple[str, str] | None:
    """Return account and id of the part that goes on; None: the session is gone."""
    rows = store.rows(_select_part(chain_id))
    return (rows[0][0], rows[0][1]) if rows else None


def add(store: Store, chain_id: str, kind: str, text: str, now: datetime, parent_id: str | None = None) -> str:
    """Add an entry and return its id. Runs inside the caller's write transaction. Raises SessionNotFound.

    parent_id: the entry that it follows on, NO_PARENT: none; None: what was said last, or what a person went back to.
    """
    part = _find_part(store, chain_id)
    if part is None:  # it was merged into another one, or removed, since the caller has looked
        raise SessionNotFound(f"session {chain_id} is not there any more", input=chain_id)
    account, session_id = part
    if parent_id is None:
        parent_id = leaves.find_moved(store, account, session_id)
    own = uuid.uuid4()
    line = EntryLine(
        session_id=session_id,
        entry_id=f"{LIVE_IDS}{own}/{own.int % _SHORT:010}",
        timestamp=to_text(now),
        role=kind,
        parent_entry_id=parent_id,
        body=encode_body((BodyChunk("text", redact(text)),)),
        other_kind=kind,
    )
    entries.insert_new(store, account, (line,), now)
    return line.entry_id


def drop(store: Store, chain_id: str, entry_ids: Collection[str]) -> None:
    """Remove entries that `add` has added: their change has not come about."""
    row = EntryRow
    part = _find_part(store, chain_id)
    if part is None:
        return
    account, session_id = part
    mine = (row.provider_name == account) & (row.session_id == session_id)
    store.run(row.delete().where(mine, row.entry_id.in_([*entry_ids])))


def rename(store: Store, chain_id: str, name: str | None, now: datetime) -> None:
    """Rename a session as `notes.rename` does; in the tree of one that was live the name is an entry."""
    with store.write():
        before = notes.of_chain(store, chain_id).name
        notes.rename(store, chain_id, name, now)
        is_changed = bool(name) and redact(name or "") != before
        if name and is_changed and live_sessions.find(store, chain_id) and _find_part(store, chain_id):
            add(store, chain_id, SESSION_INFO, name, now)
