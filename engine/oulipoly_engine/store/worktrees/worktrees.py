"""Worktrees: written before git makes anything, and moved from state to state by compare-and-set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.worktrees.worktrees import WORKTREE, Worktree
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.worktrees import WorktreeRow

_COLUMNS = WorktreeRow._meta.sorted_fields


def insert(store: Store, worktree: Worktree) -> None:
    """Write a worktree that is about to be made."""
    with store.write():
        store.insert(
            WorktreeRow,
            session_id=worktree.session_id,
            repository=worktree.repository,
            path=worktree.path,
            branch=worktree.branch,
            base=worktree.base,
            base_commit=worktree.base_commit,
            state=worktree.state,
            is_new_branch=int(worktree.is_new_branch),
            reason=worktree.reason,
            port_first=worktree.port_first,
            port_count=worktree.port_count,
            salvage=worktree.salvage,
            settings=json.dumps(worktree.settings, ensure_ascii=False),
            created_at=to_text(worktree.created_at),
            updated_at=to_text(worktree.updated_at),
        )


def move(store: Store, session_id: str, event: str, now: datetime, **changes: Any) -> bool:  # noqa: ANN401 - columns
    """Apply an event of `WORKTREE`. Returns whether the worktree was in a state in which it may come."""
    row = WorktreeRow
    sources = [state for state, each in WORKTREE if each == event]
    target = next(WORKTREE[state, event] for state in sources)
    told = {getattr(row, name): value for name, value in changes.items()}
    told |= {row.state: target, row.updated_at: to_text(now)}
    with store.write():
        return store.run(row.update(told).where(row.session_id == session_id, row.state.in_(sources))) == 1


def find(store: Store, session_id: str) -> Worktree | None:
    """Return the worktree of a session."""
    row = WorktreeRow
    with store.read():
        found = store.rows(row.select(*_COLUMNS).where(row.session_id == session_id))
    return _read(found[0]) if found else None


def list_worktrees(store: Store, states: Sequence[str] = (), repository: str | None = None) -> tuple[Worktree, ...]:
    """Return the worktrees, oldest first; only those of some states, or of one repository."""
    row = WorktreeRow
    query = row.select(*_COLUMNS)
    if states:
        query = query.where(row.state.in_(states))
    if repository is not None:
        query = query.where(row.repository == repository)
    with store.read():
        return tuple(map(_read, store.rows(query.order_by(row.created_at, row.session_id))))


def _read(values: tuple[Any, ...]) -> Worktree:
    at = dict(zip((field.column_name for field in _COLUMNS), values, strict=True))
    at["settings"] = json.loads(at["settings"])
    at["is_new_branch"] = bool(at["is_new_branch"])
    return Worktree(**at | {name: from_text(at[name]) for name in ("created_at", "updated_at")})
