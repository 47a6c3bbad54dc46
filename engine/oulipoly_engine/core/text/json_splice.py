"""Change single values inside a JSON text and leave every other character of it as it is. Pure.

Parsing and writing a line again would lose what JSON allows twice: spaces, escapes, `1.0` or `1`, keys that repeat.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

Path = tuple[str | int, ...]  # keys of objects and positions in lists, from the outside in

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING_OR_COMMENT = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_LAST_COMMA = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|,(?=[ \t\r\n]*[}\]])')
_NOT_LINE_END = re.compile(r"[^\r\n]")
_FIRST_INDENT = re.compile(r"\n([ \t]+)\S")
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


def blank_comments(text: str) -> str:
    """Return JSON with comments as strict JSON of the same length: each comment, and a last comma, becomes blanks."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0][0] == '"' else _NOT_LINE_END.sub(" ", found[0])

    return _STRING_OR_LAST_COMMA.sub(blank, _STRING_OR_COMMENT.sub(blank, text))


def put_value(text: str, path: tuple[str, ...], value: object) -> str:
    """Return a JSON text, with comments or without, in which a key of an object has a value.

    path: the keys that lead there from the outside in; those that are missing are added behind the others, in the form
    that the text has. Raises ValueError where a key leads through something else than an object.
    """
    plain = blank_comments(text)
    start = _skip(plain, 0)
    for depth, step in enumerate(path):
        if plain[start : start + 1] != "{":
            raise ValueError(path[:depth])
        places = [(begin, end) for key, begin, end in _items(plain, start) if key == step]
        if not places:
            return _add_member(text, plain, start, step, _nest(path[depth + 1 :], value))
        start, end = places[-1]
    return text[:start] + _render(value, text, _indent_at(text, start), text[start:end]) + text[end:]


def remove_value(text: str, path: tuple[str, ...]) -> str:
    """Return a JSON text, with comments or without, in which an object lacks a key. Raises KeyError where it does."""
    plain = blank_comments(text)
    *outer, key = path
    start, stop = _span(plain, tuple(outer))
    items = list(_items(plain, start))
    place = max((place for place, item in enumerate(items) if item[0] == key), default=None)
    if place is None:
        raise KeyError(path)
    if place:
        begin, end = items[place - 1][2], items[place][2]
    elif len(items) > 1:
        begin, end = start + 1, plain.index(",", items[0][2]) + 1
    else:
        begin, end = start + 1, stop - 1
    return text[:begin] + text[end:]


def _nest(path: tuple[str, ...], value: object) -> object:
    for step in reversed(path):
        value = {step: value}
    return value


def _add_member(text: str, plain: str, start: int, key: str, value: object) -> str:
    items = list(_items(plain, start))
    whole = text[start : _DECODER.raw_decode(plain, start)[1]]
    end = items[-1][2] if items else start + 1
    is_on_lines = "\n" in whole if items else "\n" in text
    if not is_on_lines:
        lead = ", " if items else ""
        return f"{text[:end]}{lead}{_dump(key)}: {_render(value, text, '', whole)}{text[end:]}"
    outer = _indent_at(text, start)
    inner = _indent_at(text, items[0][1]) if items else outer + _unit(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    member = f"{newline}{inner}{_dump(key)}: {_render(value, text, inner, newline)}"
    tail = "" if items or "\n" in whole else newline + outer
    return f"{text[:end]}{',' if items else ''}{member}{tail}{text[end:]}"


def _render(value: object, text: str, indent: str, like: str) -> str:
    """Write a value as its surroundings are: on lines, or on one. like: what stands there now."""
    if "\n" not in like:
        return _dump(value)
    newline = "\r\n" if "\r\n" in text else "\n"
    return _dump(value, _unit(text)).replace("\n", newline + indent)


def _dump(value: object, unit: str | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=unit)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _indent_at(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = _FIRST_INDENT.search(text)
    return found[1] if found is not None else "  "


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
