"""What users have said of their accounts, and all that a start without extensions asks about those."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Controls
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.models.quota import AccountControlRow

_LETS_ANY_RUN = (
    "SELECT 1 FROM worktree_permissions WHERE repository >= 'extension:' AND repository < 'extension;' LIMIT 1"
)


def lets_extensions_run(store: Store) -> bool:
    """Tell whether a person has allowed an extension anything; `store.grants` knows what. Imports nothing more."""
    return bool(store.rows(_LETS_ANY_RUN))


@compile_query
def _controls(accounts: Parameter) -> Query:
    row = AccountControlRow
    return row.select(row.account, row.reserve, row.drained, row.disabled).where(row.account.in_(each_of(accounts)))


def of(store: Store, accounts: Sequence[str]) -> dict[str, Controls]:
    """Return the controls of each account."""
    rows = store.rows(_controls(accounts))
    found = {row[0]: Controls(float(row[1]), bool(row[2]), bool(row[3])) for row in rows}
    return {account: found.get(account, Controls()) for account in accounts}


def save(store: Store, account: str, controls: Controls, now: datetime) -> None:
    """Set what the user says of an account."""
    row = AccountControlRow
    told = {
        row.reserve: controls.reserve,
        row.drained: int(controls.drained),
        row.disabled: int(controls.disabled),
        row.changed_at: to_text(now),
    }
    with store.write():
        store.run(
            row.insert({row.account: account, **told}).on_conflict(conflict_target=[row.account], preserve=list(told))
        )
