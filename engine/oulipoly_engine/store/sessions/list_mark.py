"""A few numbers that differ whenever a list of sessions would: cheap to ask, where the list itself is not."""

from __future__ import annotations

from oulipoly_engine.store.base.db import Store

Mark = tuple[object, ...]

# SQL: seven tables asked at once for numbers put together to texts would be unreadable with models.
_MARK = (
    "SELECT (SELECT COALESCE(MAX(id), 0) FROM session_turns),"
    " (SELECT COUNT(*) || ' ' || COUNT(deleted_at) || ' ' || COALESCE(MAX(last_used_at), '') FROM session_chains),"
    " (SELECT COUNT(*) || ' ' || COALESCE(MAX(started_at), '') || ' ' || COALESCE(MAX(ended_at), '')"
    " FROM session_chain_segments),"
    " (SELECT COUNT(*) || ' ' || COALESCE(MAX(changed_at), '') FROM conversation_notes),"
    " (SELECT COUNT(*) || ' ' || COALESCE(SUM(turns), 0) || ' ' || COALESCE(SUM(described_turns), 0)"
    " FROM session_facts),"
    " (SELECT COUNT(*) || ' ' || COALESCE(MAX(id), 0) || ' ' || COALESCE(SUM(is_pruned), 0) FROM archive_copies),"
    # Entries that are replaced keep their places, and may be as many as before.
    " (SELECT COUNT(committed_at) FROM replacements)"
)


# SQL, as above. One row a session, so that one question is all that nearly always has to be asked.
_LIVE_MARKS = (
    "SELECT l.session_id, c.chain_id, c.deleted_at IS NOT NULL,"
    " (SELECT MAX(t.id) || ' ' || COUNT(*) FROM session_turns AS t WHERE t.session_id = l.native_id)"
    " || ' ' || COALESCE(c.leaf, '-') || ' ' || (SELECT COUNT(*) || ' ' || COALESCE(MAX(e.labelled_at), '')"
    " FROM entry_labels AS e WHERE e.chain_id = c.chain_id)"
    " FROM (SELECT session_id, native_id, updated_at FROM live_sessions ORDER BY updated_at DESC LIMIT ?) AS l"
    " JOIN session_chain_segments AS s ON s.session_id = l.native_id"
    " JOIN session_chains AS c ON c.chain_id = s.chain_id"
    " GROUP BY l.session_id ORDER BY l.updated_at DESC"
)


def mark_live(store: Store, most: int) -> list[tuple[str, str, bool, str | None]]:
    """Return the live sessions that changed last: each one's id, its chain, whether a person deleted it, its mark.

    Equal marks mean equal entries, leaf and labels. None: nothing is stored of it.
    """
    return [(session, chain, bool(deleted), text) for session, chain, deleted, text in store.rows(_LIVE_MARKS, (most,))]


def mark(store: Store) -> Mark:
    """Return the numbers of this instant; equal ones mean an equal list."""
    return tuple(store.rows(_MARK)[0])
