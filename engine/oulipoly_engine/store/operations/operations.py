"""Operations: noted before their first step, ended once."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.operations.operations import OPERATION, Operation
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.rows import column_values, name_values
from oulipoly_engine.store.models.worktrees import OperationRow

_COLUMNS = OperationRow._meta.sorted_fields


def begin(store: Store, operation: Operation) -> None:
    """Note an operation before its first step."""
    with store.write():
        store.insert(OperationRow, **column_values(operation))


def end(store: Store, operation_id: str, event: str, now: datetime) -> bool:
    """Apply an event of `OPERATION`. Returns whether the operation was still under way."""
    row = OperationRow
    changes = {row.state: OPERATION["begun", event], row.ended_at: to_text(now)}
    with store.write():
        return store.run(row.update(changes).where(row.operation_id == operation_id, row.state == "begun")) == 1


def find(store: Store, state: str, kinds: Collection[str] = (), subject: str | None = None) -> tuple[Operation, ...]:
    """Return the operations that are in a state, oldest first; only those of some kinds, or of one subject."""
    row = OperationRow
    query = row.select(*_COLUMNS).where(row.state == state)
    query = query.where(row.kind.in_(tuple(kinds))) if kinds else query
    query = query if subject is None else query.where(row.subject == subject)
    return tuple(map(_read, store.rows(query.order_by(row.begun_at, row.operation_id))))


def _read(values: tuple[Any, ...]) -> Operation:
    at = name_values(_COLUMNS, values)
    return Operation(**at | {"detail": json.loads(at["detail"])})
