"""A decision as a table for people. Pure; reads the JSON form, because that is what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oulipoly_engine.core.balance.decision import Decision, TieRule, describe_method
from oulipoly_engine.core.balance.explain import decision_to_json
from oulipoly_engine.core.text.columns import table
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.text.quantities import HEADROOM_UNIT, headroom, hours, percent

_HEADINGS = (
    "",
    "account",
    "",  # by what accounts are ranked
    "window",
    "used",
    "rate/turn",
    "projected",
    "resets in",
    "calls",
    "errors",
    "",
)


def why_text(decision: Decision) -> str:
    """Return a decision as the table that `agents why` prints."""
    return why_table(decision_to_json(decision))


def why_table(decision: Mapping[str, Any]) -> str:
    """Draw a decision: what was chosen and why, then a row a window, the limiting one marked `*`.

    decision: the JSON form of `core.explain.decision_to_json`. Unknown numbers are `?`, never 0.
    """
    rows = [row for candidate in decision.get("candidates", ()) for row in _rows(candidate)]
    ranked = "wastes, cut off" if decision.get("rule") == TieRule.LEAST_WASTE else f"headroom {HEADROOM_UNIT}"
    headings = (*_HEADINGS[:2], ranked, *_HEADINGS[3:])
    return "\n".join([*map(visible_line, _title(decision)), *table([headings, *rows])]) + "\n"


def _title(decision: Mapping[str, Any]) -> Iterator[str]:
    chosen = decision.get("account")
    words = describe_method(str(decision.get("method")), str(decision.get("reason")))
    yield f"{decision['model']}: {chosen or 'nobody'} ({words}, {decision.get('rule')})"
    yield f"  {decision.get('reason') or decision.get('error')}"
    floor = decision.get("band_floor")
    if floor is not None:
        yield f"  eligible: every headroom of at least {headroom(floor)} {HEADROOM_UNIT}"


def _rows(candidate: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    head = (_mark(candidate), str(candidate["account"]), _score(candidate))
    tail = (str(candidate.get("invocation_count", 0)), str(candidate.get("recent_errors", 0)), _note(candidate))
    windows: Sequence[Mapping[str, Any]] = candidate.get("windows", ())
    if not windows:
        yield (*head, "-", "?", "?", "?", "?", *tail)
    for place, window in enumerate(windows):
        binding = "*" if window.get("position") == candidate.get("binding_window") else ""
        name = f"{window.get('label') or 'window-' + str(window.get('position'))}{binding}"
        cells = (
            name,
            percent(window.get("used")),
            _rate(window),
            _format_projection(window),
            hours(window.get("hours_to_reset")),
        )
        yield (*(head if place == 0 else ("", "", "")), *cells, *(tail if place == 0 else ("", "", "")))


def _mark(candidate: Mapping[str, Any]) -> str:
    if candidate.get("chosen"):
        return ">>"
    if not candidate.get("eligible", True):
        return "x"
    return "=" if candidate.get("in_band") else "-"


def _score(candidate: Mapping[str, Any]) -> str:
    waste = candidate.get("waste")
    if waste is None:
        return headroom(candidate.get("score"))
    return f"{waste['turns']:.1f} turns, {percent(waste['cut_off'])}"


def _note(candidate: Mapping[str, Any]) -> str:
    parts = []
    if candidate.get("reserve"):
        parts.append(f"reserve {percent(candidate['reserve'])}")
    if candidate.get("hides_window"):
        parts.append("hides a window")
    if candidate.get("why_not"):
        parts.append(str(candidate["why_not"]))
    return "; ".join(parts)


def _rate(window: Mapping[str, Any]) -> str:
    rate = window.get("rate")
    return "?" if rate is None else f"{100 * rate:.3f} % {window.get('rate_source')}"


def _format_projection(window: Mapping[str, Any]) -> str:
    return "reset" if not window.get("live") else percent(window.get("projected_used"))
