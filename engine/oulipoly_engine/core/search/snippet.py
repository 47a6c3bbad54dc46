"""Show where a text holds what was searched for. Pure.

Words are compared as the index compares them: without case and accents, and only letters and digits are words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from oulipoly_engine.core.search.cjk import has_runs
from oulipoly_engine.core.search.query import Term
from oulipoly_engine.records import Record

_WORD = re.compile(r"[^\W_]+")
_LOOKED_AT = 1 << 20  # characters; a pasted file may be longer, and its first megabyte shows enough
_MOST_MARKS = 200


class Snippet(Record):
    """A piece of a text on one line, and what is marked in it."""

    text: str
    marks: tuple[tuple[int, int], ...]  # begin and end of each place in `text`, ascending, without overlap


def fold(text: str) -> str:
    """Return the text without case and accents; every character stays at its place."""
    return text.lower() if text.isascii() else "".join(map(_fold, text))


def places(text: str, terms: Sequence[Term]) -> tuple[tuple[int, int], ...]:
    """Return where a text holds the terms that are not negated: begin and end of each, ascending, the first 200."""
    matcher = _matcher(tuple(term for term in terms if not term.is_negated))
    if matcher is None:
        return ()
    found = []
    for place in matcher.finditer(fold(text[:_LOOKED_AT])):
        found.append(place.span())
        if len(found) == _MOST_MARKS:
            break
    return tuple(found)


def snippet(text: str, terms: Sequence[Term], width: int = 160) -> Snippet:
    """Return about `width` characters around the places that are found, white space made one; else the beginning."""
    marks = places(text, terms)
    begin = _begin(marks, width)
    begin = 0 if begin <= 0 else _word_begin(text, begin)
    end = min(len(text), begin + width)
    inside = [(max(first, begin), min(last, end)) for first, last in marks if first < end and last > begin]
    shown, moved = _squeeze(text[begin:end], [(first - begin, last - begin) for first, last in inside])
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    moved = [(first + len(before), last + len(before)) for first, last in moved]
    return Snippet(before + shown + after, tuple(mark for mark in moved if mark[0] < mark[1]))


def _begin(marks: Sequence[tuple[int, int]], width: int) -> int:
    """Return where a window of that width holds the most marks, a third of it free before the first one."""
    if not marks:
        return 0
    best, most, last = 0, 0, 0
    for index, (first, _) in enumerate(marks):
        last = max(last, index)
        while last < len(marks) and marks[last][1] <= first + 2 * width // 3:
            last += 1
        if last - index > most:
            best, most = index, last - index
    return marks[best][0] - width // 3


def _word_begin(text: str, place: int) -> int:
    for later in range(place, min(place + 20, len(text))):
        if text[later - 1].isspace():
            return later
    return place


def _squeeze(text: str, marks: Iterable[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """Put a text on one line and return it with the marks where they are then."""
    shown: list[str] = []
    new_place = [0] * (len(text) + 1)
    for place, character in enumerate(text):
        new_place[place] = len(shown)
        is_blank = character.isspace() or not character.isprintable()
        if not is_blank:
            shown.append(character)
        elif shown and shown[-1] != " ":
            shown.append(" ")
    new_place[len(text)] = len(shown)
    return "".join(shown), [(new_place[first], new_place[last]) for first, last in marks]


@lru_cache(maxsize=64)
def _matcher(terms: tuple[Term, ...]) -> re.Pattern[str] | None:
    patterns = []
    for term in terms:
        words = _WORD.findall(fold(term.text))
        if words:
            first, *others = map(re.escape, words)
            # Chinese and Japanese words stand in the middle of others. What stands before a word is looked at behind
            # it: a pattern that begins with letters is searched seventy times as fast.
            begin = "" if has_runs(words[0][0]) else rf"(?<![^\W_]{first})"
            end = "" if term.is_prefix or has_runs(words[-1][-1]) else r"(?![^\W_])"
            patterns.append((sum(map(len, words)), r"[\W_]+".join((first + begin, *others)) + end))
    # The longest first, so that a phrase is marked whole where one of its words is looked for, too.
    return re.compile("|".join(pattern for _, pattern in sorted(patterns, reverse=True))) if patterns else None


@lru_cache(maxsize=4096)
def _fold(character: str) -> str:
    plain = unicodedata.normalize("NFD", character)[:1] or character
    lower = plain.lower()
    return lower if len(lower) == 1 else plain
