"""Burn rates: what a turn costs of a window, learned from readings and lent between accounts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from oulipoly_engine.core.quota.windows import MIN_HOURS, QuotaState, Window
from oulipoly_engine.records import Record, replace

# The contract's learning limits (section 1.1).
MIN_TURNS = 20
LEARNING_CEILING = 0.99  # a reading at the cap says nothing about the pace
MAX_RATE = 0.1  # cannot bind with the other two; kept as the contract's own guard

_MIN_DURATION = timedelta(hours=MIN_HOURS)


class RateSource(StrEnum):
    """Where a window's burn rate comes from, in the order in which the sources are asked."""

    OWN = "own"
    POOL = "pool"  # windows of the same kind on the pool's other accounts
    DURATION = "duration"  # the longest learned window, scaled by the windows' lengths
    NONE = "none"


# Bound once: reading a member off its enum costs as much as the division it accompanies.
_OWN, _POOL, _DURATION, _NONE = RateSource


class PoolRates(Record):
    """What a pool's accounts have learned together."""

    by_kind: dict[str | int, float]  # Window.kind -> fraction of the window per turn
    longest_rate: float | None = None  # of the longest learned window
    longest: timedelta = timedelta(0)  # its length, from its account's last refresh to its reset


def pool_rates(quotas: Iterable[QuotaState]) -> PoolRates:
    """Sum up a pool's learning once: deltas over turns for each kind of window, and the longest learned window."""
    deltas: dict[str | int, float] = {}
    turns: dict[str | int, int] = {}
    longest, longest_rate = timedelta(0), None
    for quota in quotas:
        refreshed_at = quota.refreshed_at
        for window in quota.windows:
            delta, calls = window.last_delta, window.last_delta_turns
            if not delta or not calls or delta < 0 or calls < 0:
                continue
            kind = window.position if window.label is None else window.label  # Window.kind, inline
            deltas[kind] = deltas.get(kind, 0.0) + delta
            turns[kind] = turns.get(kind, 0) + calls
            if refreshed_at is not None and (length := window.resets_at - refreshed_at) > longest:
                longest, longest_rate = length, delta / calls
    return PoolRates({kind: delta / turns[kind] for kind, delta in deltas.items()}, longest_rate, longest)


def rate_of(window: Window, refreshed_at: datetime | None, rates: PoolRates) -> tuple[float | None, RateSource]:
    """Find the burn rate of `window` and its source: its own, the pool's, one scaled by duration, or none.

    refreshed_at: the window's own account's last refresh; without one, no duration can be compared.
    """
    delta, turns = window.last_delta, window.last_delta_turns
    if delta and turns and delta > 0 and turns > 0:
        return delta / turns, _OWN
    pooled = rates.by_kind.get(window.position if window.label is None else window.label)  # Window.kind, inline
    if pooled is not None:
        return pooled, _POOL
    if refreshed_at is None or rates.longest_rate is None:
        return None, _NONE
    target = max(_MIN_DURATION, window.resets_at - refreshed_at)
    if rates.longest <= target:
        return None, _NONE
    return rates.longest_rate * (rates.longest / target), _DURATION


def project(used: float, turns: int, rate: float) -> float:
    """Return the fraction of a window that is used after `turns` more turns; may exceed 1, never below 0."""
    projected = used + turns * rate
    return projected if projected > 0 else 0.0


def learn(prior: QuotaState, reading: Sequence[Window], turns: int | None, now: datetime) -> QuotaState:
    """Return an account's state after a refresh that reported `reading`.

    prior: the stored state, `QuotaState(account)` if there is none.
    reading: the script's windows in its order; their `position`, `used`, `resets_at` and `label` count.
    turns: assistant turns since `prior.refreshed_at`; None if they are not known, then our own calls stand in.
    An empty reading teaches that nothing was said: stored windows and the exhaustion mark stay.
    """
    if not reading:
        refreshed_at = prior.refreshed_at if prior.windows else now
        return replace(prior, refreshed_at=refreshed_at, last_empty_refresh_at=now)
    from oulipoly_engine.core.quota.window_matching import match_windows  # noqa: PLC0415 - a choice does not learn

    spent_turns = prior.calls_since_refresh if turns is None else turns
    continued = (None if place is None else prior.windows[place] for place in match_windows(prior.windows, reading))
    return replace(
        prior,
        windows=tuple(_learn_window(*pair, spent_turns) for pair in zip(continued, reading, strict=True)),
        refreshed_at=now,
        exhausted_at=None,
        calls_since_refresh=0,
        peak_live_windows=max(prior.peak_live_windows, len(reading)),
    )


def _learn_window(before: Window | None, after: Window, turns: int) -> Window:
    """Learn from all that was spent since the last lesson, not from the last step alone.

    The contract compares two readings only, and wants 20 turns between them; but a choice reads its accounts every 30
    seconds, so that two readings hardly ever lie 20 turns apart and nothing would be learned in ordinary use.
    """
    if before is None:
        return replace(after, last_delta=None, last_delta_turns=None, pending_delta=0.0, pending_turns=0)
    kept = replace(after, last_delta=before.last_delta, last_delta_turns=before.last_delta_turns)
    if after.used < before.used:  # a reset: what was pending belongs to another cycle
        return replace(kept, pending_delta=0.0, pending_turns=0)
    delta = before.pending_delta + after.used - before.used
    spent_turns = before.pending_turns + turns
    # The step may be so small that its share of a turn is no longer above 0.
    if spent_turns >= MIN_TURNS and after.used < LEARNING_CEILING and 0 < delta / spent_turns <= MAX_RATE:
        return replace(after, last_delta=delta, last_delta_turns=spent_turns, pending_delta=0.0, pending_turns=0)
    return replace(kept, pending_delta=delta, pending_turns=spent_turns)
