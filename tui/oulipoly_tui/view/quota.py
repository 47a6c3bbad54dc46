"""The Quota pane's rows and words: accounts' windows with bar, use, pace, reset and age; a window's record. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from oulipoly_engine.core.forecast import State
from oulipoly_engine.core.headroom import length_h
from oulipoly_tui.view import words
from oulipoly_tui.view.burn_chart import Ahead, Burn
from oulipoly_tui.view.spans import Line, Row, Span, Tone, cells, fitted

if TYPE_CHECKING:
    from oulipoly_engine.core.windows import Window
    from oulipoly_engine.engine import AccountView, Snapshot
    from oulipoly_engine.service.burning import Burning
    from oulipoly_engine.service.forecasting import WindowForecast

_NAME_LEAST, _NAME_MOST = 9, 24
_BAR_LEAST, _BAR_MOST = 8, 24
_WINDOW, _USED, _PACE, _RESETS, _AGE = 9, 5, 11, 10, 11
_FULL, _EMPTY, _EVEN, _UNKNOWN = "█", "░", "┃", "·"
_PACE_SLACK = 0.05  # within 5 points of the even pace is on it
_WARN, _BAD = 0.7, 0.9


class Range(NamedTuple):
    """How much of the past a chart shows, and how much of what is to come."""

    name: str
    back: timedelta
    ahead: timedelta


RANGES = (
    Range("1 h", timedelta(hours=1), timedelta(minutes=20)),
    Range("5 h", timedelta(hours=5), timedelta(hours=2)),
    Range("1 d", timedelta(days=1), timedelta(hours=6)),
    Range("7 d", timedelta(days=7), timedelta(days=2)),
    Range("30 d", timedelta(days=30), timedelta(days=4)),
)


class Columns(NamedTuple):
    """What fits beside the name and the window."""

    name: int
    bar: int  # 0: none
    has_pace: bool
    has_age: bool


def window_key(account: str, window: str) -> str:
    """Return the key of a window's row; an empty window is an account without any."""
    return f"{account}\n{window}"


def parse_key(key: str) -> tuple[str, str]:
    """Return the (account, window) of a row."""
    account, _, window = key.partition("\n")
    return account, window


def quota_rows(snapshot: Snapshot, width: int) -> tuple[Row, ...]:
    """Return a heading and a row for each account and window; what does not fit is left out, the use never."""
    columns = _columns(snapshot, width)
    rows = [Row("heading", _heading(columns), is_selectable=False)]
    for view in snapshot.accounts:
        if not view.quota.windows:
            rows.append(Row(window_key(view.name, ""), _unknown_line(view, columns, snapshot.at)))
        for place, window in enumerate(view.quota.windows):
            expected = next((one for one in view.forecasts if one.window.name == window.name), None)
            line = _window_line(view, window, expected, columns, snapshot.at, is_first=place == 0)
            rows.append(Row(window_key(view.name, window.name), line))
    return tuple(rows)


def bar(used: float | None, width: int, even: float | None = None) -> str:
    """Return a bar of so many columns, with a mark where an even pace would stand; unknown is dotted, never empty."""
    if used is None:
        return _UNKNOWN * width
    filled = round(min(1.0, max(0.0, used)) * width)
    text = _FULL * filled + _EMPTY * (width - filled)
    if even is None:
        return text
    place = min(width - 1, int(even * width))
    return text[:place] + _EVEN + text[place + 1 :]


def even_pace(window: Window, now: datetime) -> float | None:
    """Return the use that an even pace would have reached, 0..1; None for a window whose length is not known."""
    if window.resets_at <= now or window.label is None:
        return None
    left = (window.resets_at - now).total_seconds() / 3600
    return min(1.0, max(0.0, 1 - left / length_h(window.label, left)))


def pace_word(window: Window, now: datetime) -> tuple[str, Tone]:
    """Return how a window stands against an even pace: `+12 ahead`, `-30 behind`, `on pace`."""
    even = even_pace(window, now)
    if even is None:
        return "?", "dim"
    points = window.used - even
    if abs(points) <= _PACE_SLACK:
        return "on pace", "good"
    return (f"+{100 * points:.0f} ahead", "warn") if points > 0 else (f"{100 * points:.0f} behind", "good")


def chart_of(found: Burning) -> Burn:
    """Return what the chart draws of a window's history."""
    ahead = _ahead(found)
    return Burn(
        since=found.since,
        until=found.until,
        now=found.at,
        cycles=tuple(tuple((point.at, point.used) for point in cycle.points) for cycle in found.cycles),
        even=tuple((cycle.begin, cycle.resets_at) for cycle in found.cycles) if found.has_even_pace else (),
        resets=tuple(cycle.resets_at for cycle in found.cycles),
        unused=tuple((cycle.resets_at, cycle.unused) for cycle in found.cycles if cycle.unused is not None),
        ahead=ahead,
    )


def record(found: Burning) -> tuple[Line, ...]:
    """Return a window's record in words: what is expected, how far off that was before, what was left unused."""
    head: Line = ((f"{found.account} {found.window}", "heading"), *_now_words(found))
    return (head, *_expectation(found), _honesty(found), _left(found))


def _now_words(found: Burning) -> tuple[Span, ...]:
    last = found.cycles[-1].points[-1] if found.cycles else None
    if last is None:
        return (("  no reading in this range", "warn"),)
    text = f"  {words.percent(last.used)} read {words.age(last.at, found.at)}"
    if last.resets_at > found.at:
        return ((text, _use_tone(last.used)), (f", resets in {words.until(last.resets_at, found.at)}", ""))
    return ((text, "dim"), (", reset since: not read again yet", "warn"))


def _expectation(found: Burning) -> Iterator[Line]:
    expected = found.forecast
    if expected is None or expected.state in (State.NOT_ENOUGH_DATA, State.PAST_RESET):
        yield (("forecast  not enough data", "dim"),)
        return
    if expected.state is State.SPENT:
        yield (("forecast  spent until its reset", "bad"),)
        return
    pace = "" if expected.pace is None else f" at {100 * expected.pace:.1f} % an hour"
    if expected.state is State.RUNS_DRY and expected.at is not None:
        first = "" if expected.earliest is None else f", at the earliest {words.clock(expected.earliest, found.at)}"
        yield ((f"forecast  dry about {words.clock(expected.at, found.at)}{first}{pace}", "bad"),)
        return
    low, high = words.percent(expected.used_at_reset_low), words.percent(expected.used_at_reset_high)
    yield ((f"forecast  {words.percent(expected.used_at_reset)} at the reset ({low} to {high}){pace}", ""),)


def _honesty(found: Burning) -> Line:
    if found.score is None:
        return (("record    too few cycles to say how far off such forecasts are", "dim"),)
    error, covered = 100 * found.score.mean_error, found.score.covered
    text = f"record    mean error {error:.1f} points over {found.score.cycles} cycles, band held {covered:.0%}"
    return ((text, "dim"),)


def _left(found: Burning) -> Line:
    left = [(cycle.resets_at, cycle.unused) for cycle in found.cycles if cycle.unused is not None]
    if not left:
        return (("unused    no reset in this range", "dim"),)
    shown = ", ".join(f"{words.percent(unused)} at {words.clock(at, found.at)}" for at, unused in left[-3:])
    return ((f"unused    {shown}", "dim"),)


def _ahead(found: Burning) -> Ahead | None:
    expected = found.forecast
    if expected is None or expected.used is None or expected.used_at_reset is None or expected.resets_at is None:
        return None
    if expected.resets_at <= found.at or expected.state is State.SPENT:
        return None
    low = expected.used_at_reset if expected.used_at_reset_low is None else expected.used_at_reset_low
    high = expected.used_at_reset if expected.used_at_reset_high is None else expected.used_at_reset_high
    is_dry = expected.state is State.RUNS_DRY
    return Ahead((found.at, expected.used), expected.resets_at, expected.used_at_reset, low, high, is_dry)


def _columns(snapshot: Snapshot, width: int) -> Columns:
    longest = max((cells(view.name) for view in snapshot.accounts), default=_NAME_LEAST)
    name = min(_NAME_MOST, max(_NAME_LEAST, longest), max(_NAME_LEAST, width // 4))
    room = width - 2 - name - 1 - _WINDOW - 1 - _USED - 1 - _RESETS
    has_age = room >= _AGE + 1
    room -= _AGE + 1 if has_age else 0
    has_pace = room >= _PACE + 1 + _BAR_LEAST + 1
    room -= _PACE + 1 if has_pace else 0
    bar_width = min(_BAR_MOST, room - 1)
    return Columns(name, bar_width if bar_width >= _BAR_LEAST else 0, has_pace, has_age)


def _heading(columns: Columns) -> Line:
    texts = [fitted("account", columns.name), fitted("window", _WINDOW)]
    if columns.bar:
        texts.append(fitted("", columns.bar))
    texts.append(fitted("used", _USED, right=True))
    if columns.has_pace:
        texts.append(fitted("pace", _PACE))
    texts.append(fitted("resets in", _RESETS))
    if columns.has_age:
        texts.append(fitted("read", _AGE))
    return ((" ".join(texts), "dim"),)


def _window_line(
    view: AccountView,
    window: Window,
    expected: WindowForecast | None,
    columns: Columns,
    now: datetime,
    *,
    is_first: bool,
) -> Line:
    is_over = window.resets_at <= now
    tone: Tone = "dim" if view.is_stale or is_over or view.wishes.disabled else ""
    used = None if is_over else window.used
    name = fitted(view.name, columns.name) if is_first else " " * columns.name
    spans: list[Span] = [(name, tone or "strong"), (" " + fitted(window.name, _WINDOW), tone)]
    if columns.bar:
        spans.append((" " + bar(used, columns.bar, even_pace(window, now)), tone or _use_tone(used)))
    spans.append((" " + fitted(words.percent(used), _USED, right=True), tone or _use_tone(used)))
    if columns.has_pace:
        spans.append(_pace(window, now, tone, is_over=is_over))
    spans.append((" " + fitted("past" if is_over else words.until(window.resets_at, now), _RESETS), tone))
    if columns.has_age:
        spans.append((" " + fitted(words.age(view.quota.refreshed_at, now), _AGE), "warn" if view.is_stale else "dim"))
    return (*spans, *_marks(view, window, expected, now))


def _pace(window: Window, now: datetime, tone: Tone, *, is_over: bool) -> Span:
    if is_over:
        return (" " + fitted("?", _PACE), "dim")
    text, own = pace_word(window, now)
    return (" " + fitted(text, _PACE), tone or own)


def _unknown_line(view: AccountView, columns: Columns, now: datetime) -> Line:
    said = "no windows reported" if view.quota.refreshed_at is not None else "never read"
    if not view.has_source:
        said = "no quota script"
    elif view.attempts.last_failure is not None:
        said = "could not be read"
    spans: list[Span] = [(fitted(view.name, columns.name), "strong"), (" " + fitted("-", _WINDOW), "dim")]
    if columns.bar:
        spans.append((" " + bar(None, columns.bar), "dim"))
    spans.append((" " + fitted("?", _USED, right=True), "dim"))
    return (*spans, (f" unknown: {said}", "warn"))


def _marks(view: AccountView, window: Window, expected: WindowForecast | None, now: datetime) -> Iterator[Span]:
    if view.is_exhausted:
        yield (" ✗ exhausted", "bad")
    elif window.resets_at > now and window.used >= _BAD:
        yield (" ! nearly spent", "bad")
    elif expected is not None and expected.forecast.state is State.RUNS_DRY and expected.forecast.at is not None:
        yield (f" ! dry {words.clock(expected.forecast.at, now)}", "warn")
    if view.wishes.words:
        yield (f" · {view.wishes.words}", "accent")


def _use_tone(used: float | None) -> Tone:
    if used is None:
        return "dim"
    return "bad" if used >= _BAD else "warn" if used >= _WARN else ""
