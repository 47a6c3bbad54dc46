"""The Quota pane's rows and words: accounts' windows with bar, use, pace, reset and age; a window's record. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from oulipoly_engine.core.balance.balance import SPENT_AT
from oulipoly_engine.core.quota.forecast import State
from oulipoly_engine.core.quota.windows import length_h
from oulipoly_engine.records import Record
from oulipoly_tui.view import words
from oulipoly_tui.view.quota.burn_chart import Ahead, Burn, legend_of
from oulipoly_tui.view.transcript.spans import Line, Row, Span, Tone, cells, cut, fit_text, plain

if TYPE_CHECKING:
    from oulipoly_engine.core.quota.forecast import Forecast
    from oulipoly_engine.core.quota.window_cycles import EndedCycle
    from oulipoly_engine.core.quota.windows import Window
    from oulipoly_engine.facade.quota.quota import BurnHistory
    from oulipoly_engine.facade.snapshot import AccountView, Snapshot

_NAME_LEAST, _NAME_MOST = 9, 24
_BAR_LEAST, _BAR_MOST = 7, 24
_WINDOW_MOST, _USED, _PACE = 16, 5, 11
_INDENT = 2  # of a window beneath its account
_FULL, _EMPTY, _EVEN, _UNKNOWN = "█", "░", "┃", "·"
_UNSURE = 0.10  # mean error of a window's forecasts, 0..1 of it, above which a minute would say more than is known
_IDLE_FROM = timedelta(minutes=15)  # without a change of use, before it is said
_PACE_SLACK = 0.05  # within 5 points of the even pace is on it


class Range(Record):
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


class Columns(Record):
    """What fits beside the use; 0: a column that is left out."""

    name: int
    window: int
    bar: int
    pace: int
    resets: int
    age: int


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
    if columns is None:
        return tuple(_grouped_rows(snapshot, width))
    rows = [Row("heading", _format_heading(columns), is_selectable=False)]
    for view in snapshot.accounts:
        if not view.quota.windows:
            rows.append(_unknown_row(snapshot, view, columns.name, width))
        for place, window in enumerate(view.quota.windows):
            line = _window_line(snapshot, view, window, columns, is_first=place == 0)
            rows.append(Row(window_key(view.name, window.name), line))
    return tuple(rows)


def _grouped_rows(snapshot: Snapshot, width: int) -> Iterator[Row]:
    """Yield a row for each account with its age, and beneath one for each window: nothing of them has to be cut.

    What is to be said of a window stands behind it, or where there is no room beneath it.
    """
    now = snapshot.at
    windows = [one for view in snapshot.accounts for one in view.quota.windows]
    window_width = min(_WINDOW_MOST, max([6, *(cells(one.name) for one in windows)]))
    resets_width = max([8, *(cells(_format_reset(one, now)) for one in windows)])
    room = width - _INDENT - window_width - 1 - _USED - 1
    if room - resets_width - 1 < _BAR_LEAST:
        resets_width = 0  # the bar tells more
    bar_width = max(1, min(_BAR_MOST, room - (resets_width + 1 if resets_width else 0)))
    for view in snapshot.accounts:
        if not view.quota.windows:
            yield _unknown_row(snapshot, view, _NAME_LEAST, width)
            continue
        read: Span = (words.read(view.quota.refreshed_at, now), "warn" if view.is_stale else "dim")
        of_account = _account_marks(view)
        room = width - cells(read[0]) - cells(plain(of_account)) - 2
        name: Span = (cut(view.name, max(_NAME_LEAST, room)), "heading")
        yield Row(f"account\n{view.name}", (name, ("  ", ""), read, *of_account), is_selectable=False)
        for window in view.quota.windows:
            columns = Columns(0, window_width, bar_width, 0, resets_width, 0)
            line = (
                (" " * _INDENT, ""),
                *_window_line(snapshot, view, window, columns, is_first=False, has_marks=False),
            )
            marks = _window_marks(snapshot, view, window)
            fits = cells(plain((*line, *marks))) <= width
            yield Row(window_key(view.name, window.name), (*line, *marks) if fits else line)
            if marks and not fits:
                indent = min(_INDENT + window_width + 1, max(0, width - cells(plain(marks))))
                below: Line = ((" " * indent, ""), *marks)
                yield Row(f"mark\n{view.name}\n{window.name}", below, is_selectable=False)


def chart_title(burn: Burn, account: str, window: str, range_name: str, width: int) -> Line:
    """Return what stands over the chart: what is drawn, and as much of the legend as fits."""
    head = f"{account} {window} · {range_name}"
    for name, is_short in ((head, False), (head, True), (f"{window} · {range_name}", True)):
        legend = [span for one in legend_of(burn, is_short=is_short) for span in (*one, ("  ", ""))][:-1]
        line: Line = ((f"{name} · ", ""), *legend)
        if cells(plain(line)) <= width:
            return line
    return ((cut(head, width), ""),)


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


def chart_of(found: BurnHistory) -> Burn:
    """Return what the chart draws of a window's history."""
    ahead = _ahead(found)
    return Burn(
        since=found.since,
        until=found.until,
        now=found.at,
        cycles=tuple(tuple((point.at, point.used) for point in cycle.points) for cycle in found.cycles),
        even=tuple((cycle.begin, cycle.resets_at) for cycle in found.cycles) if found.has_even_pace else (),
        resets=tuple(cycle.resets_at for cycle in found.cycles),
        unused=tuple((cycle.resets_at, one.unused, one.is_exact) for cycle in found.cycles if (one := cycle.ended)),
        ahead=ahead,
    )


def record(found: BurnHistory, width: int = 1000, *, has_alert: bool = False) -> tuple[Line, ...]:
    """Return a window's record in words: what is expected, how far off that was before, what was left unused.

    width: what each line should keep to, where fewer words say it too. has_alert: one is raised for this window.
    """
    heading: Span = (f"{found.account} {found.window}", "heading")
    head = (heading, *_now_words(found, is_short=False))
    if cells(plain(head)) > width:
        head = (heading, *_now_words(found, is_short=True))
    return (
        head,
        *_expectation(found, width, has_alert=has_alert),
        _honesty(found, width),
        _format_unused_line(found, width),
    )


def _now_words(found: BurnHistory, *, is_short: bool) -> tuple[Span, ...]:
    last = found.cycles[-1].points[-1] if found.cycles else None
    if last is None:
        return (("  no reading in this range", "warn"),)
    read = "" if is_short else f" read {words.age(last.at, found.at)}"
    text = f"  {words.percent(last.used)}{read}"
    if last.resets_at > found.at:
        return ((text, words.use_tone(last.used)), (f", resets in {words.until(last.resets_at, found.at)}", ""))
    return ((text, "dim"), (", reset since: not read again yet", "warn"))


def _expectation(found: BurnHistory, width: int, *, has_alert: bool) -> Iterator[Line]:
    expected = found.forecast
    if expected is None or expected.state in (State.NOT_ENOUGH_DATA, State.PAST_RESET):
        yield (("forecast  not enough data", "dim"),)
        return
    if expected.state is State.SPENT:
        yield (("forecast  exhausted until its reset", "bad"),)
        return
    pace = "" if expected.pace is None else f" at {words.percent(expected.pace)} an hour"
    if expected.state is State.RUNS_DRY and expected.at is not None:
        texts = _range_texts(found, expected) if _is_unsure(found) else _minute_texts(found, expected)
        idle = _idle_words(found)
        longest = (f"{texts[0]}{pace}{idle}", f"{texts[0]}{idle}", f"{texts[0]}{pace}")
        yield ((_shortest(width, *longest, *texts), "bad" if has_alert else "warn"),)
        return
    low, high = words.percent(expected.used_at_reset_low), words.percent(expected.used_at_reset_high)
    head = f"forecast  {words.percent(expected.used_at_reset)} at the reset"
    yield ((_shortest(width, f"{head} ({low} to {high}){pace}", f"{head} ({low} to {high})", head), ""),)


def _is_unsure(found: BurnHistory) -> bool:
    """Tell whether forecasts of this window were so far off that a minute would say more than is known."""
    return found.score is None or found.score.mean_error > _UNSURE


def _minute_texts(found: BurnHistory, expected: Forecast) -> tuple[str, ...]:
    head = f"forecast  runs out about {words.clock(expected.at or found.at, found.at)}"
    if expected.earliest is None:
        return (head,)
    first = words.clock(expected.earliest, found.at)
    return (f"{head}, at the earliest {first}", f"{head}, earliest {first}", head)


def _range_texts(found: BurnHistory, expected: Forecast) -> tuple[str, ...]:
    """Say between which hours a window runs out."""
    first = _hour(expected.earliest or expected.at or found.at, found.at)
    if expected.latest is None:
        return (f"forecast  runs out after {first}, or lasts to the reset", f"forecast  after {first}, or lasts")
    last = _hour(expected.latest + timedelta(hours=1), found.at)
    return (f"forecast  runs out between {first} and {last}", f"forecast  {first} to {last}")


def _hour(instant: datetime, now: datetime) -> str:
    return f"{words.clock(instant, now).rpartition(':')[0]} h"


def _idle_words(found: BurnHistory) -> str:
    """Say since when nothing was used, so that an expectation which moves on with the clock is no surprise."""
    points = found.cycles[-1].points if found.cycles else ()
    same = [point for point in points if point.used == points[-1].used]
    if not same or found.at - same[0].at < _IDLE_FROM:
        return ""
    return f", nothing used since {words.clock(same[0].at, found.at)}"


def _honesty(found: BurnHistory, width: int) -> Line:
    if found.score is None:
        return (("accuracy  too few cycles to say how far off such forecasts are", "dim"),)
    error, covered = 100 * found.score.mean_error, found.score.covered
    head = f"accuracy  mean error {error:.1f} points"
    full = f"{head} over {found.score.cycles} cycles, band held {words.percent(covered)}"
    return ((_shortest(width, full, f"{head}, {found.score.cycles} cycles", head), "dim"),)


def _format_unused_line(found: BurnHistory, width: int) -> Line:
    left = [cycle.ended for cycle in found.cycles if cycle.ended is not None]
    if not left:
        return (("unused    no reset in this range", "dim"),)
    shown = [f"{format_unused(one)} at {words.clock(one.resets_at, found.at)}" for one in left[-3:]]
    texts = [f"unused    {', '.join(shown[place:])}" for place in range(len(shown))]
    return ((_shortest(width, *texts), "dim"),)


def format_unused(ended: EndedCycle) -> str:
    """Say what a reset threw away: at most so much, where the last reading lies too far before it."""
    return f"{'' if ended.is_exact else 'at most '}{words.percent(ended.unused)}"


def _shortest(width: int, *texts: str) -> str:
    """Return the first text that fits, the longest first; the last one where none does."""
    return next((text for text in texts if cells(text) <= width), texts[-1])


def _ahead(found: BurnHistory) -> Ahead | None:
    expected = found.forecast
    if expected is None or expected.used is None or expected.used_at_reset is None or expected.resets_at is None:
        return None
    if expected.resets_at <= found.at or expected.state is State.SPENT:
        return None
    low = expected.used_at_reset if expected.used_at_reset_low is None else expected.used_at_reset_low
    high = expected.used_at_reset if expected.used_at_reset_high is None else expected.used_at_reset_high
    is_dry = expected.state is State.RUNS_DRY
    return Ahead((found.at, expected.used), expected.resets_at, expected.used_at_reset, low, high, is_dry)


def _columns(snapshot: Snapshot, width: int) -> Columns | None:
    """Share the width out; None where a row cannot hold name, bar, use, reset, age and what is to be said of it."""
    now = snapshot.at
    rows = [(view, window) for view in snapshot.accounts for window in view.quota.windows]
    name = min(_NAME_MOST, max([_NAME_LEAST, *(cells(view.name) for view in snapshot.accounts)]))
    window = min(_WINDOW_MOST, max([len("window"), *(cells(one.name) for _, one in rows)]))
    resets = max([len("resets in"), *(len(_format_reset(one, now)) for _, one in rows)])
    age = max([len("read"), *(len(words.age(view.quota.refreshed_at, now)) for view, _ in rows)])
    told = ((*_account_marks(view), *_window_marks(snapshot, view, one)) for view, one in rows)
    marks = max((cells(plain(one)) for one in told), default=0)
    room = width - (name + 1 + window + 1 + _BAR_LEAST + 1 + _USED + 1 + resets + 1 + age + marks)
    if room < 0:
        return None
    pace = _PACE if room > _PACE else 0
    room -= pace + 1 if pace else 0
    return Columns(name, window, min(_BAR_MOST, _BAR_LEAST + room), pace, resets, age)


def _format_heading(columns: Columns) -> Line:
    texts = [fit_text("account", columns.name), fit_text("window", columns.window)]
    if columns.bar:
        texts.append(fit_text("", columns.bar))
    texts.append(fit_text("used", _USED, right=True))
    if columns.pace:
        texts.append(fit_text("pace", columns.pace))
    if columns.resets:
        texts.append(fit_text("resets in", columns.resets))
    if columns.age:
        texts.append(fit_text("read", columns.age))
    return ((" ".join(texts), "dim"),)


def _window_line(  # noqa: PLR0913, RUF100 - what a line is made of
    snapshot: Snapshot,
    view: AccountView,
    window: Window,
    columns: Columns,
    *,
    is_first: bool,
    has_marks: bool = True,
) -> Line:
    now = snapshot.at
    is_over = window.resets_at <= now
    tone: Tone = "dim" if view.is_stale or is_over or view.wishes.disabled else ""
    used = None if is_over else window.used
    name = fit_text(view.name, columns.name) if is_first else " " * columns.name
    spans: list[Span] = [(name, tone or "strong")] if columns.name else []
    spans.append((" " * bool(columns.name) + fit_text(window.name, columns.window), tone))
    if columns.bar:
        spans.append((" " + bar(used, columns.bar, even_pace(window, now)), tone or words.use_tone(used, "dim")))
    spans.append((" " + fit_text(words.percent(used), _USED, right=True), tone or words.use_tone(used, "dim")))
    if columns.pace:
        spans.append(_pace(window, now, tone, is_over=is_over))
    if columns.resets:
        spans.append((" " + fit_text(_format_reset(window, now), columns.resets), tone))
    if columns.age:
        read = fit_text(words.age(view.quota.refreshed_at, now), columns.age)
        spans.append((" " + read, "warn" if view.is_stale else "dim"))
    if not has_marks:
        return tuple(spans)
    return (*spans, *_account_marks(view), *_window_marks(snapshot, view, window))


def _format_reset(window: Window, now: datetime) -> str:
    """Return what stands under `resets in`."""
    return "has reset" if window.resets_at <= now else words.until(window.resets_at, now)


def _pace(window: Window, now: datetime, tone: Tone, *, is_over: bool) -> Span:
    if is_over:
        return (" " + fit_text("?", _PACE), "dim")
    text, own = pace_word(window, now)
    return (" " + fit_text(text, _PACE), tone or own)


def _unknown_row(snapshot: Snapshot, view: AccountView, name_width: int, width: int) -> Row:
    said = "no windows reported" if view.quota.refreshed_at is not None else "never read"
    if snapshot.store_failure is not None:
        said = "state file unreadable"
    elif view.account is None:
        said = "not in providers.toml"
    elif view.uses_key:
        said = "no quota known for API keys"
    elif not view.has_source:
        said = "no quota script"
    elif view.attempts.last_failure is not None:
        said = "could not be read"
    name = cut(view.name, max(_NAME_LEAST, width - len(" ? no windows reported")))
    room = width - cells(name)
    text = f" ? unknown: {said}" if len(f" ? unknown: {said}") <= room else f" ? {said}"
    shown = fit_text(name, max(cells(name), min(name_width, room - cells(text))))
    line: Line = ((shown, "strong"), (cut(text, room), "warn"))
    return Row(window_key(view.name, ""), line)


def _account_marks(view: AccountView) -> Line:
    """Return what is to be said of an account, whatever its windows."""
    found: list[tuple[str, str, Tone]] = []
    if view.is_exhausted:
        found.append(("✗", "exhausted", "bad"))
    if view.is_stale:
        found.append(("~", "old", "warn"))
    if view.attempts.last_failure is not None and not view.wishes.disabled:
        found.append(("!", "last try failed", "warn"))
    if view.wishes.words:
        found.append(("·", view.wishes.words, "accent"))
    return tuple((f" {mark} {text}", tone) for mark, text, tone in found)


def _window_marks(snapshot: Snapshot, view: AccountView, window: Window) -> Line:
    """Return what is to be said of a window: that it is exhausted, almost, or the alert that is raised for it."""
    if view.is_exhausted or window.resets_at <= snapshot.at:
        return ()
    if window.used >= SPENT_AT:
        return ((" ✗ exhausted", "bad"),)
    if window.used >= words.NEARLY_SPENT:
        return ((" ! almost exhausted", "bad"),)
    due = (
        alert.due for alert in snapshot.alerts_of("window") if alert.subject == view.name and alert.cause == window.name
    )
    runs_out = next((at for at in due if at is not None), None)
    return () if runs_out is None else ((f" ! runs out {words.clock(runs_out, snapshot.at)}", "warn"),)
