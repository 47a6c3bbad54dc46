"""Conversations with everything that lists and trees show of them, in one pass over chains, facts and notes."""

from __future__ import annotations

import json
from collections.abc import Collection

from oulipoly_engine.core.sessions.sessions import Conversation, Part
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.db import Store

_PARTS = (
    "SELECT s.provider_name, s.session_id, s.started_at, s.ended_at, COALESCE(f.turns, 0),"
    " COALESCE(f.assistant_turns, 0), COALESCE(f.sidechain_turns, 0), COALESCE(f.side_chains, 0), f.first_turn_at,"
    " f.last_turn_at, f.title, f.cwd, f.cli_model, f.transcript, f.size_bytes, f.mtime_ms, s.chain_id"
    " FROM session_chain_segments s LEFT JOIN session_facts f"
    " ON f.account = s.provider_name AND f.session_id = s.session_id"
)
_CHAINS = (
    "SELECT c.chain_id, c.model_name, c.created_at, c.last_used_at, n.name, n.note, n.pinned_at"
    " FROM session_chains c LEFT JOIN conversation_notes n ON n.chain_id = c.chain_id"
)

_KEPT = "SELECT account, session_id FROM archive_copies WHERE part = '' AND is_latest = 1 AND is_pruned = 0"
_KEPT_OF = (
    " AND session_id IN (SELECT session_id FROM session_chain_segments WHERE chain_id IN"
    " (SELECT value FROM json_each(?)))"
)


def conversations(store: Store, chain_ids: Collection[str] | None = None) -> tuple[Conversation, ...]:
    """Return conversations that have a segment, in no order: all of them, or those of some chains."""
    narrowed, given = "", ()  # type: tuple[str, tuple[str, ...]]
    if chain_ids is not None:
        narrowed, given = " WHERE {}.chain_id IN (SELECT value FROM json_each(?))", (json.dumps(sorted(chain_ids)),)
    with store.read():
        parts: dict[str, list[Part]] = {}
        for row in store.rows(_PARTS + narrowed.format("s"), given):
            parts.setdefault(row[-1], []).append(Part(*row[:-1]))
        rows = store.rows(_CHAINS + narrowed.format("c"), given)
        kept = set(store.rows(_KEPT if chain_ids is None else _KEPT + _KEPT_OF, given))
    found = []
    for chain_id, model, created_at, used_at, name, note, pinned_at in rows:
        own = parts.get(chain_id)
        if own:
            if len(own) > 1:
                own.sort(key=lambda part: part.started_at)
            is_kept = (own[0].account, own[0].session_id) in kept
            one = Conversation(chain_id, model, created_at, used_at, tuple(own), name, note, pinned_at, is_kept)
            if len(own) > 1:
                one = replace(one, has_kept_copy=(one.active.account, one.active.session_id) in kept)
            found.append(one)
    return tuple(found)


def titles(store: Store, account: str, session_ids: Collection[str]) -> dict[str, str]:
    """Return what sessions of an account are called: the user's own name, else the title; nothing for the others."""
    rows = store.rows(
        "SELECT f.session_id, COALESCE(NULLIF(n.name, ''), f.title) FROM session_facts f"
        " LEFT JOIN session_chain_segments s ON s.provider_name = f.account AND s.session_id = f.session_id"
        " LEFT JOIN conversation_notes n ON n.chain_id = s.chain_id"
        " WHERE f.account = ? AND f.session_id IN (SELECT value FROM json_each(?))",
        (account, json.dumps(sorted(session_ids))),
    )
    return {str(session): str(title) for session, title in rows if title}


def latest(store: Store, limit: int) -> tuple[frozenset[str], int]:
    """Return the chains that lead a list by last use, pinned ones before all, and how many chains there are.

    A chain among the first `limit` is among as many by its own last use, or by its sessions' last turns: only those are
    joined. A fifth of the time that reading all of them would take.
    """
    with store.read():
        total = int(store.rows("SELECT COUNT(DISTINCT chain_id) FROM session_chain_segments")[0][0])
        rows = store.rows("SELECT chain_id FROM conversation_notes WHERE pinned_at IS NOT NULL")
        for first, table in ((_LATEST_CHAINS, "session_chains"), (_LATEST_TURNS, "session_facts")):
            rows += _first(store, first, table, min(limit, total))
        leading = store.rows(_LATEST_AMONG, (json.dumps(sorted({str(chain_id) for (chain_id,) in rows})), limit))
    return frozenset(str(chain_id) for chain_id, *_ in leading), total


def _first(store: Store, question: str, table: str, chains: int) -> list[tuple[str]]:
    """Return at least so many chains that have a segment, the first ones by a question; or all that there are."""
    asked, known = chains, int(store.rows(f"SELECT COUNT(*) FROM {table}")[0][0])  # noqa: S608 - our own words
    while True:
        rows = store.rows(question, (asked,))
        if len(rows) >= chains or asked >= known:
            return rows
        asked *= 4  # several sessions may share a chain, some have none yet, and a chain may have no segment


_LATEST_CHAINS = (
    "SELECT c.chain_id FROM (SELECT chain_id FROM session_chains ORDER BY last_used_at DESC LIMIT ?) c"
    " WHERE EXISTS (SELECT 1 FROM session_chain_segments s WHERE s.chain_id = c.chain_id)"
)
_LATEST_TURNS = (
    "SELECT DISTINCT s.chain_id FROM (SELECT account, session_id FROM session_facts ORDER BY last_turn_at DESC LIMIT ?)"
    " f JOIN session_chain_segments s ON s.provider_name = f.account AND s.session_id = f.session_id"
)
_LATEST_AMONG = (
    "SELECT s.chain_id, MAX(c.last_used_at, COALESCE(MAX(f.last_turn_at), '')) AS used,"
    " n.pinned_at IS NOT NULL AS pinned"
    " FROM json_each(?) j CROSS JOIN session_chain_segments s ON s.chain_id = j.value"
    " CROSS JOIN session_chains c ON c.chain_id = s.chain_id"
    " LEFT JOIN session_facts f ON f.account = s.provider_name AND f.session_id = s.session_id"
    " LEFT JOIN conversation_notes n ON n.chain_id = s.chain_id"
    " GROUP BY s.chain_id ORDER BY pinned DESC, used DESC LIMIT ?"
)
