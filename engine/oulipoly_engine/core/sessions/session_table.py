"""A list of sessions as a table for people, as wide as the terminal. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from oulipoly_engine.core.sessions.sessions import Session
from oulipoly_engine.core.text.columns import fit, fit_end, pad, plain, width
from oulipoly_engine.core.text.quantities import ago
from oulipoly_engine.records import Record

HEADINGS = ("", "last used", "id", "account", "model", "turns", "workspace", "name", "")
_ACCOUNT, _MODEL, _ENTRIES, _WORKSPACE, _NAME = 3, 4, 5, 6, 7
_LEAST = {_NAME: 16, _WORKSPACE: 10, _MODEL: 8, _ACCOUNT: 8}  # cells that a column keeps when it is cut
_DISPENSABLE = (_MODEL, _ENTRIES, _ACCOUNT, _WORKSPACE)  # the first one goes first
_GAP = 2
ID_LENGTH = 8  # signs of an id that are shown: enough to be found by


class SessionRow(Record):
    """One line of the table, as text."""

    is_pinned: bool
    last_used: str
    chain_id: str
    account: str
    model: str
    entries: int
    workspace: str
    name: str
    remark: str = ""  # what is the matter with its transcript


def render(rows: Sequence[SessionRow], columns: int) -> list[str]:
    """Draw the table in so many cells: names are cut first, then folders, models and accounts; then columns go."""
    table = [list(HEADINGS), *(_cells(row) for row in rows)]
    widths = {column: max(width(line[column]) for line in table) for column in range(len(HEADINGS))}
    for column, least in _LEAST.items():
        widths[column] -= max(0, min(_over(widths, columns), widths[column] - least))
    for column in _DISPENSABLE:
        if _over(widths, columns) > 0:
            del widths[column]
    widths[_NAME] -= max(0, min(_over(widths, columns), widths[_NAME] - 1))
    return [_line(cells, widths) for cells in table]


def _over(widths: Mapping[int, int], columns: int) -> int:
    return sum(widths.values()) + _GAP * (len(widths) - 1) - columns


def age_or_day(instant: datetime, now: datetime) -> str:
    """Return how long ago an instant is; what is not of the last week as a day, in the zone of `now`."""
    is_recent = timedelta(0) <= now - instant < timedelta(days=7)
    return ago(instant, now) if is_recent else f"{instant.astimezone(now.tzinfo):%Y-%m-%d}"


def remark(
    has_transcript: bool | None,
    purge_at: datetime | None,
    now: datetime,
    within_days: float,
    *,
    is_kept: bool | None = None,
) -> str:
    """Return what is the matter with a transcript: it is gone, or its CLI deletes it soon; else nothing.

    is_kept: whether the archive has a copy.
    """
    if has_transcript is False:
        return "transcript gone, a copy kept" if is_kept else "transcript gone"
    if purge_at is None:
        return ""
    left = purge_at - now
    if left > timedelta(days=within_days):
        return ""
    if is_kept:
        return "deletable now, kept" if left < timedelta(0) else f"deleted in {time_left(left)}, kept"
    return "at risk now" if left < timedelta(0) else f"at risk in {time_left(left)}"


def fork_text(one: Session) -> str:
    """Return of which session one is a fork, by the beginning of the CLI's id; nothing of one that is none."""
    return "" if one.forked_from is None else f"fork of {plain(one.forked_from)[:ID_LENGTH]}"


def time_left(left: timedelta) -> str:
    """Return how long something has yet: whole days, hours where it is less than a day and a half, never below 0."""
    left = max(left, timedelta(0))
    return f"{left.days} d" if left >= timedelta(hours=36) else f"{left.total_seconds() / 3600:.0f} h"


def short_path(path: str, home: str) -> str:
    """Return a path with `~` for the home folder."""
    if path == home:
        return "~"
    return f"~{path[len(home) :]}" if home != "/" and path.startswith(f"{home}/") else path


def _cells(row: SessionRow) -> list[str]:
    return [
        "*" if row.is_pinned else "",
        row.last_used,
        row.chain_id[:ID_LENGTH],
        plain(row.account),
        plain(row.model),
        str(row.entries),
        plain(row.workspace),
        plain(row.name),
        row.remark,
    ]


def _line(cells: Sequence[str], widths: Mapping[int, int]) -> str:
    shown = []
    for column, cells_wide in widths.items():
        cut = fit_end if column == _WORKSPACE else fit
        shown.append(pad(cut(cells[column], cells_wide), cells_wide))
    return (" " * _GAP).join(shown).rstrip()
