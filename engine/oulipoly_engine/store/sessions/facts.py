"""What is known of each account's session: counted from its turns behind a watermark, and described once.

Counting reads each turn once; a session that lost or changed turns is marked by triggers (migration 7)
and counted anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store

_BATCH_TURNS = 20_000  # some 30 ms under the write lock: bodies are not read
_BATCH_STALE = 200
_FIRST_TURNS = 12  # of a user, among which a title is looked for

_COUNTED = (
    "COUNT(*), COALESCE(SUM(role = 'assistant'), 0), COALESCE(SUM(is_sidechain <> 0), 0),"
    " COALESCE(SUM(is_sidechain <> 0 AND parent_turn_id IS NULL), 0), MIN(timestamp),"
    # A turn of the year 9999 was not used later than it was read.
    " MAX(MIN(timestamp, ingested_at))"
)
_COLUMNS = "account, session_id, turns, assistant_turns, sidechain_turns, side_chains, first_turn_at, last_turn_at"


class Undescribed(Record):
    """A session to describe, with what is known of it already."""

    account: str
    session_id: str
    turns: int
    title: str | None
    cwd: str | None
    cli_model: str | None


class Description(Record):
    """What was found out about a session; None: not found, and what was known stays."""

    of: Undescribed
    title: str | None = None
    cwd: str | None = None
    cli_model: str | None = None
    transcript: str | None = None
    size_bytes: int | None = None
    mtime_ms: int | None = None


def count_batch(store: Store, most: int = _BATCH_TURNS) -> int:
    """Count the next turns, or a batch of changed sessions anew; return how many of either, 0 when none was left."""
    if not _uncounted(store)[1] and not _stale(store):
        return 0
    with store.write():
        counted_to, left = _uncounted(store)
        if left:
            last = counted_to + most
            last = int(
                store.rows("SELECT COALESCE(MAX(id), 0) FROM session_turns WHERE id <= ?", (last,))[0][0]
                if store.rows("SELECT 1 FROM session_turns WHERE id > ? AND id <= ? LIMIT 1", (counted_to, last))
                else store.rows("SELECT MIN(id) FROM session_turns WHERE id > ?", (counted_to,))[0][0]
            )
            _add(store, counted_to, last)
            store.execute("UPDATE session_facts_state SET counted_to = ?", (last,))
            return last - counted_to
        stale = _stale(store)
        for account, session_id in stale:
            _recount(store, account, session_id, counted_to)
        return len(stale)


def roles(store: Store) -> tuple[str, ...]:
    """Return the roles that turns have. It looks at every turn."""
    return tuple(str(role) for (role,) in store.rows("SELECT DISTINCT role FROM session_turns"))


def undescribed(store: Store, most: int, without: Iterable[str] = ()) -> tuple[Undescribed, ...]:
    """Return sessions that have got turns since they were described, the latest used first.

    without: accounts to leave out.
    """
    rows = store.rows(
        "SELECT account, session_id, turns, title, cwd, cli_model FROM session_facts WHERE described_turns IS NOT turns"
        " AND account NOT IN (SELECT value FROM json_each(?)) ORDER BY last_turn_at DESC LIMIT ?",
        (json.dumps(sorted(without)), most),
    )
    return tuple(
        Undescribed(str(account), str(session), int(turns), title, cwd, model)
        for account, session, turns, title, cwd, model in rows
    )


def count_undescribed(store: Store) -> int:
    """Return how many sessions are not described as they are now."""
    return int(store.rows("SELECT COUNT(*) FROM session_facts WHERE described_turns IS NOT turns")[0][0])


def describe(store: Store, found: Iterable[Description]) -> None:
    """Keep what was found out about sessions, in one transaction."""
    rows = [
        (
            one.of.turns,
            one.title,
            one.cwd,
            one.cli_model,
            one.transcript,
            one.size_bytes,
            one.mtime_ms,
            one.of.account,
            one.of.session_id,
        )
        for one in found
    ]
    with store.write():
        store.execute_many(
            "UPDATE session_facts SET described_turns = ?, title = COALESCE(?, title), cwd = COALESCE(?, cwd),"
            " cli_model = COALESCE(?, cli_model), transcript = COALESCE(?, transcript), size_bytes = ?, mtime_ms = ?"
            " WHERE account = ? AND session_id = ?",
            rows,
        )


def transcript_of(store: Store, account: str, session_id: str) -> str | None:
    """Return the file that a session's latest turn was read from; side chains may lie in files of their own."""
    rows = store.rows(
        "SELECT source_file FROM session_turns WHERE session_id = ? AND provider_name = ? AND source_file IS NOT NULL"
        " AND is_sidechain = 0 ORDER BY timestamp DESC LIMIT 1",
        (session_id, account),
    )
    return str(rows[0][0]) if rows else None


def first_user_bodies(store: Store, account: str, session_id: str) -> tuple[str, ...]:
    """Return the bodies of a user's first turns on the main line, as JSON, the first one first."""
    # Left to itself, SQLite walks all user turns of the account in their order: 77 ms instead of 0.04.
    rows = store.rows(
        "SELECT body FROM session_turns INDEXED BY idx_session_turns_session_lookup"
        " WHERE session_id = ? AND provider_name = ? AND role = 'user'"
        " AND is_sidechain = 0 AND is_compaction_boundary = 0 AND body IS NOT NULL ORDER BY timestamp, id LIMIT ?",
        (session_id, account, _FIRST_TURNS),
    )
    return tuple(str(body) for (body,) in rows)


def _uncounted(store: Store) -> tuple[int, bool]:
    """Return up to which turn is counted, and whether there are later ones."""
    row = store.rows(
        "SELECT counted_to, (SELECT COALESCE(MAX(id), 0) FROM session_turns) > counted_to FROM session_facts_state"
    )[0]
    return int(row[0]), bool(row[1])


def _stale(store: Store) -> list[tuple[str, str]]:
    rows = store.rows("SELECT account, session_id FROM session_facts WHERE is_stale = 1 LIMIT ?", (_BATCH_STALE,))
    return [(str(account), str(session)) for account, session in rows]


def _add(store: Store, after: int, last: int) -> None:
    store.execute(
        f"INSERT INTO session_facts ({_COLUMNS}) SELECT provider_name, session_id, {_COUNTED} FROM session_turns"  # noqa: S608 - our own words
        " WHERE id > ? AND id <= ? GROUP BY provider_name, session_id"
        " ON CONFLICT (account, session_id) DO UPDATE SET turns = turns + excluded.turns,"
        " assistant_turns = assistant_turns + excluded.assistant_turns,"
        " sidechain_turns = sidechain_turns + excluded.sidechain_turns,"
        " side_chains = side_chains + excluded.side_chains,"
        " first_turn_at = MIN(first_turn_at, excluded.first_turn_at),"
        " last_turn_at = MAX(last_turn_at, excluded.last_turn_at)",
        (after, last),
    )


def _recount(store: Store, account: str, session_id: str, counted_to: int) -> None:
    """Count a session's turns anew as far as all turns are counted; its title may have changed with them."""
    row = store.rows(
        f"SELECT {_COUNTED} FROM session_turns WHERE session_id = ? AND provider_name = ? AND id <= ?",  # noqa: S608 - as above
        (session_id, account, counted_to),
    )[0]
    if not row[0]:
        store.execute("DELETE FROM session_facts WHERE account = ? AND session_id = ?", (account, session_id))
        return
    store.execute(
        "UPDATE session_facts SET turns = ?, assistant_turns = ?, sidechain_turns = ?, side_chains = ?,"
        " first_turn_at = ?, last_turn_at = ?, is_stale = 0, described_turns = NULL, title = NULL"
        " WHERE account = ? AND session_id = ?",
        (*row, account, session_id),
    )
