"""What would change: the choice as it is and as it would be, side by side. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.explain import exclusion_text
from oulipoly_tui.view import words
from oulipoly_tui.view.spans import Line, Tone, cells, fitted

if TYPE_CHECKING:
    from oulipoly_engine.core.decision import Decision, Verdict


def compared(now: Decision, then: Decision) -> tuple[Line, ...]:
    """Return who would serve, then a row an account: score, projected use and standing, before and after."""
    same = now.account == then.account
    change = (
        f"{now.account or 'nobody'} stays next" if same else f"{now.account or 'nobody'} → {then.account or 'nobody'}"
    )
    lines: list[Line] = [
        (("next: ", ""), (change, "strong" if same else "good" if then.account else "bad")),
        ((then.reason, "dim"),),
        (),
    ]
    width = max((cells(one.candidate.account) for one in now.verdicts), default=8)
    lines.append(((f"  {fitted('account', width)}  {'score':>17}  {'projected':>17}  standing", "dim"),))
    after = {one.candidate.index: one for one in then.verdicts}
    return (*lines, *(_row(now, then, one, after.get(one.candidate.index), width) for one in now.verdicts))


def _row(now: Decision, then: Decision, before: Verdict, after: Verdict | None, width: int) -> Line:
    name = fitted(before.candidate.account, width)
    if after is None:
        return ((f"✗ {name}", "dim"), ("  out: another account is pinned", "dim"))
    score = _pair(words.hours(before.score), words.hours(after.score))
    projected = _pair(words.percent(before.worst_projected_used), words.percent(after.worst_projected_used))
    standing, tone = _standing(then, after)
    mark = "▶" if after.candidate.index == then.index else "·" if before.candidate.index == now.index else " "
    changed: Tone = "strong" if before.score != after.score or before.exclusion != after.exclusion else ""
    return ((f"{mark} {name}", tone), (f"  {score:>17}  {projected:>17}", changed), (f"  {standing}", tone))


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _standing(then: Decision, after: Verdict) -> tuple[str, Tone]:
    if after.candidate.index == then.index:
        return "next", "good"
    if after.exclusion is not None:
        return exclusion_text(after), "bad"
    return ("in band", "") if then.in_band(after) else ("waits", "dim")
