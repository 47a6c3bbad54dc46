"""Chains and their segments: one logical conversation and the parts of it that lie on one account each."""

from __future__ import annotations

import uuid
from datetime import datetime

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL, Chain, Segment
from oulipoly_engine.errors import SessionAmbiguous, SessionBusy
from oulipoly_engine.records import Record, replace
from oulipoly_engine.store.base.db import Store


def chain_of(store: Store, account: str, session_id: str) -> str | None:
    """Return the chain that holds this account's session, the latest used one if there are several."""
    rows = store.rows(
        "SELECT s.chain_id FROM session_chain_segments s JOIN session_chains c USING (chain_id) "
        "WHERE s.session_id = ? AND s.provider_name = ? ORDER BY c.last_used_at DESC, s.started_at DESC, s.chain_id",
        (session_id, account),
    )
    return str(rows[0][0]) if rows else None


def mint(store: Store, account: str, session_id: str, model: str, now: datetime) -> str:
    """Return the chain of a session that a run of ours has just used, creating it with one segment if it is new.

    Runs inside the caller's write transaction.
    """
    known = chain_of(store, account, session_id)
    instant = to_text(now)
    if known is not None:
        store.execute("UPDATE session_chains SET last_used_at = ? WHERE chain_id = ?", (instant, known))
        return known
    return insert(store, account, session_id, model, started_at=instant, last_used_at=instant, reason="initial")


def insert(
    store: Store, account: str, session_id: str, model: str, *, started_at: str, last_used_at: str, reason: str
) -> str:
    """Insert a chain with its first segment and return its id. Runs inside the caller's write transaction."""
    chain_id = str(uuid.uuid4())
    store.insert(
        "session_chains", chain_id=chain_id, created_at=started_at, last_used_at=last_used_at, model_name=model
    )
    store.insert(
        "session_chain_segments",
        chain_id=chain_id,
        provider_name=account,
        session_id=session_id,
        started_at=started_at,
        transition_reason=reason,
    )
    return chain_id


def backfill(store: Store) -> int:
    """Give every account's session without a chain one of its own, and return how many were made.

    Skipped when any chain exists: the contract's migrate-db runs on a state file from before chains (contract 5.5).
    """
    with store.write():
        if store.rows("SELECT 1 FROM session_chains LIMIT 1"):
            return 0
        rows = store.rows(
            "SELECT provider_name, session_id, MIN(at), MAX(at) FROM ("
            " SELECT provider_name, session_id, timestamp AS at FROM session_turns"
            " UNION ALL SELECT provider_name, session_id, created_at FROM invocations"
            " WHERE session_id IS NOT NULL AND provider_name IS NOT NULL"
            " AND session_capture_method IN ('forced_flag_verified', 'stdout_json_event', 'turn_script')"
            ") GROUP BY provider_name, session_id"
        )
        for account, session_id, first, last in rows:
            model = _latest_model(store, str(account), str(session_id))
            insert(
                store,
                str(account),
                str(session_id),
                model,
                started_at=str(first),
                last_used_at=str(last),
                reason="imported",
            )
        return len(rows)


def _latest_model(store: Store, account: str, session_id: str) -> str:
    rows = store.rows(
        "SELECT model_name FROM invocations WHERE provider_name = ? AND session_id = ? "
        "ORDER BY created_at DESC, id DESC LIMIT 1",
        (account, session_id),
    )
    return str(rows[0][0]) if rows else UNKNOWN_MODEL


class SegmentMove(Record):
    """A chain's way from its active segment to another account."""

    chain_id: str
    from_account: str
    to_account: str
    session_id: str  # the same on both
    reason: str  # manual, exhausted or quota_threshold
    at: datetime


def conflicting(store: Store, move: SegmentMove) -> str | None:
    """Return another chain that has this session open on the target account; None when there is none."""
    rows = store.rows(
        "SELECT chain_id FROM session_chain_segments WHERE provider_name = ? AND session_id = ? AND chain_id != ?"
        " AND ended_at IS NULL LIMIT 1",
        (move.to_account, move.session_id, move.chain_id),
    )
    return str(rows[0][0]) if rows else None


def has_segment(store: Store, chain_id: str, account: str, session_id: str) -> bool:
    """Tell whether a chain has, or had, a part on an account."""
    wanted = (chain_id, account, session_id)
    condition = "chain_id = ? AND provider_name = ? AND session_id = ?"
    return bool(store.rows(f"SELECT 1 FROM session_chain_segments WHERE {condition}", wanted))  # noqa: S608 - ours


def move_segment(store: Store, move: SegmentMove) -> None:
    """Close a chain's open segments and open one on the target account, a former one again if there is one.

    In one transaction. Raises SessionBusy when the chain has meanwhile gone elsewhere, SessionAmbiguous when another
    chain has the session open on the target account.
    """
    instant = to_text(move.at)
    with store.write():
        rival = conflicting(store, move)
        if rival is not None:
            message = (
                f"session {move.session_id} is open on account {move.to_account!r} in another chain, {rival}: go on "
                "with that chain, or give its id"
            )
            raise SessionAmbiguous(message, input=move.session_id)
        chain = next((chain for chain in owning(store, move.chain_id) if chain.chain_id == move.chain_id), None)
        if chain is None or chain.active is None or chain.active.account != move.from_account:
            message = f"session {move.session_id} has meanwhile left account {move.from_account!r}: try again"
            raise SessionBusy(message)
        store.execute(
            "UPDATE session_chain_segments SET ended_at = ?1, last_turn_id = (SELECT turn_id FROM session_turns t WHERE"
            " t.provider_name = session_chain_segments.provider_name AND t.session_id ="
            " session_chain_segments.session_id ORDER BY t.timestamp DESC, t.id DESC LIMIT 1)"
            " WHERE chain_id = ?2 AND ended_at IS NULL",
            (instant, move.chain_id),
        )
        store.execute(
            "INSERT INTO session_chain_segments (chain_id, provider_name, session_id, started_at, transition_reason)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT (chain_id, provider_name, session_id) DO UPDATE SET"
            " started_at = excluded.started_at, ended_at = NULL, last_turn_id = NULL,"
            " transition_reason = excluded.transition_reason",
            (move.chain_id, move.to_account, move.session_id, instant, move.reason),
        )


def is_placed_by_hand(store: Store, chain_id: str) -> bool:
    """Tell whether a chain lies where it does because the user said so."""
    rows = store.rows(
        "SELECT transition_reason FROM session_chain_segments WHERE chain_id = ? AND ended_at IS NULL"
        " ORDER BY started_at DESC, id DESC LIMIT 1",
        (chain_id,),
    )
    return bool(rows) and str(rows[0][0]) == "manual"


def last_boundary(store: Store, account: str, session_id: str) -> str | None:
    """Return the turn of a session's last known compaction, None if it was never compacted as far as is known."""
    rows = store.rows(
        "SELECT turn_id FROM session_turns WHERE provider_name = ? AND session_id = ? AND is_compaction_boundary = 1"
        " ORDER BY timestamp DESC, id DESC LIMIT 1",
        (account, session_id),
    )
    return str(rows[0][0]) if rows else None


def owning(store: Store, any_id: str) -> tuple[Chain, ...]:
    """Return every chain whose own id is `any_id`, or which has a segment of that session id."""
    return _chains(store, "= ?", any_id)


def owning_prefix(store: Store, prefix: str) -> tuple[Chain, ...]:
    """Return every chain that has an id which begins so; letters count alike in both cases."""
    escaped = prefix.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return _chains(store, "LIKE ? ESCAPE '!'", f"{escaped}%")


def latest_model(store: Store, chain_id: str) -> str | None:
    """Return the model of the latest invocation on a chain, None if there was none whose model is known."""
    rows = store.rows(
        "SELECT i.model_name FROM session_chain_segments s JOIN invocations i"
        " ON i.provider_name = s.provider_name AND i.session_id = s.session_id"
        " WHERE s.chain_id = ? AND i.model_name != ? ORDER BY i.created_at DESC, i.id DESC LIMIT 1",
        (chain_id, UNKNOWN_MODEL),
    )
    return str(rows[0][0]) if rows else None


def _chains(store: Store, condition: str, parameter: str) -> tuple[Chain, ...]:
    rows = store.rows(
        "SELECT c.chain_id, c.model_name, c.last_used_at FROM session_chains c WHERE c.chain_id IN ("  # noqa: S608 - ours
        f" SELECT chain_id FROM session_chain_segments WHERE session_id {condition}"
        f" UNION SELECT chain_id FROM session_chains WHERE chain_id {condition})",
        (parameter, parameter),
    )
    return tuple(
        _with_turns(store, Chain(str(chain_id), str(model), from_text(str(used)), _segments(store, str(chain_id))))
        for chain_id, model, used in rows
    )


def _segments(store: Store, chain_id: str) -> tuple[Segment, ...]:
    rows = store.rows(
        "SELECT provider_name, session_id, started_at, ended_at, last_turn_id, id FROM session_chain_segments"
        " WHERE chain_id = ? ORDER BY started_at, id",
        (chain_id,),
    )
    return tuple(
        Segment(
            str(account), str(session), from_text(str(start)), None if end is None else from_text(str(end)), last, row
        )
        for account, session, start, end, last, row in rows
    )


def _with_turns(store: Store, chain: Chain) -> Chain:
    active = chain.active
    if active is None:
        return chain
    counted = store.rows(
        "SELECT COUNT(*) FROM session_turns WHERE provider_name = ? AND session_id = ?",
        (active.account, active.session_id),
    )
    return replace(chain, turns=int(counted[0][0]))
