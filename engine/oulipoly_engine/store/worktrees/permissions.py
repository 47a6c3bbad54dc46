"""Commands of a repository's settings that a person has allowed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.worktrees import WorktreePermissionRow


def allow(store: Store, repository: str, digest: str, now: datetime) -> None:
    """Note that a person allows the commands that a digest stands for."""
    row = WorktreePermissionRow
    with store.write():
        store.run(row.delete().where(row.repository == repository, row.digest == digest))
        store.insert(row, repository=repository, digest=digest, allowed_at=to_text(now))


def list_allowed(store: Store, repository: str) -> Mapping[str, datetime]:
    """Return when a person has allowed commands of a repository, by what stands for them."""
    row = WorktreePermissionRow
    found = store.rows(row.select(row.digest, row.allowed_at).where(row.repository == repository))
    return {digest: from_text(at) for digest, at in found}


def list_all(store: Store) -> tuple[tuple[str, str, datetime], ...]:
    """Return (repository, digest, when) of all that a person has allowed, oldest first."""
    row = WorktreePermissionRow
    query = row.select(row.repository, row.digest, row.allowed_at).order_by(row.allowed_at, row.repository, row.digest)
    return tuple((repository, digest, from_text(at)) for repository, digest, at in store.rows(query))


def withdraw(store: Store, repository: str, digest: str) -> bool:
    """Forget that commands were allowed. Returns whether they were."""
    row = WorktreePermissionRow
    with store.write():
        return store.run(row.delete().where(row.repository == repository, row.digest == digest)) == 1
