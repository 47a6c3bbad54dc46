"""Which entries of sessions were copied to an account, and so are no work of it."""

from __future__ import annotations

from oulipoly_engine.store.base.compiled import insertion
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import fn
from oulipoly_engine.store.models.sessions import CopiedHistoryRow, SegmentRow

_NEW = insertion(
    CopiedHistoryRow.account,
    CopiedHistoryRow.session_id,
    CopiedHistoryRow.from_account,
    CopiedHistoryRow.since,
    CopiedHistoryRow.copied_at,
)


def mark(store: Store, account: str, session_id: str, from_account: str | None, at: str) -> None:
    """Note that what a session has said up to an instant is copied to an account, where it has not been said.

    What it said there in a former stay is left out. from_account: None: from another machine. Runs inside the caller's
    write transaction, before the account's segment is opened.
    """
    row = SegmentRow
    left = store.rows(
        row.select(fn.MAX(row.ended_at)).where(row.provider_name == account, row.session_id == session_id)
    )[0][0]
    store.run(_NEW(account, session_id, from_account, left, at))


def find_origin(store: Store, account: str, session_id: str) -> str | None:
    """Return the account from which a session was moved here last; None: it was not."""
    row = CopiedHistoryRow
    rows = store.rows(
        row.select(row.from_account)
        .where(row.session_id == session_id, row.account == account, row.from_account.is_null(False))
        .order_by(row.id.desc())
        .limit(1)
    )
    return str(rows[0][0]) if rows else None
