"""A decision in words and as JSON. Pure.

Details are built here, when somebody asks, so that choosing itself stays cheap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.balance.decision import (
    ERROR_WINDOW_MINUTES,
    QUOTA_EXCLUSIONS,
    Decision,
    ExclusionKind,
    Expectation,
    Method,
    TieRule,
    Verdict,
    WindowVerdict,
)
from oulipoly_engine.core.balance.headroom import headroom, known_headroom, left_text, score_text
from oulipoly_engine.core.quota.windows import MIN_HOURS, length_h
from oulipoly_engine.core.text.quantities import HEADROOM_UNIT, hours, percent
from oulipoly_engine.core.text.quantities import headroom as number

_AT_MOST = "at most its headroom"  # of an account as good, that comes later


def explain_exhaustion(model: str, verdicts: Sequence[Verdict]) -> str:
    """Say that nobody of a pool can serve: the contract's text, then what is not a matter of quota.

    Scripts match on the part up to the names.
    """
    names = ", ".join(verdict.candidate.account for verdict in verdicts) or "<empty>"
    text = f"all providers in pool {model} are quota-exhausted: {names}"
    others = [verdict for verdict in verdicts if verdict.exclusion not in QUOTA_EXCLUSIONS]
    clauses = "; ".join(f"{verdict.candidate.account} {exclusion_text(verdict)}" for verdict in others)
    return f"{text} ({clauses})" if clauses else text


def exclusion_text(verdict: Verdict) -> str:
    """Say why an account takes no part, as the rest of a sentence that begins with its name; empty if it does."""
    match verdict.exclusion:
        case None:
            return ""
        case ExclusionKind.UNKNOWN:
            return "is not in providers.toml"
        case ExclusionKind.DISABLED:
            return "is disabled"
        case ExclusionKind.DRAINED:
            return "is drained: it takes no new work"
        case ExclusionKind.UNABLE:
            return f"cannot serve: {verdict.candidate.refusal}"
        case ExclusionKind.ATTEMPTED:
            return "ran out of quota earlier in this invocation"
        case ExclusionKind.MARKED:
            return "is marked exhausted until a refresh clears it"
        case ExclusionKind.SPENT:
            return f"has exhausted {_window_text(verdict.excluding_window)}"
        case ExclusionKind.RESERVED:
            kept = f"{percent(verdict.candidate.reserve)} of every window in reserve"
            return f"keeps {kept} and has reached it in {_window_text(verdict.excluding_window)}"
        case ExclusionKind.TOO_LITTLE:
            return "has less left than the prompt took before it was cut off"


def waste_reason(chosen: Verdict, ranked: int, expected: Expectation) -> str:
    """Say why `least-waste` chose an account: what it is likely to waste of how much, and by what."""
    account = chosen.candidate.account
    if chosen.waste is None:
        return f"{account} is the only account that can serve"
    least = "likely to waste least" if ranked > 1 else "the only account to choose from"
    parts = [f"cut off in {percent(chosen.waste.cut_off)} of cases"]
    if (window := _tightest(chosen)) is not None:
        left = percent(max(0.0, 1 - chosen.candidate.reserve - window.window.used))
        parts.append(f"{left} of its {window.window.name} window left for {hours(window.hours_to_reset)}")
    waste = f"{waste_text(chosen)} cut off or missing later, of about {expected.turns:.0f}"
    return f"{account} is {least}: {waste}; {', '.join(parts)}"


def waste_text(verdict: Verdict) -> str:
    """Return what a prompt is likely to waste; below 0 is what it saves from expiring."""
    return "unknown" if verdict.waste is None else f"{verdict.waste.turns:.1f} turns"


def rank_heading(rule: TieRule) -> str:
    """Return what accounts are ranked by, as the heading of a column."""
    return "wastes" if rule is TieRule.LEAST_WASTE else f"headroom {HEADROOM_UNIT}"


def rank_text(verdict: Verdict) -> str:
    """Return what an account is ranked by, to stand under `rank_heading`."""
    return number(verdict.score) if verdict.waste is None else waste_text(verdict)


def _tightest(verdict: Verdict) -> WindowVerdict | None:
    """Return the live window with the least left for the time that it has to last."""
    live = [window for window in verdict.windows if window.is_live]
    return min(live, key=_left_for_time, default=None)


def _left_for_time(window: WindowVerdict) -> float:
    hours_left = max(MIN_HOURS, window.hours_to_reset)
    return (1 - window.window.used) * length_h(window.window.label, hours_left) / hours_left


def explain_choice(account: str, reason: str) -> str:
    """Say who was chosen and why, in one sentence: most reasons begin with the name."""
    return reason if reason.startswith(f"{account} ") else f"{account}: {reason}"


def why_not(decision: Decision, verdict: Verdict) -> str | None:
    """Say in one clause why `verdict`'s account was not chosen; None for the chosen one."""
    candidate = verdict.candidate
    if candidate.index == decision.index:
        return None
    if verdict.exclusion is not None:
        return exclusion_text(verdict)
    if candidate.has_alert and _is_calm(decision):
        return "has a running alert, which others have not"
    by_headroom = decision.rule is TieRule.MOST_HEADROOM
    avoids_errors = (Method.DENSITY, Method.WASTE, Method.COUNT, *((Method.ROUND_ROBIN,) if by_headroom else ()))
    if verdict.is_erring and decision.method in avoids_errors:
        return f"failed {candidate.recent_errors} times in the last {ERROR_WINDOW_MINUTES} minutes"
    match decision.method:
        case Method.STICKY:
            return f"the model stays on {decision.account}"
        case Method.COUNT if by_headroom and known_headroom(verdict) < 0:
            return "is almost exhausted by its last reading"
        case Method.COUNT:
            return f"has more calls and failures than {decision.account}, or as many and {_AT_MOST}"
        case Method.ROUND_ROBIN if by_headroom:
            left = left_text(known_headroom(verdict))
            return f"has at most as much left as {decision.account} by its last reading, {left}"
        case Method.ROUND_ROBIN:
            return f"has more calls than {decision.account}, or as many and {_AT_MOST}"
        case Method.WASTE:
            return f"would waste {waste_text(verdict)}"
        case Method.DENSITY | Method.NONE:
            return _not_densest(decision, verdict)


def _is_calm(decision: Decision) -> bool:
    """Tell whether the chosen account has no running alert."""
    chosen = (verdict.candidate for verdict in decision.verdicts if verdict.candidate.index == decision.index)
    return any(not candidate.has_alert for candidate in chosen)


def decision_to_json(decision: Decision) -> dict[str, object]:
    """Render a decision as JSON values; unknown is null, never 0, and no number is infinite or NaN.

    Keys: model, now, rule, method, index, account, reason, error, sticky_to, band_floor, readmitted (account names),
    expected (turns of the prompt, spread of their logarithm, runs that it rests on) and candidates, by index. A
    candidate: index, account, chosen, eligible, exclusion (slug) and why_not (clause), score, waste, binding_window
    (position), in_band, hides_window, worst_projected_used, soonest_reset_hours, live_windows, invocation_count,
    recent_errors, running, promised_turns, has_alert, turns_since_refresh, reserve, drained, disabled, readmit,
    windows. A window: position, label, used, resets_at, hours_to_reset, live, rate, rate_source (own, pool, duration,
    none), projected_used, score. Uses are fractions, hours and scores floats, instants RFC 3339.
    """
    return {
        "model": decision.model,
        "now": to_text(decision.now),
        "rule": decision.rule.value,
        "method": decision.method.value,
        "index": decision.index,
        "account": decision.account,
        "reason": decision.reason,
        "error": decision.error,
        "sticky_to": decision.sticky_to,
        "band_floor": _finite(decision.band_floor),
        "readmitted": list(decision.readmitted),
        "expected": _expectation_to_json(decision.expected),
        "candidates": [_verdict_to_json(decision, verdict) for verdict in decision.verdicts],
    }


def _expectation_to_json(expected: Expectation) -> dict[str, object]:
    return {"turns": _finite(expected.turns), "spread": _finite(expected.spread), "runs": expected.runs}


def _verdict_to_json(decision: Decision, verdict: Verdict) -> dict[str, object]:
    candidate = verdict.candidate
    return {
        "index": candidate.index,
        "account": candidate.account,
        "chosen": candidate.index == decision.index,
        "eligible": verdict.is_eligible,
        "exclusion": None if verdict.exclusion is None else verdict.exclusion.value,
        "why_not": why_not(decision, verdict),
        "score": _finite(verdict.score),
        "waste": None if verdict.waste is None else {"turns": verdict.waste.turns, "cut_off": verdict.waste.cut_off},
        "binding_window": None if verdict.binding is None else verdict.binding.window.position,
        "in_band": decision.in_band(verdict),
        "hides_window": verdict.hides_window,
        "worst_projected_used": _finite(verdict.worst_projected_used),
        "soonest_reset_hours": _finite(verdict.soonest_reset_hours),
        "live_windows": verdict.live_windows,
        "invocation_count": candidate.invocation_count,
        "recent_errors": candidate.recent_errors,
        "running": candidate.running,
        "promised_turns": _finite(candidate.promised_turns),
        "has_alert": candidate.has_alert,
        "turns_since_refresh": candidate.turns_since_refresh,
        "reserve": _finite(candidate.reserve),
        "drained": candidate.drained,
        "disabled": candidate.disabled,
        "readmit": verdict.readmit,
        "windows": [_window_to_json(window) for window in verdict.windows],
    }


def _window_to_json(verdict: WindowVerdict) -> dict[str, object]:
    window = verdict.window
    return {
        "position": window.position,
        "label": window.label,
        "used": _finite(window.used),
        "resets_at": to_text(window.resets_at),
        "hours_to_reset": _finite(verdict.hours_to_reset),
        "live": verdict.is_live,
        "rate": _finite(verdict.rate),
        "rate_source": verdict.rate_source.value,
        "projected_used": _finite(verdict.projected_used),
        "score": _finite(verdict.score),
    }


def _not_densest(decision: Decision, verdict: Verdict) -> str:
    if verdict.score is None:
        reason = "no live window" if not verdict.live_windows else "no rate learned yet"
        return f"its headroom is unknown: {reason}"
    if verdict.hides_window:
        return "is almost exhausted and hides a window that others show, so its headroom counts as 0"
    if decision.band_floor is None:
        return f"its headroom, {score_text(verdict.score)}, is not the most"
    if not decision.in_band(verdict):
        too_low = "0" if decision.rule is TieRule.MOST_HEADROOM else "below half of the most"
        return f"its headroom, {score_text(verdict.score)}, is {too_low}"
    if decision.rule is TieRule.MOST_HEADROOM:
        own = headroom(verdict.windows, verdict.candidate.reserve)
        return f"has at most as much left as {decision.account}, {left_text(own)}"
    if decision.rule is TieRule.FEWEST_CALLS:
        return f"has at least as many calls as {decision.account}, {verdict.candidate.calls}"
    return f"has at least the projected use of {decision.account}"


def _window_text(verdict: WindowVerdict | None) -> str:
    if verdict is None:
        return "a window"
    window = verdict.window
    name = f"window {window.position}" if window.label is None else f"its {window.label} window"
    return f"{name} until {to_text(window.resets_at)[:16]}Z"


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
