"""One session in two chains, as when the copy of a killed move was read for a session of its own: found, and joined."""

from __future__ import annotations

from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import fn
from oulipoly_engine.store.models.sessions import ChainRow, EntryLabelRow, NoteRow, SegmentRow
from oulipoly_engine.store.models.transcripts import ReplacementRow


class SplitSession(Record):
    """A session that several chains have open."""

    session_id: str
    chains: tuple[tuple[str, str], ...]  # (account, chain id), the latest used first


def find_split(store: Store) -> tuple[SplitSession, ...]:
    """Return the sessions that several chains have open, each on another account or in another way."""
    segment, is_open = SegmentRow, SegmentRow.ended_at.is_null()
    several = (
        segment.select(segment.session_id)
        .where(is_open)
        .group_by(segment.session_id)
        .having(fn.COUNT(segment.chain_id.distinct()) > 1)
    )
    rows = store.rows(
        segment.select(segment.session_id, segment.provider_name, segment.chain_id)
        .join(ChainRow, on=ChainRow.chain_id == segment.chain_id)
        .where(is_open, segment.session_id.in_(several))
        .order_by(segment.session_id, ChainRow.last_used_at.desc(), segment.chain_id)
    )
    found: dict[str, list[tuple[str, str]]] = {}
    for session_id, account, chain_id in rows:
        found.setdefault(str(session_id), []).append((str(account), str(chain_id)))
    return tuple(SplitSession(session_id, tuple(chains)) for session_id, chains in found.items())


def join(store: Store, chain_id: str, other_id: str, at: str) -> None:
    """Have a chain take over all that another one has: segments, notes, model, replacements; the other one goes.

    at: RFC 3339. Runs inside the caller's write transaction.
    """
    _join_segments(store, chain_id, other_id)
    _join_notes(store, chain_id, other_id, at)
    _join_heads(store, chain_id, other_id)
    row = ReplacementRow
    store.run(row.update(chain_id=chain_id).where(row.chain_id == other_id))
    labels = EntryLabelRow
    own = labels.select(labels.entry_id).where(labels.chain_id == chain_id)
    others = (labels.chain_id == other_id) & labels.entry_id.not_in(own)
    store.run(labels.update(chain_id=chain_id).where(others))
    store.run(ChainRow.delete().where(ChainRow.chain_id == other_id))


def _join_segments(store: Store, chain_id: str, other_id: str) -> None:
    row = SegmentRow
    question = row.select(row.id, row.provider_name, row.session_id)
    known = {tuple(key) for _, *key in store.rows(question.where(row.chain_id == chain_id))}
    for row_id, *key in store.rows(question.where(row.chain_id == other_id)):
        if tuple(key) in known:
            store.run(row.delete().where(row.id == row_id))
        else:
            store.run(row.update(chain_id=chain_id).where(row.id == row_id))


def _join_notes(store: Store, chain_id: str, other_id: str, at: str) -> None:
    row = NoteRow
    question = row.select(row.name, row.note, row.pinned_at)
    own, others = (store.rows(question.where(row.chain_id == one)) for one in (chain_id, other_id))
    if not others:
        return
    name, note, pinned_at = own[0] if own else (None, None, None)
    other_name, other_note, other_pinned_at = others[0]
    second_name = f"Also called: {other_name}" if name and other_name and name != other_name else None
    texts = dict.fromkeys(text for text in (note, second_name, other_note) if text)
    store.run(row.delete().where(row.chain_id.in_((chain_id, other_id))))
    store.insert(
        row,
        chain_id=chain_id,
        name=name or other_name,
        note="\n\n".join(texts) or None,
        pinned_at=pinned_at or other_pinned_at,
        changed_at=at,
    )


def _join_heads(store: Store, chain_id: str, other_id: str) -> None:
    row = ChainRow
    question = row.select(row.created_at, row.last_used_at, row.model_name)
    own, other = (store.rows(question.where(row.chain_id == one))[0] for one in (chain_id, other_id))
    store.run(
        row.update(
            created_at=min(own[0], other[0]),
            last_used_at=max(own[1], other[1]),
            model_name=other[2] if own[2] == UNKNOWN_MODEL else own[2],
        ).where(row.chain_id == chain_id)
    )
