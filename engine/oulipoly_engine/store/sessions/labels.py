"""What a person calls entries of a session. Secrets are taken out of it."""

from __future__ import annotations

from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.sessions import EntryLabelRow


def of_chain(store: Store, chain_id: str) -> dict[str, str]:
    """Return the labels of a session's entries, by their ids."""
    row = EntryLabelRow
    return dict(store.rows(row.select(row.entry_id, row.label).where(row.chain_id == chain_id)))


def put(store: Store, chain_id: str, entry_id: str, label: str, now: datetime) -> None:
    """Give an entry a label; an empty one takes it away."""
    row = EntryLabelRow
    with store.write():
        store.run(row.delete().where(row.chain_id == chain_id, row.entry_id == entry_id))
        if label:
            values = {"label": redact(label), "labelled_at": to_text(now)}
            store.insert(row, chain_id=chain_id, entry_id=entry_id, **values)
