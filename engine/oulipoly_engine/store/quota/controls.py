"""What users have said of their accounts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.controls import Controls
from oulipoly_engine.store.base.db import Store


def of(store: Store, accounts: Sequence[str]) -> dict[str, Controls]:
    """Return the controls of each account."""
    marks = ", ".join("?" * len(accounts))
    rows = store.rows(
        f"SELECT account, reserve, drained, disabled FROM account_controls WHERE account IN ({marks})",  # noqa: S608
        accounts,
    )
    found = {row[0]: Controls(float(row[1]), bool(row[2]), bool(row[3])) for row in rows}
    return {account: found.get(account, Controls()) for account in accounts}


def save(store: Store, account: str, controls: Controls, now: datetime) -> None:
    """Set what the user says of an account."""
    with store.write():
        store.execute(
            "INSERT INTO account_controls (account, reserve, drained, disabled, changed_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (account) DO UPDATE SET reserve = excluded.reserve, drained = excluded.drained,"
            " disabled = excluded.disabled, changed_at = excluded.changed_at",
            (account, controls.reserve, int(controls.drained), int(controls.disabled), to_text(now)),
        )
