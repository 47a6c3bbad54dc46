"""The row that tells of work under way, and those of the commands that were run for it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from oulipoly_engine.records import Record
from oulipoly_tui.view.transcript.spans import Line, Row, Span, cells, cut, fit_text
from oulipoly_tui.view.words import duration

if TYPE_CHECKING:
    from oulipoly_engine.facade.terminals.command_log import RanCommand

_OUTCOME_WIDTH, _TOOK_WIDTH = 18, 9
_ROUGH_FROM_S = 10.0


class Job(Record):
    """Work as its user sees it."""

    title: str
    passed: timedelta  # since it began
    can_stop: bool
    is_stopping: bool


def jobs_line(jobs: Sequence[Job], width: int, key: str) -> Line:
    """Return the row: each piece of work with its time, and the key that stops what can be stopped.

    What does not fit is counted. The sign before it never moves: it has to be drawn anew once a second as it is.
    """
    hint = f" {key} stops" if any(one.can_stop and not one.is_stopping for one in jobs) and key else ""
    left = max(0, width - cells(hint))
    spans: list[Span] = []
    for number, one in enumerate(jobs):
        text = _format_job(one)
        others = len(jobs) - number - 1
        room = left - (cells(f" +{others} more") if others else 0)
        if spans and cells(text) > room:
            spans.append((f" +{others + 1} more", "dim"))
            left -= cells(spans[-1][0])
            break
        text = cut(text, max(0, room))
        spans.append((text, "warn" if one.is_stopping else ""))
        left -= cells(text)
    if hint and left >= 0:
        spans += ((" " * left, ""), (hint[: -len(" stops")], "key"), (" stops", ""))
    return tuple(spans)


def format_command_rows(commands: Sequence[RanCommand], width: int) -> tuple[Row, ...]:
    """Return a row for each command: when it began, how long it took, how it ended, what it was."""
    if not commands:
        return (Row("none", (("nothing was run that fits", "dim"),), is_selectable=False),)
    return tuple(Row(str(one.number), _format_row(one, width)) for one in commands)


def format_command(one: RanCommand) -> tuple[Line, ...]:
    """Return all about a command."""
    how = one.outcome or "runs"
    took = "" if one.took_s is None else f" after {format_took(one.took_s)}"
    told = f"{one.at.astimezone():%Y-%m-%d %H:%M:%S} · {one.action or 'from the app itself'} · {how}{took}"
    return ((("in " + one.folder, "dim"),), ((told, "dim"),), ((one.command, "strong"),))


def _format_row(one: RanCommand, width: int) -> Line:
    is_bad = one.took_s is not None and "ended with 0" not in one.outcome
    head = f"{one.at.astimezone():%H:%M:%S} "
    how = fit_text(one.outcome or "runs", _OUTCOME_WIDTH) + " "
    took = fit_text("" if one.took_s is None else format_took(one.took_s), _TOOK_WIDTH, right=True) + " "
    room = max(10, width - cells(head) - _TOOK_WIDTH - _OUTCOME_WIDTH - 2)
    return ((head, "dim"), (took, "dim"), (how, "bad" if is_bad else "dim"), (cut(one.command, room), ""))


def format_took(took_s: float) -> str:
    """Return how long a command took."""
    return f"{took_s:.1f} s" if took_s < _ROUGH_FROM_S else duration(timedelta(seconds=took_s))


def _format_job(one: Job) -> str:
    doing = f"stopping: {one.title}" if one.is_stopping else one.title
    return f" … {doing} {duration(one.passed)} "
