"""Which sessions' transcripts are old and have no kept copy."""

from __future__ import annotations

from typing import NamedTuple

from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import fn
from oulipoly_engine.store.models.archive import CopyRow
from oulipoly_engine.store.models.sessions import FactsRow, SegmentRow


class UncopiedTranscript(NamedTuple):
    """A transcript without a copy."""

    chain_id: str
    transcript: str


def unkept(store: Store, account: str, before_ms: int) -> tuple[UncopiedTranscript, ...]:
    """Return an account's transcripts that were last changed before an instant when last looked at, and are not kept.

    before_ms: milliseconds since 1970.
    """
    facts, segment, copy = FactsRow, SegmentRow, CopyRow
    same = (segment.session_id == facts.session_id) & (segment.provider_name == facts.account)
    kept = copy.select(copy.id).where(
        copy.session_id == facts.session_id,
        copy.account == facts.account,
        copy.part == "",
        copy.is_latest == 1,
        copy.is_pruned == 0,
    )
    rows = store.rows(
        facts.select(fn.MIN(segment.chain_id), facts.transcript)
        .join(segment, on=same)
        .where(
            facts.account == account,
            facts.mtime_ms <= before_ms,
            facts.transcript.is_null(False),
            segment.ended_at.is_null(),
            ~fn.EXISTS(kept),
        )
        .group_by(facts.session_id, facts.transcript, facts.mtime_ms)
        .order_by(facts.mtime_ms)
    )
    return tuple(UncopiedTranscript(str(chain), str(path)) for chain, path in rows)


def mark(store: Store) -> tuple[int, int]:
    """Return what changes whenever a copy is kept or a session is described anew."""
    last = store.rows(CopyRow.select(fn.COALESCE(fn.MAX(CopyRow.id), 0)))[0][0]
    described = store.rows(FactsRow.select(fn.COUNT(FactsRow.mtime_ms)))[0][0]
    return int(last), int(described)
