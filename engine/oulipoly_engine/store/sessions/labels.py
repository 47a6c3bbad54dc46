"""What a person calls entries of a session. Secrets are taken out of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.sessions import EntryLabelRow


def of_chain(store: Store, chain_id: str) -> dict[str, str]:
    """Return the labels of a session's entries, by their ids."""
    row = EntryLabelRow
    return dict(store.rows(row.select(row.entry_id, row.label).where(row.chain_id == chain_id)))


def move(store: Store, chain_id: str, heirs: Mapping[str, str]) -> None:
    """Give the labels of entries that are given up to those in their place that have none."""
    row = EntryLabelRow
    labelled = {*of_chain(store, chain_id)}
    for entry_id in sorted(labelled & heirs.keys()):
        if heirs[entry_id] in labelled:
            continue
        labelled |= {heirs[entry_id]}
        mine = (row.chain_id == chain_id) & (row.entry_id == entry_id)
        store.run(row.update({row.entry_id: heirs[entry_id]}).where(mine))


def put(store: Store, chain_id: str, entry_id: str, label: str, now: datetime) -> None:
    """Give an entry a label; an empty one takes it away."""
    row = EntryLabelRow
    with store.write():
        store.run(row.delete().where(row.chain_id == chain_id, row.entry_id == entry_id))
        if label:
            values = {"label": redact(label), "labelled_at": to_text(now)}
            store.insert(row, chain_id=chain_id, entry_id=entry_id, **values)
