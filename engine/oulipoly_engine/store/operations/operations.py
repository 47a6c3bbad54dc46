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


def begun(store: Store, kinds: Collection[str], subject: str | None = None) -> tuple[Operation, ...]:
    """Return the operations of some kinds that have not ended, oldest first. subject: only those of this one."""
    row = OperationRow
    query = row.select(*_COLUMNS).where(row.state == "begun", row.kind.in_(tuple(kinds)))
    return _ask(store, query if subject is None else query.where(row.subject == subject))


def of_subject(store: Store, subject: str) -> tuple[Operation, ...]:
    """Return all operations of a subject, oldest first."""
    row = OperationRow
    return _ask(store, row.select(*_COLUMNS).where(row.subject == subject))


def _ask(store: Store, query: Any) -> tuple[Operation, ...]:  # noqa: ANN401 - a query of peewee
    row = OperationRow
    return tuple(map(_read, store.rows(query.order_by(row.begun_at, row.operation_id))))


def _read(values: tuple[Any, ...]) -> Operation:
    at = name_values(_COLUMNS, values)
    return Operation(**at | {"detail": json.loads(at["detail"])})
