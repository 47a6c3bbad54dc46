"""Recent invocations with who started them, for the tree of agents that were started by agents."""

from __future__ import annotations

from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store


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


def recent(store: Store, most: int) -> tuple[Spawned, ...]:
    """Return the latest invocations, the newest first."""
    rows = store.rows(
        "SELECT id, invocation_uuid, parent_invocation_id, model_name, provider_name, status, session_id, created_at,"
        " finished_at, COALESCE(error_category, terminal_reason) FROM invocations ORDER BY id DESC LIMIT ?",
        (most,),
    )
    return tuple(Spawned(*row) for row in rows)
