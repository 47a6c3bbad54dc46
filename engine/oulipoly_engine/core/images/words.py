"""The words of one line of an Agentfile. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from oulipoly_engine.records import Record

_ARGUMENT = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_-]*)\}")


class Word(Record):
    """A word without its quotes."""

    text: str
    quoted_from: int = -1  # where in the text the quoted part begins; -1: nothing is quoted

    @property
    def is_text(self) -> bool:
        """Tell whether all of it is quoted: a description."""
        return self.quoted_from == 0


class Pair(Record):
    """A word that is KEY=VALUE, or KEY."""

    key: str
    value: str | None  # None: there is no `=`
    is_quoted: bool  # the value


def split_words(text: str) -> list[Word]:
    """Return the words of a line. A quote counts where a word or the value of a pair begins. Raises ValueError."""
    words: list[Word] = []
    place = 0
    while (begin := _skip_blanks(text, place)) < len(text):
        word, place = _read_word(text, begin)
        words.append(word)
    return words


def _skip_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _read_word(text: str, begin: int) -> tuple[Word, int]:
    place = begin
    while place < len(text) and not text[place].isspace():
        if text[place] == '"' and (place == begin or text[place - 1] == "="):
            value, end = _read_quoted(text, place)
            if end < len(text) and not text[end].isspace():
                raise ValueError(f"a blank is missing behind the quote of {text[begin:end][:60]}")
            before = text[begin:place]
            return Word(before + value, len(before)), end
        place += 1
    return Word(text[begin:place]), place


def _read_quoted(text: str, begin: int) -> tuple[str, int]:
    r"""Return what stands between two quotes, `\"` and `\\` replaced, and where the text goes on."""
    parts: list[str] = []
    place = begin + 1
    while place < len(text):
        letter = text[place]
        if letter == '"':
            return "".join(parts), place + 1
        if letter == "\\" and text[place + 1 : place + 2] in ('"', "\\"):
            place += 1
            letter = text[place]
        parts.append(letter)
        place += 1
    raise ValueError(f"the quote has no end: {text[begin:][:60]}")


def read_pair(word: Word) -> Pair:
    """Return a word as KEY=VALUE."""
    key, has_value, value = word.text.partition("=")
    return Pair(key, value if has_value else None, word.quoted_from == len(key) + 1)


def replace_arguments(text: str, args: Mapping[str, str]) -> str:
    """Return a text with each `${KEY}` replaced that is known; others stay."""
    return _ARGUMENT.sub(lambda match: args.get(match[1], match[0]), text)


def read_value(text: str, *, is_quoted: bool) -> bool | int | float | str:
    """Return a value of CONFIG: what is quoted is a text, else what looks like a number or a truth is one."""
    if is_quoted:
        return text
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]{1,18}\.[0-9]{1,18}([eE][+-]?[0-9]{1,2})?", text):
        return float(text)
    return text


def read_list(text: str) -> tuple[str, ...]:
    """Return a JSON list of texts. Raises ValueError."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f'is not a JSON list such as ["serve"]: {text[:60]}') from error
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise ValueError(f'is not a JSON list of texts such as ["serve"]: {text[:60]}')
    return tuple(values)
