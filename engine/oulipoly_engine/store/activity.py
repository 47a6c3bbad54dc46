"""What runs at the moment, over all our processes."""

from __future__ import annotations

from oulipoly_engine.core.invocations import Invocation
from oulipoly_engine.store import invocations
from oulipoly_engine.store.db import Store

# There is no index on the status, and a row stays running for hours at most: the newest rows hold all of them.
_NEWEST = 5000


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
