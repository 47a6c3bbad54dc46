"""Change single values inside a JSON text and leave every other character of it as it is. Pure.

Parsing and writing a line again would lose what JSON allows twice: spaces, escapes, `1.0` or `1`, keys that repeat.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

Path = tuple[str | int, ...]  # keys of objects and positions in lists, from the outside in

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def with_values(text: str, values: Mapping[Path, str]) -> str:
    """Return a JSON text with other values at some places.

    values: by path, the new value as JSON text; no path may lie inside another one's.
    Raises KeyError for a path that leads nowhere.
    """
    spans = sorted((*_span(text, path), value) for path, value in values.items())
    pieces, end = [], 0
    for start, stop, value in spans:
        pieces += [text[end:start], value]
        end = stop
    return "".join([*pieces, text[end:]])


def elements(text: str, path: Path) -> list[str]:
    """Return the texts of a list's elements, as they stand there. Raises KeyError for a path that leads nowhere."""
    start, _ = _span(text, path)
    return [text[begin:end] for _, begin, end in _items(text, start)]


def to_json(value: object) -> str:
    """Write a value as both CLIs do: compact, characters as they are; a lone surrogate as its escape."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _span(text: str, path: Path) -> tuple[int, int]:
    start = _skip(text, 0)
    for step in path:
        # Of a key that stands there twice the last one counts, as it does for every reader of these files.
        found = [begin for key, begin, _ in _items(text, start) if key == step]
        if not found:
            raise KeyError(path)
        start = found[-1]
    return start, _DECODER.raw_decode(text, start)[1]


def _items(text: str, start: int) -> Iterator[tuple[str | int, int, int]]:
    """Yield (key or position, start, end) of what an object or a list holds; nothing for any other value."""
    if text[start] not in "{[":
        return
    is_object = text[start] == "{"
    place, number = _skip(text, start + 1), 0
    while text[place] not in "}]":
        key: str | int = number
        if is_object:
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        end = _DECODER.raw_decode(text, place)[1]
        yield key, place, end
        number += 1
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match is not None else place
