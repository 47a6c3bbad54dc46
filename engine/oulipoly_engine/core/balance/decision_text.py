"""A stored decision as a few lines of text. Pure; reads the JSON form, because that is what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oulipoly_engine.core.balance.decision import describe_method
from oulipoly_engine.core.text.quantities import HEADROOM_UNIT, headroom, hours, percent


def why_lines(decision: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line with the reason, then one a candidate, the chosen one marked `>`.

    decision: the JSON form of `core.explain.decision_to_json`; numbers that are unknown are shown as `?`.
    """
    chosen = decision.get("account") or "nobody"
    words = describe_method(str(decision.get("method")), str(decision.get("reason")))
    yield f"why {chosen}: {decision.get('reason') or decision.get('error')} [{words}]"
    for candidate in decision.get("candidates", ()):
        yield _candidate_line(candidate)


def _candidate_line(candidate: Mapping[str, Any]) -> str:
    mark = ">" if candidate.get("chosen") else "-"
    facts = [f"{mark} {candidate.get('account')}"]
    if candidate.get("why_not"):
        facts.append(str(candidate["why_not"]))
    if candidate.get("score") is not None:
        facts.append(f"headroom {headroom(candidate['score'])} {HEADROOM_UNIT}")
    facts.extend(_window_text(window) for window in _live(candidate.get("windows", ())))
    facts.append(f"{candidate.get('invocation_count', 0)} calls")
    if candidate.get("recent_errors"):
        facts.append(f"{candidate['recent_errors']} recent errors")
    return "  ".join(facts)


def _live(windows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [window for window in windows if window.get("live")]


def _window_text(window: Mapping[str, Any]) -> str:
    name = window.get("label") or f"window-{window.get('position')}"
    projected = percent(window.get("projected_used"))
    left = hours(window.get("hours_to_reset"))
    return f"{name} {percent(window.get('used'))}, projected {projected}, resets in {left}"
