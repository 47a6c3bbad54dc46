"""Chains that come in bundles: what goes along, and the rows that make one known here."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Case
from oulipoly_engine.store.models import sessions as tables
from oulipoly_engine.store.sessions import chains


class StoredSegment(Record):
    """A segment as it is stored; instants are RFC 3339."""

    account: str
    session_id: str
    started_at: str
    ended_at: str | None
    last_turn_id: str | None


class StoredChain(Record):
    """A chain with its segments, the active one last."""

    chain_id: str
    model: str
    last_used_at: str
    segments: tuple[StoredSegment, ...]
    name: str | None = None
    note: str | None = None


def chain_row(store: Store, chain_id: str) -> StoredChain | None:
    """Return a chain as it is stored; None: there is none."""
    chain, segment, notes = tables.ChainRow, tables.SegmentRow, tables.NoteRow
    found = store.rows(chain.select(chain.model_name, chain.last_used_at).where(chain.chain_id == chain_id))
    if not found:
        return None
    segments = store.rows(
        segment.select(
            segment.provider_name, segment.session_id, segment.started_at, segment.ended_at, segment.last_turn_id
        )
        .where(segment.chain_id == chain_id)
        .order_by(Case(None, [(segment.ended_at.is_null(), 1)], 0), segment.started_at, segment.id)
    )
    said = store.rows(notes.select(notes.name, notes.note).where(notes.chain_id == chain_id))
    name, note = said[0] if said else (None, None)
    return StoredChain(
        chain_id, str(found[0][0]), str(found[0][1]), tuple(StoredSegment(*row) for row in segments), name, note
    )


def adopt(store: Store, chain: StoredChain, at: str) -> tuple[str, bool]:
    """Make a chain known, and return its id here and whether it was known already.

    A chain that holds the active segment's session is taken as it is; an id that is in use gives way to a new one.
    """
    active = chain.segments[-1]
    with store.write():
        known = chains.chain_of(store, active.account, active.session_id)
        if known is not None:
            return known, True
        taken = store.rows(
            tables.ChainRow.select(tables.ChainRow.chain_id).where(tables.ChainRow.chain_id == chain.chain_id)
        )
        chain_id = str(uuid.uuid4()) if taken else chain.chain_id
        _insert(store, chain_id, chain, at)
        return chain_id, False


def _insert(store: Store, chain_id: str, chain: StoredChain, at: str) -> None:
    store.insert(
        tables.ChainRow,
        chain_id=chain_id,
        created_at=min(segment.started_at for segment in chain.segments),
        last_used_at=chain.last_used_at,
        model_name=chain.model,
    )
    _insert_segments(store, chain_id, chain.segments)
    if chain.name is not None or chain.note is not None:
        name, note = (words and redact(words) for words in (chain.name, chain.note))
        store.insert(tables.NoteRow, chain_id=chain_id, name=name, note=note, changed_at=at)


def _insert_segments(store: Store, chain_id: str, segments: Sequence[StoredSegment]) -> None:
    for segment in segments:
        is_last = segment is segments[-1]
        store.insert(
            tables.SegmentRow,
            chain_id=chain_id,
            provider_name=segment.account,
            session_id=segment.session_id,
            started_at=segment.started_at,
            ended_at=None if is_last else segment.ended_at or at_end(segments),
            last_turn_id=segment.last_turn_id,
            transition_reason="imported",
        )


def at_end(segments: Sequence[StoredSegment]) -> str:
    """Return when an earlier segment ended that nobody closed: when the last one began."""
    return segments[-1].started_at
