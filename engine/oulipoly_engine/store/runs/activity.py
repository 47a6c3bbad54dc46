"""What runs at the moment, over all our processes."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.runs.invocations import Invocation
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import invocations

# There is no index on the status, and a row stays running for hours at most: the newest rows hold all of them.
_NEWEST = 5000


class Failure(NamedTuple):
    """The last run of an account, where it failed."""

    account: str
    model: str
    category: str | None
    reason: str | None
    text: str | None  # what it said, redacted
    finished_at: datetime


def failures(store: Store) -> tuple[Failure, ...]:
    """Return the last run of each account that failed in it; a success since then ends what was wrong."""
    rows = store.rows(
        "SELECT i.provider_name, i.model_name, i.error_category, i.terminal_reason, c.last_error, i.finished_at"
        " FROM invocations i LEFT JOIN account_counters c ON c.model_name = i.model_name"
        " AND c.account = i.provider_name AND c.last_error_at = i.finished_at"
        " WHERE i.id IN (SELECT MAX(id) FROM invocations WHERE id > (SELECT MAX(id) FROM invocations) - ?"
        " AND status IN ('succeeded', 'failed') GROUP BY provider_name)"
        " AND i.status = 'failed' AND i.provider_name IS NOT NULL AND i.finished_at IS NOT NULL ORDER BY i.id DESC",
        (_NEWEST,),
    )
    return tuple(
        Failure(account, model, category, reason, text, from_text(finished_at))
        for account, model, category, reason, text, finished_at in rows
    )


def running(store: Store, limit: int = 200) -> tuple[Invocation, ...]:
    """Return the invocations that have not ended, newest first.

    A process that was killed leaves its row running: whoever shows these asks whether `owner_pid` lives.
    """
    rows = store.rows(
        "SELECT invocation_uuid FROM invocations WHERE id > (SELECT MAX(id) FROM invocations) - ?"
        " AND status = 'running' ORDER BY id DESC LIMIT ?",
        (_NEWEST, limit),
    )
    found = (invocations.find(store, str(uuid)) for (uuid,) in rows)
    return tuple(row for row in found if row is not None)
