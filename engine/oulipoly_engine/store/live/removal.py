"""A live session removed with all that was said in it, for whoever wanted none of it kept.

What its runs have cost stays: they count for the quota of their account.
"""

from __future__ import annotations

from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import fn
from oulipoly_engine.store.models.live import LiveSessionRow
from oulipoly_engine.store.models.sessions import ChainRow, FactsRow, SegmentRow
from oulipoly_engine.store.models.transcripts import EntryRow
from oulipoly_engine.store.outbox import events as outbox


def remove(store: Store, session_id: str) -> None:
    """Remove a session, its turns, events, requests and queue, and what is stored under its CLI's present id."""
    row = LiveSessionRow
    entry = EntryRow
    segment = SegmentRow
    chain = ChainRow
    with store.write():
        owner = fn.COALESCE(row.account, row.runtime_id)
        for account, native_id in store.rows(row.select(owner, row.native_id).where(row.session_id == session_id)):
            mine = (segment.session_id == native_id) & (segment.provider_name == account)
            chains = [chain_id for (chain_id,) in store.rows(segment.select(segment.chain_id).where(mine))]
            store.run(entry.delete().where(entry.session_id == native_id, entry.provider_name == account))
            store.run(FactsRow.delete().where(FactsRow.session_id == native_id, FactsRow.account == account))
            store.run(segment.delete().where(mine))
            left = segment.select(segment.chain_id)
            store.run(chain.delete().where(chain.chain_id.in_(each_of(chains)), chain.chain_id.not_in(left)))
        outbox.forget_session(store, session_id)
        outbox.unregister(store, f"extensions:{session_id}")  # of a process that was killed
        store.run(row.delete().where(row.session_id == session_id))
