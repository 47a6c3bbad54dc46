"""The pools as rows: who is next, who could be, who not and why. Pure.

A state is always a word and a mark; the tone only repeats it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.balance.decision import Decision, ExclusionKind, Method, TieRule, Verdict, describe_method
from oulipoly_engine.core.balance.explain import exclusion_text, rank_heading, rank_text, why_not
from oulipoly_engine.core.text.quantities import HEADROOM_UNIT
from oulipoly_engine.records import Record
from oulipoly_tui.view import words
from oulipoly_tui.view.frame.problems import format_broken_file
from oulipoly_tui.view.transcript.spans import Line, Row, Span, Tone, cells, cut, fit_text, plain

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import AccountView, PoolView, Snapshot

HEADING_KEY = "heading"
_NAME_LEAST, _NAME_MOST = 10, 28
_STATE_LEAST, _STATE_MOST = 9, 28
_ASIDE = " · "  # begins what is said behind a state
_UNTIL = " until "  # begins when a state ends


class Standing(Record):
    """A member's state in a word, with its mark and tone."""

    mark: str  # one column
    text: str
    tone: Tone
    is_usual: bool = False  # next, eligible or with less headroom: mark and numbers tell it too


# In the order in which they are left out, the first first.
_OPTIONAL = ("calls", "errors", "resets", "projected", "limiting", "headroom", "used")
_WIDTHS = {"used": 5, "headroom": 10, "limiting": 10, "projected": 9, "resets": 9, "calls": 5, "errors": 6}
_HEADINGS = {
    "used": "used",
    "limiting": "limiting",
    "projected": "projected",
    "resets": "resets in",
    "calls": "calls",
    "errors": "errors",
}
_ORDER = ("used", "headroom", "limiting", "projected", "resets", "calls", "errors")
_NARROW = ("used", "headroom")  # before the words of what every pool has: who is next, and who has less


def member_key(model: str, index: int) -> str:
    """Return the key of a member's row."""
    return f"{model}\n{index}"


def parse_key(key: str) -> tuple[str, int]:
    """Return the (model, index) of a member's row."""
    model, _, index = key.rpartition("\n")
    return model, int(index)


def pool_rows(snapshot: Snapshot, width: int) -> tuple[Row, ...]:
    """Return a heading line, then for each model its line and one for each member.

    width: the columns that there are; what does not fit is left out by rank, the state never. Until when a state lasts
    stands in the member's details too, and so makes room for the numbers.
    """
    longest = max((cells(view.name) for view in snapshot.accounts), default=_NAME_LEAST)
    states = _state_width(snapshot)
    # Names that differ at their ends alone must not be cut: they come before the numbers, and before what stands
    # behind a state.
    least = _state_width(snapshot, is_brief=True, has_asides=False)
    name_width = min(_NAME_MOST, max(_NAME_LEAST, longest), max(_NAME_LEAST, width - 3 - least))
    columns = _columns(width - name_width - 3 - states)
    brief = _columns(width - name_width - 3 - _state_width(snapshot, is_brief=True))
    is_brief = len(columns) < len(brief) and "projected" not in columns
    columns = brief if is_brief else columns
    is_narrow = not set(_NARROW) <= set(columns)
    if is_narrow:
        columns, is_brief = _columns(width - name_width - 2, _NARROW), True
    heading = _format_heading(snapshot, name_width, columns, has_state=not is_narrow)
    rows = [Row(HEADING_KEY, heading, is_selectable=False)]
    for place, one in enumerate(snapshot.stand_ins):
        text = f"! {format_broken_file(one, snapshot.at, width - 2)}"
        rows.append(Row(f"broken\n{place}", ((text, "bad"),), is_selectable=False))
    for pool in snapshot.pools:
        rows.append(Row(pool.model.name, _within(_model_line(pool, width), width), is_selectable=False))
        rows += [
            Row(
                member_key(pool.model.name, verdict.candidate.index),
                _narrow_line(snapshot, pool, verdict, name_width, columns, width)
                if is_narrow
                else _within(_member_line(snapshot, pool, verdict, name_width, columns, is_brief=is_brief), width),
            )
            for verdict in pool.decision.verdicts
        ]
    return tuple(rows)


def choose_standing(pool: PoolView, verdict: Verdict, view: AccountView | None, now: datetime) -> Standing:
    """Return what is to be said of a member first."""
    decision = pool.decision
    is_next = verdict.candidate.index == decision.index
    if view is not None and view.account is None:
        return Standing("✗", "next, but not configured" if is_next else "not configured", "bad")
    if is_next:
        pinned = " (pinned)" if pool.pin is not None else ""
        if verdict.is_erring:
            return Standing("▶", f"next{pinned}, erring ({verdict.candidate.recent_errors})", "warn")
        return Standing("▶", f"next{pinned}", "good", is_usual=not pinned)
    if verdict.exclusion is not None:
        return _choose_exclusion_standing(verdict, now)
    if verdict.is_erring:
        return Standing("!", f"erring ({verdict.candidate.recent_errors})", "bad")
    if verdict.candidate.account == pool.pin:
        return Standing("·", "pinned", "accent")
    if verdict.score is None and view is not None and view.uses_key:
        return Standing("·", "API key, no quota", "dim")
    if verdict.score is None:
        return Standing("?", "unlearned" if verdict.live_windows else "quota unknown", "warn")
    if verdict.hides_window:
        return Standing("!", "hides a window", "warn")
    if pool.pin is not None:
        return Standing("-", "not pinned", "dim")
    if decision.in_band(verdict):
        return Standing("=", "eligible", "", is_usual=True)
    text = "lower headroom" if decision.method is Method.DENSITY else "waits"
    return Standing("-", text, "dim", is_usual=True)


def member_details(snapshot: Snapshot, pool: PoolView, index: int) -> tuple[Line, ...]:
    """Return the chosen member in full: state, windows with their numbers, wishes, how reading it goes."""
    verdict = next(one for one in pool.decision.verdicts if one.candidate.index == index)
    view = snapshot.account(verdict.candidate.account)
    found = choose_standing(pool, verdict, view, snapshot.at)
    lines: list[Line] = [
        ((verdict.candidate.account, "heading"), (f" in {pool.model.name}", "dim")),
        ((f"{found.mark} {found.text}", found.tone),),
    ]
    lines += [((text, "dim"),) for text in _reasons(pool.decision, verdict, is_pinned=pool.pin is not None)]
    if view is not None:
        lines += _failure_lines(view, snapshot.at)
    lines.append(())
    lines += _window_lines(verdict, snapshot.at)
    if view is not None:
        lines += _account_lines(view, snapshot.at)
    return tuple(lines)


def _reasons(decision: Decision, verdict: Verdict, *, is_pinned: bool) -> list[str]:
    if verdict.candidate.index == decision.index:
        return [decision.reason]
    if verdict.exclusion is not None:
        return [words.local(exclusion_text(verdict), decision.now)]
    if is_pinned:
        return ["another account is pinned"]
    text = why_not(decision, verdict)
    return [text] if text else []


def _window_lines(verdict: Verdict, now: datetime) -> Iterator[Line]:
    if not verdict.windows:
        yield (("no window is known", "warn"),)
    for one in verdict.windows:
        is_binding = verdict.binding is not None and one.window.position == verdict.binding.window.position
        mark = "*" if is_binding else " "
        yield (
            (f"{mark}{fit_text(one.window.name, 10)}", "strong" if is_binding else ""),
            (fit_text(words.percent(one.window.used), 7, right=True), words.use_tone(one.window.used)),
            (f"  {words.reset(one.window.resets_at, now)}", ""),
        )
        rate = "burn not learned" if one.rate is None else f"{words.percent(one.rate)} a turn ({one.rate_source.value})"
        projected = "unknown" if one.projected_used is None else words.percent(one.projected_used)
        room = "unknown" if one.score is None else f"{words.headroom(one.score)} {HEADROOM_UNIT}"
        yield ((f"   {rate}; projected {projected}; headroom {room}", "dim"),)


def _account_lines(view: AccountView, now: datetime) -> Iterator[Line]:
    yield ()
    yield ((words.read(view.quota.refreshed_at, now), "warn" if view.is_stale else "dim"),)
    if view.wishes.words:
        yield ((view.wishes.words, "accent"),)
    if view.running:
        yield ((f"in use by {len(view.running)}", "accent"),)


def _failure_lines(view: AccountView, now: datetime) -> Iterator[Line]:
    """Yield why the numbers below are older ones."""
    if view.attempts.last_failure is not None:
        yield ((view.attempts.last_failure, "bad"),)
    if view.attempts.backoff_until is not None and view.attempts.backoff_until > now:
        yield ((f"left alone for {words.until(view.attempts.backoff_until, now)}", "warn"),)


def _brief(state: str) -> str:
    return state.partition(_UNTIL)[0]


def _state_width(snapshot: Snapshot, *, is_brief: bool = False, has_asides: bool = True) -> int:
    """Return what the longest state takes, so that none is cut while there are numbers to leave out."""
    said = _brief if is_brief else str
    widths = [
        cells(said(choose_standing(pool, verdict, view, snapshot.at).text))
        + (cells(plain(_asides(view, verdict))) if has_asides else 0)
        for pool in snapshot.pools
        for verdict in pool.decision.verdicts
        for view in (snapshot.account(verdict.candidate.account),)
    ]
    return min(_STATE_MOST, max(widths, default=_STATE_LEAST))


def _columns(room: int, among: Sequence[str] = _ORDER) -> tuple[str, ...]:
    kept = list(among)
    for name in (one for one in _OPTIONAL if one in among):
        if sum(_WIDTHS[one] + 1 for one in kept) <= room:
            break
        kept.remove(name)
    return tuple(kept)


def _format_heading(snapshot: Snapshot, name_width: int, columns: Sequence[str], *, has_state: bool) -> Line:
    rule = snapshot.pools[0].decision.rule if snapshot.pools else TieRule.FEWEST_CALLS
    headings = {**_HEADINGS, "headroom": rank_heading(rule)}
    texts = [fit_text(headings[name], _WIDTHS[name], right=True) for name in columns]
    return ((" ".join([fit_text("  account", name_width + 2), *texts, *(("state",) if has_state else ())]), "dim"),)


def _model_line(pool: PoolView, width: int) -> Line:
    chosen: Span = (f" → {pool.next_account}", "good") if pool.next_account else (" → nobody", "bad")
    sticky: Span = (" sticky", "dim") if pool.model.sticky else ("", "")
    pin: Span = (f" pinned {pool.pin}", "accent") if pool.pin is not None else ("", "")
    line: Line = ((pool.model.name, "heading"), chosen, sticky, pin)
    if pool.next_account is None:  # nothing has decided then
        return line
    method: Span = (f"  {describe_method(pool.decision.method, pool.decision.reason)}", "dim")
    return (*line, method) if cells(plain((*line, method))) <= width else line


def _member_line(  # noqa: PLR0913, RUF100 - what a line is made of
    snapshot: Snapshot,
    pool: PoolView,
    verdict: Verdict,
    name_width: int,
    columns: Sequence[str],
    *,
    is_brief: bool,
    has_asides: bool = True,
) -> Line:
    view = snapshot.account(verdict.candidate.account)
    found = choose_standing(pool, verdict, view, snapshot.at)
    dim: Tone = "dim" if verdict.exclusion is not None or (view is not None and view.is_stale) else ""
    values = _values(verdict)
    cells_of: list[Span] = [(f"{found.mark} ", found.tone), (fit_text(verdict.candidate.account, name_width), dim)]
    for name in columns:
        text, tone = values[name]
        cells_of.append((" " + fit_text(text, _WIDTHS[name], right=True), tone or dim))
    state = _brief(found.text)
    cells_of.append((f" {state}", found.tone))
    if not is_brief:
        cells_of.append((found.text.removeprefix(state), found.tone))
    if has_asides:
        cells_of += _asides(view, verdict)
    return tuple(cells_of)


def _narrow_line(  # noqa: PLR0913, RUF100 - as `_member_line`
    snapshot: Snapshot, pool: PoolView, verdict: Verdict, name_width: int, columns: Sequence[str], width: int
) -> Line:
    """Return a line on which an unusual state takes the place of the numbers that it leaves no room for."""
    view = snapshot.account(verdict.candidate.account)
    is_usual = choose_standing(pool, verdict, view, snapshot.at).is_usual
    for kept in range(len(columns), -1, -1):
        *cells_of, state, until = _member_line(
            snapshot, pool, verdict, name_width, columns[:kept], is_brief=False, has_asides=False
        )
        if is_usual:
            return _within(tuple(cells_of), width)
        if kept == 0 or cells(plain((*cells_of, state))) <= width:
            return _within((*cells_of, state, until), width)
    return ()


def _within(line: Line, width: int) -> Line:
    """Return a line without what does not fit behind the state; a name or a state too long ends in an ellipsis."""
    kept: list[Span] = []
    left = width
    for text, tone in line:
        taken = cells(text)
        if taken > left and not text.startswith((_ASIDE, _UNTIL)):
            text = cut(text, left)
            taken = cells(text)
        if 0 < taken <= left:
            kept.append((text, tone))
            left -= taken
    return tuple(kept)


def _values(verdict: Verdict) -> dict[str, tuple[str, Tone]]:
    shown = verdict.binding or next((one for one in verdict.windows if one.is_live), None)
    projected = None if shown is None else shown.projected_used
    errors = verdict.candidate.recent_errors
    return {
        "headroom": (rank_text(verdict), ""),
        # The window whose numbers stand here is the limiting one only once the burn of all is known.
        "limiting": ("?" if shown is None else f"{'? ' if verdict.binding is None else ''}{shown.window.name}", ""),
        "used": ("?", "") if shown is None else (words.percent(shown.window.used), words.use_tone(shown.window.used)),
        "projected": (words.percent(projected), words.use_tone(projected)),
        "resets": ("?" if shown is None else words.hours(shown.hours_to_reset), ""),
        "calls": (str(verdict.candidate.invocation_count), ""),
        "errors": (str(errors), "warn" if errors else ""),
    }


def _asides(view: AccountView | None, verdict: Verdict) -> Iterator[Span]:
    if view is None:
        return
    if view.running:
        yield (_use(view), "accent")
    if view.wishes.reserve and verdict.exclusion is not ExclusionKind.RESERVED:
        yield (f"{_ASIDE}keeps {words.percent(view.wishes.reserve)}", "accent")
    if view.quota.refreshed_at is None:  # the state says already that nothing is known
        return
    if view.attempts.last_failure is not None and not view.wishes.disabled:
        yield (f"{_ASIDE}read failed", "warn")
    if view.is_stale:
        yield (f"{_ASIDE}old", "warn")


def _use(view: AccountView | None) -> str:
    return f"{_ASIDE}in use by {len(view.running)}" if view is not None and view.running else ""


def _choose_exclusion_standing(verdict: Verdict, now: datetime) -> Standing:
    match verdict.exclusion:
        case ExclusionKind.UNKNOWN:
            return Standing("✗", "not configured", "bad")
        case ExclusionKind.DISABLED:
            return Standing("✗", "disabled", "dim")
        case ExclusionKind.DRAINED:
            return Standing("↓", "drained", "warn")
        case ExclusionKind.RESERVED:
            return Standing("✗", f"reserve reached{_until(verdict, now)}", "warn")
        case ExclusionKind.MARKED:
            return Standing("✗", "exhausted until read again", "bad")  # no window's reset ends it
        case ExclusionKind.SPENT:
            return Standing("✗", f"exhausted{_until(verdict, now)}", "bad")
        case _:
            return Standing("✗", "out", "bad")


def _until(verdict: Verdict, now: datetime) -> str:
    """Say when what keeps an account out will be over: at the reset of the window at fault."""
    culprit = verdict.excluding_window
    return "" if culprit is None else f"{_UNTIL}{words.clock(culprit.window.resets_at, now)}"
