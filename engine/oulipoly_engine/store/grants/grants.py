"""What a person has allowed by a digest: a repository's commands, a project's settings, an extension's rights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.models.worktrees import GrantRow


def allow(store: Store, subject: str, digest: str, now: datetime, rights: Iterable[str] = ("",)) -> None:
    """Note that a person allows what a digest stands for. rights: an extension's; others have none but this."""
    row = GrantRow
    with store.write():
        for right in rights:
            same = (row.subject == subject) & (row.digest == digest) & (row.right == right)
            store.run(row.delete().where(same))
            store.insert(row, subject=subject, digest=digest, right=right, allowed_at=to_text(now))


def list_allowed(store: Store, subject: str) -> Mapping[str, datetime]:
    """Return when a person has allowed something of a subject, by what stands for it."""
    row = GrantRow
    rows = store.rows(row.select(row.digest, row.allowed_at).where(row.subject == subject))
    return {digest: from_text(at) for digest, at in rows}


@compile_query
def _select_rights(subject: Parameter, digest: Parameter) -> Query:
    return GrantRow.select(GrantRow.right).where(GrantRow.subject == subject, GrantRow.digest == digest)


def list_rights(store: Store, subject: str, digest: str) -> frozenset[str]:
    """Return the rights that a person has given a subject as a digest has it."""
    return frozenset(right for (right,) in store.rows(_select_rights(subject, digest)))


def list_all(store: Store) -> tuple[tuple[str, str, str, datetime], ...]:
    """Return (subject, digest, right, when) of all that a person has allowed, oldest first."""
    row = GrantRow
    query = row.select(row.subject, row.digest, row.right, row.allowed_at)
    rows = store.rows(query.order_by(row.allowed_at, row.subject, row.digest, row.right))
    return tuple((subject, digest, right, from_text(at)) for subject, digest, right, at in rows)


def withdraw(store: Store, subject: str, digest: str, right: str = "") -> bool:
    """Forget that something was allowed. Returns whether it was."""
    row = GrantRow
    same = (row.subject == subject) & (row.digest == digest) & (row.right == right)
    with store.write():
        return store.run(row.delete().where(same)) == 1


def drop_older(store: Store, subject: str, digest: str) -> None:
    """Forget what was allowed to a subject as another digest had it."""
    row = GrantRow
    with store.write():
        store.run(row.delete().where(row.subject == subject, row.digest != digest))
