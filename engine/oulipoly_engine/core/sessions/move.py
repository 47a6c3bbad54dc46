"""Whether a session that is resumed should move to another account of its pool (contract, 1.11). Pure.

Load decides, not the binding score: a pressed short window soon passes, and a move costs the prompt cache.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum

from oulipoly_engine.core.balance.decision import Candidate
from oulipoly_engine.core.quota.burn import PoolRates, pool_rates, project, rate_of
from oulipoly_engine.core.quota.windows import mark_holds
from oulipoly_engine.records import Record


class MoveReason(StrEnum):
    """Why a session moves; also the reason stored with its new segment."""

    MANUAL = "manual"
    EXHAUSTED = "exhausted"
    QUOTA_THRESHOLD = "quota_threshold"


class Move(Record):
    """Where a session should go."""

    index: int  # of the target candidate
    account: str
    reason: MoveReason


def decide_move(
    candidates: Sequence[Candidate],
    active: str,
    movable: Collection[str],
    now: datetime,
    manual_target: str | None = None,
) -> Move | None:
    """Return the move that resuming on `active` calls for; None: stay.

    active: the account that owns the session now.
    movable: the accounts whose transcripts can be carried over (Claude storage); Codex is never source nor target.
    manual_target: an account that the user named; one that cannot take the session means staying.
    The session leaves its account only for a lower load: a move costs the prompt cache.
    Drained and disabled accounts are targets only when named by hand; one marked exhausted only when all others are.
    """
    owner = next((candidate for candidate in candidates if candidate.account == active), None)
    if len(candidates) <= 1 or owner is None or active not in movable:
        return None
    takers = [candidate for candidate in candidates if candidate.account in movable]
    if manual_target is not None:
        named = next((taker for taker in takers if taker.account == manual_target), None)
        return None if named is None or named is owner else Move(named.index, named.account, MoveReason.MANUAL)
    rates = pool_rates(candidate.quota for candidate in candidates)
    is_spent = owner.quota.exhausted_at is not None
    open_takers = [taker for taker in takers if _is_open(taker, owner, keep_owner=not is_spent)]
    best = min(
        open_takers,
        key=lambda taker: (mark_holds(taker.quota, now), _load(taker, rates, now), taker is not owner, taker.index),
        default=None,
    )
    if best is None or best is owner:
        return None
    return Move(best.index, best.account, MoveReason.EXHAUSTED if is_spent else MoveReason.QUOTA_THRESHOLD)


def _is_open(taker: Candidate, owner: Candidate, *, keep_owner: bool) -> bool:
    """Tell whether `taker` may be weighed: the owner unless it is spent, others unless they take no new work."""
    return keep_owner if taker is owner else not (taker.drained or taker.disabled)


def _load(candidate: Candidate, rates: PoolRates, now: datetime) -> float:
    """Return the highest projected use over the live windows, 0 without any; without a rate the last reading counts."""
    turns, refreshed_at = candidate.turns_since_refresh, candidate.quota.refreshed_at
    return max(
        (
            project(window.used, turns, rate_of(window, refreshed_at, rates)[0] or 0.0)
            for window in candidate.quota.windows
            if window.resets_at > now
        ),
        default=0.0,
    )
