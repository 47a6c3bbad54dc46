"""Recent invocations with who started them, for the tree of agents that were started by agents."""

from __future__ import annotations

from oulipoly_engine.records import Record, replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import fn
from oulipoly_engine.store.models.runs import InvocationRow, ReturnedArtifactRow


class Spawned(Record):
    """One invocation as a tree shows it."""

    row_id: int
    uuid: str
    parent_row_id: int | None
    model: str
    account: str | None
    status: str
    session_id: str | None
    created_at: str  # RFC 3339
    finished_at: str | None
    reason: str | None  # why it ended as it did
    capture_method: str | None = None  # how its session's id was learned
    returned: tuple[str, ...] = ()  # names of artifacts, in the order of their return

    @property
    def is_resumed(self) -> bool:
        """Tell whether it went on with its session, which is older than it."""
        return self.capture_method == "resumed"


def recent(store: Store, most: int) -> tuple[Spawned, ...]:
    """Return the latest invocations, the newest first."""
    row = InvocationRow
    rows = store.rows(
        row.select(
            row.id,
            row.invocation_uuid,
            row.parent_invocation_id,
            row.model_name,
            row.provider_name,
            row.status,
            row.session_id,
            row.created_at,
            row.finished_at,
            fn.COALESCE(row.error_category, row.terminal_reason),
            row.session_capture_method,
        )
        .order_by(row.id.desc())
        .limit(most)
    )
    names = _returned(store, rows[-1][0]) if rows else {}
    return tuple(replace(Spawned(*row), returned=tuple(names.get(row[0], ()))) for row in rows)


def _returned(store: Store, oldest: int) -> dict[int, list[str]]:
    """Return the names of what invocations from a row on have handed back, by their rows."""
    row, names = ReturnedArtifactRow, dict[int, list[str]]()
    asked = row.select(row.invocation_id, row.name).where(row.invocation_id >= oldest)
    for invocation, name in store.rows(asked.order_by(row.invocation_id, row.ordinal)):
        names.setdefault(invocation, []).append(name)
    return names
