"""Turns that a search has found, under their sessions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.search.query import SHORTEST_PREFIX
from oulipoly_engine.core.sessions.session_table import ID_LENGTH
from oulipoly_engine.core.text.columns import plain
from oulipoly_tui.view.sessions.columns import short_age
from oulipoly_tui.view.transcript.spans import Row, Span, cells, cut, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import Hit

_LAST = re.compile(r"(?<!\S)\w+\Z")  # a whole word at the end: no field, nothing negated
_SPEAKER = 5  # columns


def as_typed(text: str) -> str:
    """Return a query whose last word, which may not be finished, stands for all words that begin so."""
    last = _LAST.search(text)
    is_quoted = text.count('"') % 2 == 1
    return f"{text}*" if last is not None and not is_quoted and len(last[0]) >= SHORTEST_PREFIX else text


def count_text(count: int, most: int, unindexed: int) -> str:
    """Say how many entries were found; as many as are asked for at most are not all that there are."""
    more = f"; {unindexed:,} turns are not indexed yet" if unindexed else ""
    if count >= most:
        return f"the newest {count:,} turns; more words narrow it{more}"
    return f"{count:,} turn{'s' * (count != 1)}, the newest first{more}"


def hit_rows(hits: Sequence[Hit], width: int, now: datetime) -> tuple[Row, ...]:
    """Return a heading a session, in the order of their newest hits, and a row a hit below it: who, when, the words."""
    sessions: dict[tuple[str, str], list[Hit]] = {}
    for hit in hits:
        sessions.setdefault(_session_of(hit), []).append(hit)
    return tuple(row for found in sessions.values() for row in _rows(found, width, now))


def _session_of(hit: Hit) -> tuple[str, str]:
    return (hit.account, hit.session_id) if hit.session is None else ("", hit.session.chain_id)


def _rows(hits: Sequence[Hit], width: int, now: datetime) -> Iterator[Row]:
    first = hits[0]
    session = first.session
    title = "" if session is None or session.title is None else plain(session.title)
    count = f"{len(hits):,} hit{'s' * (len(hits) != 1)}"
    aside = f"  {plain(first.account)} · {short_age(first.timestamp, now)} · {count}"
    name = cut(title or plain(first.session_id)[:ID_LENGTH], max(8, width - cells(aside)))
    yield Row(f"session {first.row_id}", ((name, "strong"), (aside, "dim")), is_selectable=False)
    for hit in hits:
        who = f"  {fit_text(plain(hit.speaker), _SPEAKER)} {fit_text(short_age(hit.timestamp, now), 6, right=True)}  "
        yield Row(str(hit.row_id), ((who, "dim"), *_format_snippet(hit, width - cells(who))))


def _format_snippet(hit: Hit, room: int) -> Iterator[Span]:
    """Yield the words around the first place, which is in sight in so many columns, with each place marked."""
    text, marks = hit.snippet.text, hit.snippet.marks
    first_end = marks[0][1] if marks else 0
    place = 0
    if cells(text[:first_end]) > room:  # a third of the room stays for what stands before it
        place = max(0, min(marks[0][0], first_end - 2 * room // 3))
        yield ("…", "dim")
    for begin, end in marks:
        yield (_replace_controls(text[place:begin]), "")
        yield (_replace_controls(text[begin:end]), "accent")
        place = end
    yield (_replace_controls(text[place:]), "")


def _replace_controls(text: str) -> str:
    """Return a text without signs that a terminal would obey, its outer spaces kept."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
