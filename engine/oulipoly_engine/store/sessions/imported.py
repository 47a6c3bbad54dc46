"""Sessions found by their turns: given a chain when these are ingested, or tied to the run that made them."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions import chains

ATTACH_METHOD = "turn_script"  # the capture method of a session that was found by its turns


def adopt(store: Store, account: str, session_ids: Collection[str]) -> int:
    """Give each of an account's sessions without a segment a chain of its own, and return how many were made.

    Runs inside the caller's write transaction, after the sessions' turns are stored. A turn of the far future makes its
    chain used when it was read.
    """
    rows = store.rows(
        "SELECT j.value, (SELECT MIN(timestamp) FROM session_turns t WHERE t.provider_name = ?1 AND"
        " t.session_id = j.value), (SELECT MIN(timestamp, ingested_at) FROM session_turns t WHERE"
        " t.provider_name = ?1 AND t.session_id = j.value ORDER BY timestamp DESC LIMIT 1) FROM json_each(?2) j"
        " WHERE NOT EXISTS (SELECT 1 FROM session_chain_segments s"
        " WHERE s.session_id = j.value AND s.provider_name = ?1) ORDER BY 2, 1",
        (account, json.dumps(sorted(session_ids))),
    )
    for session_id, first, last in rows:
        chains.insert(
            store,
            account,
            str(session_id),
            UNKNOWN_MODEL,
            started_at=str(first),
            last_used_at=str(last),
            reason="imported",
        )
    return len(rows)


def held_meanwhile(store: Store, account: str, row_id: int, started: datetime, finished: datetime) -> frozenset[str]:
    """Return the sessions of an account that other invocations hold which ran at the same time as this one."""
    rows = store.rows(
        "SELECT DISTINCT session_id FROM invocations WHERE provider_name = ? AND id <> ? AND session_id IS NOT NULL"
        " AND created_at <= ? AND (finished_at IS NULL OR finished_at > ?)",
        (account, row_id, to_text(finished), to_text(started)),
    )
    return frozenset(str(session_id) for (session_id,) in rows)


def attach(store: Store, row_id: int, session_id: str) -> str | None:
    """Tie a session to an invocation that has none, and return the session's chain; None if it has one by now.

    A chain that was made for the session's turns a moment ago learns the invocation's model.
    """
    with store.write():
        found = store.rows(
            "SELECT provider_name, model_name, finished_at FROM invocations WHERE id = ? AND session_id IS NULL"
            " AND provider_name IS NOT NULL AND finished_at IS NOT NULL",
            (row_id,),
        )
        if not found:
            return None
        account, model, finished_at = (str(value) for value in found[0])
        store.execute(
            "UPDATE invocations SET session_id = ?, session_capture_method = ? WHERE id = ?",
            (session_id, ATTACH_METHOD, row_id),
        )
        known = chains.chain_of(store, account, session_id)
        if known is None:
            return chains.insert(
                store, account, session_id, model, started_at=finished_at, last_used_at=finished_at, reason="initial"
            )
        store.execute(
            "UPDATE session_chains SET last_used_at = MAX(last_used_at, ?),"
            " model_name = CASE model_name WHEN ? THEN ? ELSE model_name END WHERE chain_id = ?",
            (finished_at, UNKNOWN_MODEL, model, known),
        )
        return known
