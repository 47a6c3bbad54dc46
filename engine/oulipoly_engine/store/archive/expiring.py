"""Which conversations' transcripts are old and have no kept copy."""

from __future__ import annotations

from typing import NamedTuple

from oulipoly_engine.store.base.db import Store


class Unkept(NamedTuple):
    """A transcript without a copy."""

    chain_id: str
    transcript: str


def unkept(store: Store, account: str, before_ms: int) -> tuple[Unkept, ...]:
    """Return an account's transcripts that were last changed before an instant when last looked at, and are not kept.

    before_ms: milliseconds since 1970.
    """
    rows = store.rows(
        "SELECT s.chain_id, f.transcript FROM session_facts f JOIN session_chain_segments s"
        " ON s.session_id = f.session_id AND s.provider_name = f.account"
        " WHERE f.account = ? AND f.mtime_ms <= ? AND f.transcript IS NOT NULL AND s.ended_at IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM archive_copies c WHERE c.session_id = f.session_id AND c.account = f.account"
        " AND c.part = '' AND c.is_latest = 1 AND c.is_pruned = 0)"
        " GROUP BY f.session_id ORDER BY f.mtime_ms",
        (account, before_ms),
    )
    return tuple(Unkept(str(chain), str(path)) for chain, path in rows)


def mark(store: Store) -> tuple[int, int]:
    """Return what changes whenever a copy is kept or a session is described anew."""
    last, described = store.rows(
        "SELECT (SELECT COALESCE(MAX(id), 0) FROM archive_copies),"
        " (SELECT COUNT(*) FROM session_facts WHERE mtime_ms IS NOT NULL)"
    )[0]
    return int(last), int(described)
