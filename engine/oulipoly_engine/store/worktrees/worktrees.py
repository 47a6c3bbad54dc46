"""Worktrees: written before git makes anything, and moved from state to state by compare-and-set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.worktrees.worktrees import WORKTREE, Worktree
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.base.rows import column_values, name_values
from oulipoly_engine.store.models.worktrees import WorktreeRow

_COLUMNS = WorktreeRow._meta.sorted_fields


def insert(store: Store, worktree: Worktree) -> None:
    """Write a worktree that is about to be made, in place of one of the same session that failed."""
    row = WorktreeRow
    with store.write():
        store.run(row.delete().where(row.session_id == worktree.session_id, row.state == "failed"))
        store.insert(row, **column_values(worktree))


def note(store: Store, session_id: str, **changes: Any) -> None:  # noqa: ANN401 - columns
    """Change fields of a worktree, not its state."""
    row = WorktreeRow
    if "settings" in changes:
        changes["settings"] = json.dumps(changes["settings"], ensure_ascii=False)
    told = {getattr(row, name): value for name, value in changes.items()}
    with store.write():
        store.run(row.update(told).where(row.session_id == session_id))


def move(store: Store, session_id: str, event: str, now: datetime, **changes: Any) -> bool:  # noqa: ANN401 - columns
    """Apply an event of `WORKTREE`. Returns whether the worktree was in a state in which it may come."""
    row = WorktreeRow
    sources = [state for state, each in WORKTREE if each == event]
    target = next(WORKTREE[state, event] for state in sources)
    told = {getattr(row, name): value for name, value in changes.items()}
    told |= {row.state: target, row.updated_at: to_text(now)}
    with store.write():
        return store.run(row.update(told).where(row.session_id == session_id, row.state.in_(sources))) == 1


@compile_query
def _select_of(session_id: Parameter) -> Query:
    return WorktreeRow.select(*_COLUMNS).where(WorktreeRow.session_id == session_id)


def find(store: Store, session_id: str) -> Worktree | None:
    """Return the worktree of a session."""
    found = store.rows(_select_of(session_id))
    return _read(found[0]) if found else None


@compile_query
def _select_at(path: Parameter) -> Query:
    row = WorktreeRow
    return row.select(*_COLUMNS).where(row.path == path).order_by(row.created_at.desc()).limit(1)


def find_at(store: Store, path: str) -> Worktree | None:
    """Return the worktree whose folder this is, removed or not; of several the newest."""
    found = store.rows(_select_at(path))
    return _read(found[0]) if found else None


def find_beginning(store: Store, identity: str) -> tuple[Worktree, ...]:
    """Return the worktrees whose session's id is this or begins so; an exact one is the only one."""
    row = WorktreeRow
    query = row.select(*_COLUMNS).where(row.session_id.startswith(identity)).order_by(row.created_at)
    found = tuple(map(_read, store.rows(query)))
    return tuple(one for one in found if one.session_id == identity) or found


@compile_query
def _select_all() -> Query:
    return WorktreeRow.select(*_COLUMNS).order_by(WorktreeRow.created_at, WorktreeRow.session_id)


def list_worktrees(store: Store, states: Sequence[str] = (), repository: str | None = None) -> tuple[Worktree, ...]:
    """Return the worktrees, oldest first; only those of some states, or of one repository."""
    if not states and repository is None:
        return tuple(map(_read, store.rows(_select_all())))
    row = WorktreeRow
    query = row.select(*_COLUMNS)
    if states:
        query = query.where(row.state.in_(states))
    if repository is not None:
        query = query.where(row.repository == repository)
    return tuple(map(_read, store.rows(query.order_by(row.created_at, row.session_id))))


@compile_query
def _select_repositories() -> Query:
    return WorktreeRow.select(WorktreeRow.repository).where(WorktreeRow.state == "ready").distinct()


def list_repositories(store: Store) -> tuple[str, ...]:
    """Return the repositories, as the real paths, in which a session has a worktree now."""
    return tuple(path for (path,) in store.rows(_select_repositories()))


def _read(values: tuple[Any, ...]) -> Worktree:
    at = name_values(_COLUMNS, values)
    return Worktree(**at | {"settings": json.loads(at["settings"]), "is_new_branch": bool(at["is_new_branch"])})
