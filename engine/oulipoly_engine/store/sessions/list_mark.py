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


def mark(store: Store) -> Mark:
    """Return the numbers of this instant; equal ones mean an equal list."""
    return tuple(store.rows(_MARK)[0])
