"""Lines of toned text: what `view` makes and every widget of ours draws. Pure.

A tone says what a text means, never which colour it has: the style sheet decides that, and without colours the words
and marks alone must do.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import Literal

from oulipoly_engine.records import Record

Tone = Literal["", "dim", "good", "warn", "bad", "accent", "strong", "heading", "key", "keyword", "string"]
Span = tuple[str, Tone]
Line = tuple[Span, ...]
TONES: tuple[Tone, ...] = (
    *("dim", "good", "warn", "bad", "accent", "strong", "heading", "key"),
    *("keyword", "string"),  # of code
)


class Row(Record):
    """One row of a list."""

    key: str  # stays the same from one snapshot to the next
    line: Line
    is_selectable: bool = True


def plain(line: Iterable[Span]) -> str:
    """Return a line's text alone."""
    return "".join(text for text, _ in line)


def cells(text: str) -> int:
    """Return how many columns a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(character) for character in text)


def fit_text(text: str, width: int, *, right: bool = False) -> str:
    """Return a text that takes exactly so many columns: filled up, or cut with an ellipsis."""
    taken = cells(text)
    if taken > width:
        text = cut(text, width)
        taken = cells(text)
    space = " " * (width - taken)
    return space + text if right else text + space


def cut(text: str, width: int) -> str:
    """Return as much of a text as fits, with an ellipsis where something is missing."""
    if cells(text) <= width:
        return text
    if width <= 0:
        return ""
    taken = 0
    for place, character in enumerate(text):
        taken += _cells_of(character)
        if taken > width - 1:
            return text[:place] + "…"
    return text


def cut_to_words(text: str, width: int) -> str:
    """Return as many words of a text as fit, from its beginning."""
    while cells(text) > width and text:
        text = text.rpartition(" ")[0]
    return text


@lru_cache(4096)
def _cells_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def wrap_lines(lines: Iterable[Line], width: int) -> tuple[Line, ...]:
    """Return lines broken at spaces so that none is wider; what follows a break is indented like its line."""
    return tuple(part for line in lines for part in _wrap(line, max(10, width)))


def _wrap(line: Line, width: int) -> list[Line]:
    if cells(plain(line)) <= width:
        return [line]
    whole = plain(line)
    indent = " " * min(len(whole) - len(whole.lstrip()), width // 2)
    found: list[list[Span]] = [[]]
    left = width
    for text, tone in line:
        for word in _words(text):
            if cells(word) > left and found[-1]:
                found.append([(indent, "")] if indent else [])
                left, word = width - len(indent), word.lstrip()
            while (place := _place_of(word, left)) < len(word):  # longer than a line by itself
                found[-1].append((word[:place], tone))
                word = word[place:]
                found.append([])
                left = width
            found[-1].append((word, tone))
            left -= cells(word)
    return [tuple(spans) for spans in found]


def _place_of(word: str, width: int) -> int:
    """Return how many characters of a word fit into so many columns; one at least."""
    if word.isascii():
        return width
    taken = accumulate(map(_cells_of, word))
    return max(1, sum(1 for _ in takewhile(lambda used: used <= width, taken)))


def _words(text: str) -> Iterable[str]:
    """Split before each run of spaces, so that joining gives the text again."""
    start = 0
    for place in range(1, len(text)):
        if text[place] == " " and text[place - 1] != " ":
            yield text[start:place]
            start = place
    yield text[start:]
