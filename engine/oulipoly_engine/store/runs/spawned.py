"""Recent invocations with who started them, for the tree of agents that were started by agents."""

from __future__ import annotations

from collections.abc import Collection

from oulipoly_engine.core.runs.invocations import Status
from oulipoly_engine.core.sessions.spawned import Spawned
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import SQL, Query, fn
from oulipoly_engine.store.models.runs import InvocationRow, ReturnedArtifactRow


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


def _select_failed() -> Query:
    row, later = InvocationRow, InvocationRow.alias()
    is_same = (later.provider_name == row.provider_name) & (later.session_id == row.session_id)
    return (
        row.select(row.provider_name, fn.COALESCE(row.session_id, row.invocation_uuid))
        .where((row.status == Status.FAILED) & row.provider_name.is_null(False))
        .where(~fn.EXISTS(later.select(SQL("1")).where(is_same & (later.id > row.id))))
    )


_all_failed = compile_query(_select_failed)


@compile_query
def _failed_among(accounts: Parameter, session_ids: Parameter) -> Query:
    row = InvocationRow
    is_of = row.session_id.in_(each_of(session_ids)) | row.invocation_uuid.in_(each_of(session_ids))
    return _select_failed().where(row.provider_name.in_(each_of(accounts)), is_of)


def find_failed_sessions(store: Store, among: Collection[tuple[str, str]] | None = None) -> frozenset[tuple[str, str]]:
    """Return the sessions, by account and the CLI's id, whose last run failed: all of them, or those of some.

    A run whose CLI has told no id is there by its own.
    """
    if among is None:
        return frozenset(store.rows(_all_failed()))
    accounts = sorted({account for account, _ in among})
    return frozenset(store.rows(_failed_among(accounts, sorted({session_id for _, session_id in among}))))


def _returned(store: Store, oldest: int) -> dict[int, list[str]]:
    """Return the names of what invocations from a row on have handed back, by their rows."""
    row, names = ReturnedArtifactRow, dict[int, list[str]]()
    asked = row.select(row.invocation_id, row.name).where(row.invocation_id >= oldest)
    for invocation, name in store.rows(asked.order_by(row.invocation_id, row.ordinal)):
        names.setdefault(invocation, []).append(name)
    return names
