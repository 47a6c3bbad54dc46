"""What would change: the choice as it is and as it would be, side by side. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.balance.explain import exclusion_text, rank_heading, rank_text
from oulipoly_tui.view import words
from oulipoly_tui.view.transcript.spans import Line, Span, Tone, cells, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.core.balance.decision import Decision, Verdict

_TABLE = 61  # columns of the table beside the names


def format_comparison(now: Decision, then: Decision, columns: int = 1000) -> tuple[Line, ...]:
    """Return who would serve, then each account's score, projected use and standing, before and after.

    columns: that there are; where a table finds no room, an account has two lines.
    """
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
    after = {one.candidate.index: one for one in then.verdicts}
    if columns < _TABLE + width:
        for one in now.verdicts:
            lines += _two_lines(now, then, one, after.get(one.candidate.index))
        reason = lines.pop(1)
        return (*lines, (), reason)
    headings = f"  {fit_text('account', width)}  {rank_heading(now.rule):>17}  {'projected':>22}  standing"
    lines.append(((headings, "dim"),))
    return (*lines, *(_row(now, then, one, after.get(one.candidate.index), width) for one in now.verdicts))


def _two_lines(now: Decision, then: Decision, before: Verdict, after: Verdict | None) -> tuple[Line, ...]:
    name = before.candidate.account
    if after is None:
        return (((f"✗ {name}", "dim"), ("  out: another account is pinned", "dim")),)
    standing, tone = _describe_standing(then, after)
    score, projected = _changes(before, after)
    head: Line = ((f"{_mark(now, then, after)} {name}", tone), (f"  {standing}", tone))
    return (head, ((f"    {rank_heading(now.rule)} {score}, projected {projected}", _choose_tone(before, after)),))


def _row(now: Decision, then: Decision, before: Verdict, after: Verdict | None, width: int) -> Line:
    name = fit_text(before.candidate.account, width)
    if after is None:
        return ((f"✗ {name}", "dim"), ("  out: another account is pinned", "dim"))
    score, projected = _changes(before, after)
    standing, tone = _describe_standing(then, after)
    numbers: Span = (f"  {score:>17}  {projected:>22}", _choose_tone(before, after))
    return ((f"{_mark(now, then, after)} {name}", tone), numbers, (f"  {standing}", tone))


def _changes(before: Verdict, after: Verdict) -> tuple[str, str]:
    score = _pair(rank_text(before), rank_text(after))
    window = after.binding or before.binding
    if window is None:
        return score, "?"
    use = (_find_projected_used(one, window.window.position) for one in (before, after))
    return score, f"{window.window.name} {_pair(*map(words.percent, use))}"


def _find_projected_used(verdict: Verdict, position: int) -> float | None:
    """Return the projected use of one window: the one that decides afterwards, so that like is put beside like."""
    return next((one.projected_used for one in verdict.windows if one.window.position == position), None)


def _choose_tone(before: Verdict, after: Verdict) -> Tone:
    return "strong" if before.score != after.score or before.exclusion != after.exclusion else ""


def _mark(now: Decision, then: Decision, after: Verdict) -> str:
    return "▶" if after.candidate.index == then.index else "·" if after.candidate.index == now.index else " "


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _describe_standing(then: Decision, after: Verdict) -> tuple[str, Tone]:
    if after.candidate.index == then.index:
        return "next", "good"
    if after.exclusion is not None:
        return words.local(exclusion_text(after), then.now), "bad"
    return ("eligible", "") if then.in_band(after) else ("waits", "dim")
