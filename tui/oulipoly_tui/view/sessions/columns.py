"""The columns of the list of sessions: which there is room for, what each says, and their headings. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.records import Record
from oulipoly_tui.view.sessions.groups import Grouping, Longest
from oulipoly_tui.view.sessions.look import Look
from oulipoly_tui.view.transcript.spans import Line, Span, Tone, cells, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import ListedSession

_AGE_WIDTH, _CREATED_WIDTH = 7, 9  # a space before it; "created" and its mark take more than an age
_ENTRIES_WIDTH = 6  # its mark takes one more
_COLUMNS_FROM = 58  # columns of a row: the pane has them from 100 columns of the terminal
_TITLE_ROOM = 20  # columns that the model's name leaves the title, and what stands before it
_MODEL_LEAST = 9
_BEFORE_TITLE = 3  # mark and fold
_FALLING, _RISING = "▼", "▲"
_TEXTS = (Sort.NAME, Sort.ACCOUNT, Sort.MODEL)  # begin with the first letter
_LETTERS = {  # of each heading the one that its key has, in the preset `default`
    Sort.NAME: ("tit", "l", "e"),
    Sort.ACCOUNT: ("acc", "o", "unt"),
    Sort.MODEL: ("mo", "d", "el"),
    Sort.ENTRIES: ("", "t", "urns"),
    Sort.USED: ("", "u", "sed"),
    Sort.CREATED: ("", "c", "reated"),
    None: ("CLI", "", ""),  # sorts nothing
}


class Column(Record):
    """One column behind the titles."""

    sort: Sort | None  # what its heading sorts by
    width: int  # with the space before it
    text: Callable[[ListedSession, Look], str]
    is_right: bool = True


class Heading(Record):
    """One heading, and where it stands."""

    sort: Sort | None
    start: int
    end: int  # exclusive


def columns(listed: ListedSession, look: Look) -> list[Span]:
    """Return what stands behind a title."""
    return [
        (fit_text(one.text(listed, look), one.width, right=True), "dim")
        if one.is_right
        else (" " + fit_text(one.text(listed, look), one.width - 1), "dim")
        for one in _choose_columns(look)
    ]


def headings(look: Look) -> tuple[Heading, ...]:
    """Return the headings from left to right; a click between two of them means the one before."""
    chosen = _choose_columns(look)
    at = look.width - sum(one.width for one in chosen)
    found = [Heading(Sort.NAME, 0, at)]
    for one in chosen:
        found.append(Heading(one.sort, at, at + one.width))
        at += one.width
    return tuple(found)


def _choose_columns(look: Look) -> tuple[Column, ...]:
    return _fit_columns(look.width, look.longest, look.sort, has_account=look.grouping is not Grouping.ACCOUNT)


@lru_cache(maxsize=16)  # asked for each row
def _fit_columns(width: int, longest: Longest, sort: Sort, *, has_account: bool) -> tuple[Column, ...]:
    """Return the columns that there is room for; a name's is as wide as the longest, the model's gives way."""
    is_created = sort is Sort.CREATED
    age = Column(Sort.CREATED, _CREATED_WIDTH, _age) if is_created else Column(Sort.USED, _AGE_WIDTH, _age)
    if width < _COLUMNS_FROM:
        return (age,)
    account = Column(Sort.ACCOUNT, longest.account + 1, _account, is_right=False)
    cli = Column(None, longest.cli + 1, lambda listed, _: listed.kind, is_right=False)
    entries = Column(
        Sort.ENTRIES, _ENTRIES_WIDTH + (sort is Sort.ENTRIES), lambda listed, _: f"{listed.session.entries:,}"
    )
    found = [*((account,) if has_account else ()), cli, entries, age]
    room = width - sum(one.width for one in found) - _TITLE_ROOM
    model = Column(Sort.MODEL, min(longest.model + 1, max(_MODEL_LEAST, room)), _model, is_right=False)
    found.insert(-2, model)
    return tuple(found)


def _account(listed: ListedSession, _look: Look) -> str:
    return plain(listed.session.active.account)


def _model(listed: ListedSession, _look: Look) -> str:
    return plain(listed.session.shown_model or "?")


def _age(listed: ListedSession, look: Look) -> str:
    one = listed.session
    return short_age(one.first_used_at if look.sort is Sort.CREATED else one.last_used_at, look.now)


def format_headings(look: Look) -> Line:
    """Return the line of headings, the one that sorts marked: ▼ the latest, the most or Z first, ▲ the other way."""
    return tuple(span for one in headings(look) for span in _format_heading(one, look))


def sort_word(sort: Sort) -> str:
    """Return what the heading that sorts so is called."""
    return "".join(_LETTERS[sort])


def arrow(sort: Sort, *, is_reversed: bool) -> str:
    """Return the mark of an order."""
    return _RISING if is_reversed is not (sort in _TEXTS) else _FALLING


def find_sort_at(look: Look, column: int) -> Sort | None:
    """Return what a click on the line of headings sorts by."""
    return next((one.sort for one in headings(look) if one.start <= column < one.end), None)


def short_age(at: str, now: datetime) -> str:
    """Return how long ago an instant is, in at most six columns; a day is named in the zone of `now`."""
    instant = from_text(at)
    seconds = (now - instant).total_seconds()
    if seconds < 60:
        return "now"
    for least, length, unit in ((3_600, 60, "m"), (86_400, 3_600, "h"), (86_400 * 14, 86_400, "d")):
        if seconds < least:
            return f"{int(seconds // length)} {unit}"
    local = instant.astimezone(now.tzinfo)
    return f"{local:%d %b}" if local.year == now.year else f"{local:%b%Y}"[:3] + f" {local:%y}"


def _format_heading(one: Heading, look: Look) -> Line:
    begin, letter, rest = _LETTERS[one.sort]
    is_sorted = one.sort is look.sort
    mark = arrow(look.sort, is_reversed=look.is_reversed) if is_sorted else ""
    tone: Tone = "strong" if is_sorted else "dim"
    before = (0 if look.grouping is Grouping.NONE else 1) + _BEFORE_TITLE if one.sort is Sort.NAME else 0
    before += one.sort in (None, Sort.ACCOUNT, Sort.MODEL)
    text = begin + letter + rest + mark
    is_right = one.sort in (Sort.ENTRIES, Sort.USED, Sort.CREATED)
    room = one.end - one.start
    left = max(0, room - cells(text)) if is_right else min(before, max(0, room - cells(text)))
    after = max(0, room - left - cells(text))
    return ((" " * left + begin, tone), (letter, "key"), (rest + mark + " " * after, tone))
