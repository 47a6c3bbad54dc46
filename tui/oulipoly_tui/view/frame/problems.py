"""What is wrong, in the problems list and in a line: cause, then fix. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING

from oulipoly_engine.records import Record
from oulipoly_tui.keys.keymap import CLASH_FIX, format_first_key
from oulipoly_tui.view import words
from oulipoly_tui.view.frame.attention import PROBLEMS, alert_text, pane_of
from oulipoly_tui.view.transcript.spans import Line, cells, cut

if TYPE_CHECKING:
    from oulipoly_engine.core.checks.alerts import Alert
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.keys.keymap import Keymap


_TOLD_ONCE = "do what it says and try again; it was said once and stays listed until the app ends"


class Problem(Record):
    """One thing that is wrong, and what to do."""

    cause: str
    fix: str
    place: str = ""
    is_error: bool = True


def of_app(
    snapshot: Snapshot | None, failures: Iterable[tuple[str, bool]], keys: Keymap, wanted: Iterable[Alert] = ()
) -> tuple[Problem, ...]:
    """Return what is wrong with configuration, quota and state, with our own work and with the user's keys.

    wanted: all that the header counts, which is told here as well.
    """
    found: list[Problem] = []
    if snapshot is not None:
        found += [
            Problem(cause_of(one, snapshot.at), words.local(one.fix, snapshot.at), one.subject, one.is_error)
            for one in snapshot.problems
        ]
    known = () if snapshot is None else tuple(" ".join(one.text.split()) for one in snapshot.problems)
    found += [
        Problem(text, "it is a bug of ours: please report it" if is_bug else _TOLD_ONCE, is_error=is_bug)
        for text, is_bug in failures
        if not any(cause in text for cause in known)  # what was said of it in a line stands there already, with its fix
    ]
    row = keys.find("frame.attention")
    way = "it is in its pane" if row is None else f"{format_first_key(row.keys)} goes there"
    now = None if snapshot is None else snapshot.at
    found += [
        Problem(alert.text if now is None else alert_text(alert, now), way, is_error=False)
        for alert in wanted
        if pane_of(alert) != PROBLEMS
    ]
    found += [Problem(clash.text, CLASH_FIX, "app.toml") for clash in keys.clashes]
    found += [Problem(slip.cause, slip.fix, "app.toml") for slip in keys.slips]
    return tuple(sorted(found, key=lambda one: not one.is_error))


def cause_of(alert: Alert, now: datetime) -> str:
    """Return what is wrong, and of a broken file what stands in for it."""
    if alert.since is None:
        return alert.text
    return f"{alert.text}; what was read {_ago(alert.since, now)} stays in use"


def format_new_problem(alert: Alert, now: datetime, width: int, key: str | None = None) -> str:
    """Return one line on what has just come. key: what opens the problems list."""
    if alert.since is not None:
        return format_broken_file(alert, now, width, key)
    more = "" if key is None else f" ({key} tells all)"
    return f"{cut(words.local(alert.head, now), width - cells(more))}{more}"


def format_broken_file(alert: Alert, now: datetime, width: int, key: str | None = None) -> str:
    """Return one line on a broken file for which an earlier reading stands in. key: what opens the problems list."""
    name = PurePath(alert.subject).name
    read = "" if alert.since is None else f"as read {_ago(alert.since, now)}"
    more = "" if key is None else f" ({key} tells all)"
    texts = (f"{name} is broken: shown {read}{more}", f"{name} is broken: {read}", f"{name} is broken{more}")
    return next((text for text in texts if cells(text) <= width), cut(texts[-1], width))


def _ago(instant: datetime, now: datetime) -> str:
    return f"{words.duration(now - instant)} ago"


def problem_lines(problems: Sequence[Problem]) -> tuple[Line, ...]:
    """Return the list, two or three lines a problem."""
    lines: list[Line] = []
    for one in problems:
        lines.append(
            (("✗ error   " if one.is_error else "! warning ", "bad" if one.is_error else "warn"), (one.place, "dim"))
        )
        lines.append((("  " + one.cause, ""),))
        lines.append((("  → " + one.fix, "good"),))
        lines.append(())
    return tuple(lines)
