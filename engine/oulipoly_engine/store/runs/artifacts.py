"""What invocations have handed back: the receipts, in their order."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from oulipoly_engine.core.artifacts.receipts import ReturnedArtifact
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.rows import column_values, name_values
from oulipoly_engine.store.models.runs import ReturnedArtifactRow

_OF_THE_RUN = ("invocation_id", "ordinal", "source_kind")
_COLUMNS = [field for field in ReturnedArtifactRow._meta.sorted_fields if field.name not in _OF_THE_RUN]


def record_returned(store: Store, invocation_row_id: int, receipts: Iterable[ReturnedArtifact]) -> None:
    """Keep everything that an invocation has handed back, in place of what was kept of it before.

    All of it or nothing, in its own transaction or in the caller's. Raises StoreUnusable when there is no such
    invocation, or a receipt is not fit to be kept: the same version twice, a hash of another length, a version below 1.
    """
    with store.write():
        store.run(ReturnedArtifactRow.delete().where(ReturnedArtifactRow.invocation_id == invocation_row_id))
        for ordinal, receipt in enumerate(receipts):
            values = column_values(receipt)
            values |= {"source_kind": str(receipt.source.get("kind", "")), "source_json": values.pop("source")}
            store.insert(ReturnedArtifactRow, invocation_id=invocation_row_id, ordinal=ordinal, **values)


def find_returned_artifacts(store: Store, invocation_row_id: int) -> tuple[ReturnedArtifact, ...]:
    """Return what an invocation has handed back, in the order of the receipts."""
    row = ReturnedArtifactRow
    query = row.select(*_COLUMNS).where(row.invocation_id == invocation_row_id).order_by(row.ordinal)
    return tuple(_read(values) for values in store.rows(query))


def _read(values: tuple[Any, ...]) -> ReturnedArtifact:
    at = name_values(_COLUMNS, values)
    return ReturnedArtifact(source=json.loads(at.pop("source_json")), **at)
