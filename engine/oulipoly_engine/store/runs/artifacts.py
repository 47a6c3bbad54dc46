"""What invocations have handed back: the receipts, in their order."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.artifacts.receipts import ReturnedArtifact
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.runs import ReturnedArtifactRow

_COLUMNS = (
    "version_id",
    "name",
    "workflow_run_id",
    "artifact_name",
    "version",
    "sha256",
    "content_len",
    "format_hint",
    "verdict_line",
    "source_json",
    "returned_at",
)


def record_returned(store: Store, invocation_row_id: int, receipts: Iterable[ReturnedArtifact]) -> None:
    """Keep everything that an invocation has handed back, in place of what was kept of it before.

    All of it or nothing, in its own transaction or in the caller's. Raises StoreUnusable when there is no such
    invocation, or a receipt is not fit to be kept: the same version twice, a hash of another length, a version below 1.
    """
    with store.write():
        store.run(ReturnedArtifactRow.delete().where(ReturnedArtifactRow.invocation_id == invocation_row_id))
        for ordinal, receipt in enumerate(receipts):
            store.insert(
                ReturnedArtifactRow,
                invocation_id=invocation_row_id,
                ordinal=ordinal,
                version_id=receipt.version_id,
                name=receipt.name,
                workflow_run_id=receipt.workflow_run_id,
                artifact_name=receipt.artifact_name,
                version=receipt.version,
                sha256=receipt.sha256,
                content_len=receipt.content_len,
                format_hint=receipt.format_hint,
                verdict_line=receipt.verdict_line,
                source_kind=str(receipt.source.get("kind", "")),
                source_json=json.dumps(dict(receipt.source), ensure_ascii=False),
                returned_at=to_text(receipt.returned_at),
            )


def find_returned_artifacts(store: Store, invocation_row_id: int) -> tuple[ReturnedArtifact, ...]:
    """Return what an invocation has handed back, in the order of the receipts."""
    row = ReturnedArtifactRow
    rows = store.rows(
        row.select(*(getattr(row, name) for name in _COLUMNS))
        .where(row.invocation_id == invocation_row_id)
        .order_by(row.ordinal)
    )
    return tuple(_read(row) for row in rows)


def _read(row: tuple[Any, ...]) -> ReturnedArtifact:
    at = dict(zip(_COLUMNS, row, strict=True))
    source, returned_at = json.loads(at.pop("source_json")), from_text(at.pop("returned_at"))
    return ReturnedArtifact(**at, source=source, returned_at=returned_at)
