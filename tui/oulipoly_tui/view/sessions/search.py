"""Turns that a search has found, as rows of two lines' worth in one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.search.query import SHORTEST_PREFIX
from oulipoly_engine.core.text.columns import plain
from oulipoly_tui.view.sessions.columns import short_age
from oulipoly_tui.view.transcript.spans import Row, Span, cut, fit_text

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
    """Return two rows a hit: whose and when, then the words around it; the first can be chosen."""
    return tuple(row for hit in hits for row in _rows(hit, width, now))


def _rows(hit: Hit, width: int, now: datetime) -> Iterator[Row]:
    one = hit.session
    title = "" if one is None or one.title is None else plain(one.title)
    head = f"{fit_text(short_age(hit.timestamp, now), 6, right=True)}  {fit_text(plain(hit.speaker), _SPEAKER)} "
    account = f"{plain(hit.account)}  "
    yield Row(
        str(hit.row_id),
        ((head, "dim"), (account, "dim"), (cut(title, max(1, width - len(head) - len(account))), "strong")),
    )
    yield Row(f"{hit.row_id} text", (("    ", ""), *_format_snippet(hit)), is_selectable=False)


def _format_snippet(hit: Hit) -> Iterator[Span]:
    place = 0
    for begin, end in hit.snippet.marks:
        yield (_replace_controls(hit.snippet.text[place:begin]), "")
        yield (_replace_controls(hit.snippet.text[begin:end]), "accent")
        place = end
    yield (_replace_controls(hit.snippet.text[place:]), "")


def _replace_controls(text: str) -> str:
    """Return a text without signs that a terminal would obey, its outer spaces kept."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
