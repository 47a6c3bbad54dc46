"""Operations on repositories: noted before their first step, ended once."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.worktrees.worktrees import OPERATION, Operation
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.rows import column_values, name_values
from oulipoly_engine.store.models.worktrees import WorktreeOperationRow

_COLUMNS = WorktreeOperationRow._meta.sorted_fields


def begin(store: Store, operation: Operation) -> None:
    """Note an operation before its first step."""
    with store.write():
        store.insert(WorktreeOperationRow, **column_values(operation))


def end(store: Store, operation_id: str, event: str, now: datetime) -> bool:
    """Apply an event of `OPERATION`. Returns whether the operation was still under way."""
    row = WorktreeOperationRow
    told = {row.state: OPERATION["begun", event], row.ended_at: to_text(now)}
    with store.write():
        return store.run(row.update(told).where(row.operation_id == operation_id, row.state == "begun")) == 1


def begun(store: Store, session_id: str | None = None) -> tuple[Operation, ...]:
    """Return the operations that have not ended, oldest first."""
    row = WorktreeOperationRow
    query = row.select(*_COLUMNS).where(row.state == "begun")
    return _ask(store, query if session_id is None else query.where(row.session_id == session_id))


def of_session(store: Store, session_id: str) -> tuple[Operation, ...]:
    """Return all operations of a session, oldest first."""
    row = WorktreeOperationRow
    return _ask(store, row.select(*_COLUMNS).where(row.session_id == session_id))


def _ask(store: Store, query: Any) -> tuple[Operation, ...]:  # noqa: ANN401 - a query of peewee
    row = WorktreeOperationRow
    return tuple(map(_read, store.rows(query.order_by(row.begun_at, row.operation_id))))


def _read(values: tuple[Any, ...]) -> Operation:
    at = name_values(_COLUMNS, values)
    return Operation(**at | {"detail": json.loads(at["detail"])})
