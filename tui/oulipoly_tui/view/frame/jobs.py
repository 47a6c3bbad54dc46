"""The row that tells of work under way. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from oulipoly_engine.records import Record
from oulipoly_tui.view.frame.words import duration
from oulipoly_tui.view.transcript.spans import Line, Span, cells, cut


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


def _format_job(one: Job) -> str:
    doing = f"stopping: {one.title}" if one.is_stopping else one.title
    return f" … {doing} {duration(one.passed)} "
