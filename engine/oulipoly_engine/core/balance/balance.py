"""Choose the account that serves a model now: a pure function of what is known (contract, section 1).

Equal inputs give equal answers: no clock, no randomness, no store. Everything is compared in plain floats of hours, and
what all accounts share (pooled rates, the longest learned window) is computed once, so a choice is linear in windows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.balance.decision import (
    ALL_FAILED,
    DEFAULT_RESET_WEIGHT,
    ERROR_LIMIT,
    ERROR_PENALTY,
    LIKELY_CUT_OFF,
    UNKNOWN_LENGTH,
    Candidate,
    Decision,
    ExclusionKind,
    Expectation,
    Method,
    TieRule,
    Verdict,
    WindowVerdict,
)
from oulipoly_engine.core.balance.explain import decision_to_json, explain_exhaustion, waste_reason, why_not
from oulipoly_engine.core.balance.headroom import headroom, known_headroom, left_text, score_text
from oulipoly_engine.core.quota.burn import PoolRates, pool_rates, project, rate_of
from oulipoly_engine.core.quota.windows import MIN_HOURS, mark_holds
from oulipoly_engine.core.text.quantities import percent
from oulipoly_engine.records import Record, replace

if TYPE_CHECKING:
    from oulipoly_engine.core.balance.band import Pick

__all__ = ["Candidate", "ExclusionKind", "Method", "TieRule", "decision_to_json", "why_not"]

SPENT_AT = 1.0  # a live window used this far excludes its account
HIDDEN_WINDOW_HINT = 0.85  # one vendor hides the 5 h tier when the weekly one is this far used


def choose(
    model: str,
    candidates: Sequence[Candidate],
    now: datetime,
    rule: TieRule = TieRule.FEWEST_CALLS,
    *,
    sticky_to: str | None = None,
    attempted: Collection[str] = frozenset(),
    expected: Expectation = UNKNOWN_LENGTH,
    reset_weight: float = DEFAULT_RESET_WEIGHT,
) -> Decision:
    """Decide which of a pool's accounts serves `model` at `now`.

    sticky_to: the account last used for the model, to stay on while it is eligible, not failing and not known to be
    out of headroom.
    attempted: accounts that ran out of quota earlier in this invocation; they are not tried again.
    expected: how long the prompt will be.
    reset_weight: of `least-waste`: how much sooner it spends what resets soon, see core.waste.
    """
    ordered = sorted(candidates, key=lambda candidate: candidate.index)
    rates = pool_rates(candidate.quota for candidate in ordered)
    verdicts = [_judge(candidate, now, rates, attempted) for candidate in ordered]
    if rule is TieRule.LEAST_WASTE:
        verdicts = _weigh_waste(verdicts, expected, reset_weight)
    eligible = _leave_out_alerts([verdict for verdict in verdicts if verdict.exclusion is None])
    if not eligible:
        answer = _Answer(None, Method.NONE, explain_exhaustion(model, verdicts))
    elif rule is TieRule.LEAST_WASTE and all(verdict.windows for verdict in eligible):
        answer = _stay(eligible, sticky_to) or _by_waste(eligible, expected)
    elif all(verdict.windows for verdict in eligible):
        covered = max(verdict.live_windows for verdict in eligible)
        verdicts = [_penalise_hidden(verdict, covered) for verdict in verdicts]
        eligible = _leave_out_alerts([verdict for verdict in verdicts if verdict.exclusion is None])
        answer = _stay(eligible, sticky_to) or _by_density(eligible, rule)
    else:
        answer = _stay(eligible, sticky_to) or _by_count(eligible, rule)
    chosen = answer.chosen
    return Decision(
        model=model,
        now=now,
        rule=rule,
        method=answer.method,
        index=None if chosen is None else chosen.candidate.index,
        account=None if chosen is None else chosen.candidate.account,
        reason=answer.reason,
        error=answer.reason if chosen is None else None,
        verdicts=tuple(verdicts),
        band_floor=answer.band_floor,
        sticky_to=sticky_to,
        expected=expected,
    )


def _leave_out_alerts(eligible: Sequence[Verdict]) -> Sequence[Verdict]:
    """Leave out the accounts with a running alert while another one has none, does not fail and has room."""
    calm = [verdict for verdict in eligible if not verdict.candidate.has_alert]
    if len(calm) == len(eligible):
        return eligible
    is_enough = any(not verdict.is_erring and not _lacks_room(verdict) for verdict in calm)
    return calm if is_enough else eligible


class _Answer(Record):
    chosen: Verdict | None
    method: Method
    reason: str
    band_floor: float | None = None


def _judge(candidate: Candidate, now: datetime, rates: PoolRates, attempted: Collection[str]) -> Verdict:
    quota = candidate.quota
    windows, live = _judge_windows(candidate, now, rates)
    binding, worst, soonest = _weigh(live)
    outlived = quota.exhausted_at is not None and not mark_holds(quota, now)
    exclusion, culprit = _exclude(candidate, live, attempted, outlived=outlived)
    score = None if binding is None or candidate.recent_errors >= ERROR_LIMIT else binding.score
    return Verdict(candidate, tuple(windows), len(live), score, binding, worst, soonest, exclusion, culprit, outlived)


def _judge_windows(
    candidate: Candidate, now: datetime, rates: PoolRates
) -> tuple[list[WindowVerdict], list[WindowVerdict]]:
    """Return the verdicts of all windows, and those of the live ones alone."""
    windows: list[WindowVerdict] = []
    live: list[WindowVerdict] = []
    refreshed_at, usable = candidate.quota.refreshed_at, 1 - candidate.reserve
    turns = candidate.turns_since_refresh + candidate.running
    for window in candidate.quota.windows:
        hours = (window.resets_at - now).total_seconds() / 3600
        rate, source = rate_of(window, refreshed_at, rates)
        if hours <= 0:
            windows.append(WindowVerdict(window, hours, False, rate, source, None, None))
            continue
        projected = score = None
        if rate is not None:
            projected = project(window.used, turns, rate)
            score = (usable - projected) * (hours if hours > MIN_HOURS else MIN_HOURS) if projected < usable else 0.0
        verdict = WindowVerdict(window, hours, True, rate, source, projected, score)
        windows.append(verdict)
        live.append(verdict)
    return windows, live


def _weigh(live: Sequence[WindowVerdict]) -> tuple[WindowVerdict | None, float | None, float | None]:
    """Return the binding window, the worst projected use and the hours to the soonest reset.

    One live window without a rate leaves the account without a binding window: it may be the one that binds.
    """
    binding, worst, soonest, least = None, -1.0, math.inf, math.inf
    is_learned = True
    for window in live:  # one plain loop: three min() and max() over generators cost more than all the rest
        if window.hours_to_reset < soonest:
            soonest = window.hours_to_reset
        if window.score is None or window.projected_used is None:
            is_learned = False
            continue
        if window.score < least or binding is None:
            binding, least = window, window.score
        if window.projected_used > worst:
            worst = window.projected_used
    return binding if is_learned else None, None if worst < 0 else worst, soonest if live else None


def _exclude(
    candidate: Candidate, live: Sequence[WindowVerdict], attempted: Collection[str], *, outlived: bool
) -> tuple[ExclusionKind | None, WindowVerdict | None]:
    """Return why the account takes no part, and the window at fault; what the user asked for comes first."""
    if not candidate.is_known:
        return ExclusionKind.UNKNOWN, None
    if candidate.disabled:
        return ExclusionKind.DISABLED, None
    if candidate.drained:
        return ExclusionKind.DRAINED, None
    if candidate.refusal:
        return ExclusionKind.UNABLE, None
    if candidate.account in attempted:
        return ExclusionKind.ATTEMPTED, None
    if candidate.quota.exhausted_at is not None and not outlived:
        return ExclusionKind.MARKED, None
    for window in live:
        if window.window.used >= SPENT_AT:
            return ExclusionKind.SPENT, window
    return _exclude_reserved(candidate, live) if candidate.reserve > 0 else (None, None)


def _exclude_reserved(
    candidate: Candidate, live: Sequence[WindowVerdict]
) -> tuple[ExclusionKind | None, WindowVerdict | None]:
    """Keep out an account whose reserve is reached; without a rate the last reading counts."""
    for window in live:
        used = window.window.used if window.projected_used is None else window.projected_used
        if used >= 1 - candidate.reserve:
            return ExclusionKind.RESERVED, window
    return None, None


def _penalise_hidden(verdict: Verdict, covered: int) -> Verdict:
    """Force the score to 0 if the account shows fewer live windows than the best covered and is almost exhausted."""
    if verdict.live_windows >= covered or not _is_near_cap(verdict):
        return verdict
    return replace(verdict, hides_window=True, score=None if verdict.score is None else 0.0)


def _is_near_cap(verdict: Verdict) -> bool:
    return any(window.is_live and window.window.used >= HIDDEN_WINDOW_HINT for window in verdict.windows)


def _stay(eligible: Sequence[Verdict], sticky_to: str | None) -> _Answer | None:
    """Keep to the account last used, unless it fails or is known to have no headroom."""
    for verdict in eligible:
        if verdict.candidate.account == sticky_to and not verdict.is_erring and not _lacks_room(verdict):
            reason = f"{sticky_to} was used last for this model, is eligible, and {_room_text(verdict)}"
            return _Answer(verdict, Method.STICKY, reason)
    return None


def _lacks_room(verdict: Verdict) -> bool:
    if verdict.waste is not None:
        return verdict.waste.cut_off >= LIKELY_CUT_OFF
    return verdict.score is not None and verdict.score <= 0


def _room_text(verdict: Verdict) -> str:
    if verdict.waste is not None:
        return f"cuts the prompt off in {percent(verdict.waste.cut_off)} of cases"
    return f"its headroom is {'unknown' if verdict.score is None else score_text(verdict.score)}"


def _weigh_waste(verdicts: Sequence[Verdict], expected: Expectation, reset_weight: float) -> list[Verdict]:
    """Add what the prompt would waste on each account that can serve, and leave out where it cannot end.

    It cannot where less is left than it took before it was cut off: to begin there is to throw that away as well.
    """
    from oulipoly_engine.core.balance.waste import HOPELESS, Weigher  # noqa: PLC0415 - by this rule alone

    weigher = Weigher([verdict.candidate.quota for verdict in verdicts], expected, reset_weight)
    covered = max((verdict.live_windows for verdict in verdicts if verdict.exclusion is None), default=0)
    weighed: list[Verdict] = []
    for verdict in verdicts:
        if verdict.exclusion is None and verdict.windows:
            waste = weigher.weigh(verdict.candidate, verdict.windows)
            is_hopeless = expected.at_least > 0 and waste.cut_off >= HOPELESS
            exclusion = ExclusionKind.TOO_LITTLE if is_hopeless else None
            hides = verdict.live_windows < covered and _is_near_cap(verdict)
            verdict = replace(verdict, waste=waste, exclusion=exclusion, hides_window=hides)
        weighed.append(verdict)
    return weighed


def _by_waste(eligible: Sequence[Verdict], expected: Expectation) -> _Answer:
    """Choose where the prompt is likely to waste least; equal accounts take turns by their calls."""
    steady = [verdict for verdict in eligible if not verdict.is_erring]
    if not steady:
        return _round_robin(eligible, ALL_FAILED, TieRule.MOST_HEADROOM)
    chosen = min(steady, key=_rank_waste)
    return _Answer(chosen, Method.WASTE, waste_reason(chosen, len(steady), expected))


def _rank_waste(verdict: Verdict) -> tuple[bool, float, int]:
    turns = math.inf if verdict.waste is None else round(verdict.waste.turns, 6)
    return verdict.hides_window, turns, verdict.candidate.calls


def _by_density(eligible: Sequence[Verdict], rule: TieRule) -> _Answer:
    if all(verdict.score is None for verdict in eligible):
        is_erring = all(verdict.is_erring for verdict in eligible)
        return _round_robin(eligible, ALL_FAILED if is_erring else "no account of the pool has known headroom", rule)
    from oulipoly_engine.core.balance.band import Contender, pick  # noqa: PLC0415 - not where no quota is known

    contenders = [
        Contender(
            place,
            verdict.score,
            verdict.candidate.calls,
            verdict.worst_projected_used,
            verdict.soonest_reset_hours,
            headroom(verdict.windows, verdict.candidate.reserve) if rule is TieRule.MOST_HEADROOM else 0.0,
        )
        for place, verdict in enumerate(eligible)
        if verdict.score is not None
    ]
    picked = pick(contenders, rule)
    chosen = eligible[picked.winner.place]
    return _Answer(chosen, Method.DENSITY, _density_reason(chosen, picked, rule, len(contenders)), picked.band_floor)


def _density_reason(chosen: Verdict, picked: Pick, rule: TieRule, scored: int) -> str:
    account, score = chosen.candidate.account, picked.winner.score
    if scored == 1:
        return f"{account} is the only account to rank by headroom, {score_text(score)}"
    if picked.band_floor is None:
        return f"no account has headroom left; {account} is the last with the most, {score_text(score)}"
    if rule is TieRule.MOST_HEADROOM:
        among = f"among the {picked.band_size} accounts with headroom"
        return f"{account} has the most left for the time to its resets, {left_text(picked.winner.headroom)}, {among}"
    if picked.band_size == 1:
        return f"{account} has the most headroom, {score_text(score)}, and no other account reaches half of it"
    among = f"among the {picked.band_size} accounts with at least half of the most headroom"
    if rule is TieRule.FEWEST_CALLS:
        return f"{account} has the fewest calls, {picked.winner.invocation_count}, {among}"
    used = picked.winner.worst_projected_used
    return f"{account} has the lowest projected use, {'unknown' if used is None else percent(used)}, {among}"


def _by_count(eligible: Sequence[Verdict], rule: TieRule) -> _Answer:
    steady = [verdict for verdict in eligible if not verdict.is_erring]
    if not steady:
        return _round_robin(eligible, ALL_FAILED, rule)
    unspent = [verdict for verdict in steady if known_headroom(verdict) >= 0]
    is_narrowed = rule is TieRule.MOST_HEADROOM and 0 < len(unspent) < len(steady)
    pool = unspent if is_narrowed else steady
    chosen = min(pool, key=lambda verdict: (_weigh_calls(verdict), -known_headroom(verdict)))
    calls, errors = chosen.candidate.calls, chosen.candidate.recent_errors
    least = "the least of those that are not almost exhausted" if is_narrowed else "the least"
    reason = (
        f"some windows are unknown, so calls decide: {chosen.candidate.account} has {calls} with {errors} recent "
        f"failures, {least}"
    )
    equals = [verdict for verdict in pool if _weigh_calls(verdict) == _weigh_calls(chosen)]
    return _Answer(chosen, Method.COUNT, reason + _more_headroom(chosen, equals))


def _weigh_calls(verdict: Verdict) -> int:
    return verdict.candidate.calls + ERROR_PENALTY * verdict.candidate.recent_errors


def _round_robin(eligible: Sequence[Verdict], because: str, rule: TieRule) -> _Answer:
    """Choose where nobody can be scored: the contract's fewest calls, and only among equals what is known of windows.

    By most headroom the other way round, and whoever has failed lately last: calls would not move them on.
    """
    if rule is TieRule.MOST_HEADROOM:
        chosen = min(eligible, key=lambda one: (one.is_erring, -known_headroom(one), one.candidate.calls))
        most = f"with the most left by the last readings, {left_text(known_headroom(chosen))}"
        return _Answer(chosen, Method.ROUND_ROBIN, f"{because}, so {chosen.candidate.account} {most}, is next")
    chosen = min(eligible, key=lambda one: (one.candidate.calls, -known_headroom(one)))
    account, calls = chosen.candidate.account, chosen.candidate.calls
    equals = [verdict for verdict in eligible if verdict.candidate.calls == calls]
    reason = f"{because}, so {account} with the fewest calls, {calls}, is next{_more_headroom(chosen, equals)}"
    return _Answer(chosen, Method.ROUND_ROBIN, reason)


def _more_headroom(chosen: Verdict, equals: Sequence[Verdict]) -> str:
    """Say that what is known of windows decided among accounts with as many calls; empty where it did not."""
    known = known_headroom(chosen)
    if all(known_headroom(verdict) == known for verdict in equals):
        return ""
    return f"; of {len(equals)} accounts with as many it has the most left by the last readings, {left_text(known)}"
