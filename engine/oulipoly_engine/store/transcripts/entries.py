"""Ingested turns of conversations, counted and read; the transcripts themselves stay with the CLIs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.runs.session_match import SessionActivity
from oulipoly_engine.core.transcripts.turn_script import TurnLine
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store


class TurnCounts(Record):
    """How many turns of a session are stored."""

    turns: int
    assistant: int  # side-chain ones included
    sidechain: int


class StoredTurn(Record):
    """A turn as stored."""

    turn_id: str
    role: str
    timestamp: str  # RFC 3339
    body: str | None  # JSON list of content chunks; None for a row stored without its body


def insert_new(store: Store, account: str, found: Iterable[TurnLine], ingested_at: datetime) -> int:
    """Insert the turns that are not stored yet and return their number. Runs inside the caller's write transaction."""
    instant = to_text(ingested_at)
    return store.execute_many(
        "INSERT OR IGNORE INTO session_turns (provider_name, session_id, turn_id, timestamp, role, parent_turn_id,"
        " is_sidechain, is_compaction_boundary, source_file, ingested_at, body)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                account,
                turn.session_id,
                turn.turn_id,
                turn.timestamp,
                turn.role,
                turn.parent_turn_id,
                int(turn.is_sidechain),
                int(turn.is_compaction_boundary),
                turn.source_file,
                instant,
                turn.body,
            )
            for turn in found
        ),
    )


def has_any(store: Store, account: str) -> bool:
    """Tell whether anything of an account is stored."""
    return bool(store.rows("SELECT 1 FROM session_turns WHERE provider_name = ? LIMIT 1", (account,)))


def of_account(store: Store, account: str) -> int:
    """Count an account's turns of every role."""
    return int(store.rows("SELECT COUNT(*) FROM session_turns WHERE provider_name = ?", (account,))[0][0])


def activity(store: Store, account: str, started: datetime, finished: datetime) -> tuple[SessionActivity, ...]:
    """Return what came into each session of an account inside (started, finished] and was ingested after the start."""
    rows = store.rows(
        "SELECT session_id, COUNT(*), MIN(timestamp) FROM session_turns WHERE provider_name = ?"
        " AND role IN ('user', 'assistant') AND timestamp > ? AND timestamp <= ? AND ingested_at > ?"
        " GROUP BY session_id",
        (account, to_text(started), to_text(finished), to_text(started)),
    )
    return tuple(SessionActivity(str(session), int(new), str(first)) for session, new, first in rows)


def count(store: Store, account: str, session_id: str) -> TurnCounts:
    """Count the stored turns of one session."""
    row = store.rows(
        "SELECT COUNT(*), COALESCE(SUM(role = 'assistant'), 0), COALESCE(SUM(is_sidechain), 0) FROM session_turns "
        "WHERE provider_name = ? AND session_id = ?",
        (account, session_id),
    )[0]
    return TurnCounts(int(row[0]), int(row[1]), int(row[2]))


def of_session(store: Store, account: str, session_id: str) -> tuple[StoredTurn, ...]:
    """Return a session's stored turns in order of time, then of arrival."""
    rows = store.rows(
        "SELECT turn_id, role, timestamp, body FROM session_turns WHERE provider_name = ? AND session_id = ? "
        "ORDER BY timestamp, id",
        (account, session_id),
    )
    return tuple(StoredTurn(str(turn), str(role), str(at), body) for turn, role, at, body in rows)


def assistant_turns_since(store: Store, account: str, since: datetime) -> int:
    """Count an account's assistant turns strictly after an instant, side chains included (contract 1.3)."""
    return int(
        store.rows(
            "SELECT COUNT(*) FROM session_turns WHERE provider_name = ? AND role = 'assistant' AND timestamp > ?",
            (account, to_text(since)),
        )[0][0]
    )


def backfill_compaction(store: Store) -> int:
    """Mark stored compaction summaries as boundaries and return how many rows changed.

    A summary is known by the sentence with which Claude Code opens it (seen in 2.1.50 to 2.1.329).
    """
    with store.write():
        before = int(store.rows("SELECT total_changes()")[0][0])
        store.execute(
            "UPDATE session_turns SET is_compaction_boundary = 1 WHERE is_compaction_boundary = 0 AND role = 'user'"
            " AND body LIKE '%This session is being continued from a previous conversation that ran out of context%'"
        )
        return int(store.rows("SELECT total_changes()")[0][0]) - before
