"""The columns of the list of sessions: which there is room for, what each says, and their headings. Pure."""

from __future__ import annotations

from datetime import datetime

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.sessions.sessions import Session, Sort
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.records import Record
from oulipoly_tui.view.sessions.groups import Grouping
from oulipoly_tui.view.sessions.look import Look
from oulipoly_tui.view.transcript.spans import Line, Span, Tone, cells, fit_text

_AGE_WIDTH, _CREATED_WIDTH = 7, 9  # a space before it; "created" and its mark take more than an age
_ACCOUNT_WIDTH, _MODEL_WIDTH, _ENTRIES_WIDTH = 14, 16, 6
_ACCOUNT_FROM, _ENTRIES_FROM, _MODEL_FROM = 64, 76, 96  # columns of a row
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
}


class Heading(Record):
    """One heading, and where it stands."""

    sort: Sort
    start: int
    end: int  # exclusive


def columns(one: Session, look: Look) -> list[Span]:
    """Return what stands behind a title."""
    found: list[Span] = []
    if has_account(look):
        found.append((fit_text(plain(one.active.account), _ACCOUNT_WIDTH), "dim"))
    if look.width >= _MODEL_FROM:
        found.append((" " + fit_text(plain(one.shown_model or "?"), _MODEL_WIDTH), "dim"))
    if look.width >= _ENTRIES_FROM:
        found.append((fit_text(f"{one.entries:,}", _ENTRIES_WIDTH, right=True), "dim"))
    at = one.first_used_at if look.sort is Sort.CREATED else one.last_used_at
    found.append((fit_text(short_age(at, look.now), _age_width(look), right=True), "dim"))
    return found


def headings(look: Look) -> tuple[Heading, ...]:
    """Return the headings from left to right; a click between two of them means the one before."""
    widths = [
        *([(Sort.ACCOUNT, _ACCOUNT_WIDTH)] if has_account(look) else []),
        *([(Sort.MODEL, _MODEL_WIDTH + 1)] if look.width >= _MODEL_FROM else []),
        *([(Sort.ENTRIES, _ENTRIES_WIDTH)] if look.width >= _ENTRIES_FROM else []),
        (Sort.CREATED if look.sort is Sort.CREATED else Sort.USED, _age_width(look)),
    ]
    at = look.width - sum(width for _, width in widths)
    found = [Heading(Sort.NAME, 0, at)]
    for sort, width in widths:
        found.append(Heading(sort, at, at + width))
        at += width
    return tuple(found)


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


def has_account(look: Look) -> bool:
    """Tell whether there is a column for the account."""
    return look.width >= _ACCOUNT_FROM and look.grouping is not Grouping.ACCOUNT


def _age_width(look: Look) -> int:
    return _CREATED_WIDTH if look.sort is Sort.CREATED else _AGE_WIDTH


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
    mark = arrow(one.sort, is_reversed=look.is_reversed) if is_sorted else ""
    tone: Tone = "strong" if is_sorted else "dim"
    before = (0 if look.grouping is Grouping.NONE else 1) + _BEFORE_TITLE if one.sort is Sort.NAME else 0
    before += one.sort is Sort.MODEL
    text = begin + letter + rest + mark
    is_right = one.sort in (Sort.ENTRIES, Sort.USED, Sort.CREATED)
    room = one.end - one.start
    left = max(0, room - cells(text)) if is_right else min(before, max(0, room - cells(text)))
    after = max(0, room - left - cells(text))
    return ((" " * left + begin, tone), (letter, "key"), (rest + mark + " " * after, tone))
