"""Decode a transcript's line into a struct of what anybody asks of it: quickly, else leniently or strictly. Pure.

Contents stay raw until somebody wants them: they are most of a transcript, and msgspec passes over them, checking them,
at 1.5 GB a second. It refuses all that `json` refuses and some more (half characters, values of other types), so the
second try decides about those. Only bytes that are not UTF-8 it does not notice in what it passes over.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

import msgspec

from oulipoly_engine.core.text.json_values import MOST_TOKENS, count_of
from oulipoly_engine.core.transcripts.canonical import TEXT, TEXT_TYPES, Line, Origin, chunks, parse_line
from oulipoly_engine.core.transcripts.turn_script import BodyChunk, encode_body
from oulipoly_engine.records import prepare

Count = Annotated[int, msgspec.Meta(ge=0, lt=MOST_TOKENS)]  # of tokens; anything else is looked at leniently
Content = msgspec.Raw  # as it stands in the line, or any JSON value where the line was decoded in another way
ABSENT = msgspec.Raw(b"")
UNFIT = (msgspec.MsgspecError, ValueError, RecursionError)  # what decoding raises

_MANY_DIGITS = 2150  # half of sys.int_info.default_max_str_digits

S = TypeVar("S", bound=msgspec.Struct)


class LineDecoder(Generic[S]):
    """Decodes the lines of one CLI."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind
        self.quickly = msgspec.json.Decoder(prepare(kind)).decode  # raises one of UNFIT

    def leniently(self, text: bytes) -> S | None:
        """Decode a line, bad UTF-8 and a byte order mark included, without what does not fit; None for no object."""
        try:
            return self.quickly(text)
        except UNFIT:
            record = json_object(text)
        return None if record is None else struct_of(self._kind, record)

    def strictly(self, line: Line, origin: Origin) -> S:
        """Decode a line; values of other types stay, to be refused by whoever needs them.

        Raises TranscriptMalformed as `parse_line` does.
        """
        with suppress(*UNFIT):
            line.data.decode()
            if not _may_hold_long_number(line.data):
                return self.quickly(line.data)
        return struct_of(self._kind, parse_line(line, origin), keeping=True)


class _Passed(msgspec.Struct, gc=False):
    """An object of which nothing is wanted."""


class _Chunk(msgspec.Struct, gc=False):
    type: str | None = None
    text: str | None = None
    content: str | list[_Passed] | _Passed | None = None


_decode_body = msgspec.json.Decoder(prepare(str | list[_Chunk | str] | _Chunk | None)).decode


def json_object(text: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line, with whatever stands in place of bad UTF-8; None when it is none."""
    try:
        value = json.loads(text.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def plain(content: object) -> Any:  # noqa: ANN401 - JSON
    """Return a content as JSON values, None where there is none.

    Raises one of UNFIT: msgspec passes over numbers of more digits than Python makes a number of.
    """
    if not isinstance(content, msgspec.Raw):
        return content
    try:
        return msgspec.json.decode(content) if content else None
    except UNFIT:
        return json.loads(bytes(content).decode("utf-8", "replace"))


def body_of(content: object, kept: Sequence[str] | None = None) -> str | None:
    """Return a content as the body of a row is stored; None where there is nothing in it. Raises as `plain`.

    What carries no text is left out, unless there is nothing else: then the body tells the types alone.
    kept: of a compaction, what it keeps.
    """
    if isinstance(content, msgspec.Raw):
        if not content:
            return None
        try:
            content = _decode_body(content)
        except UNFIT:
            content = plain(content)
    if isinstance(content, str):
        return encode_body([BodyChunk(TEXT, content, kept=kept)]) if content else None
    found: list[BodyChunk] = []
    for item in content if isinstance(content, list) else [content]:
        if type(item) is _Chunk:
            text = item.text if item.text is not None else item.content
            kind = TEXT if item.type is None or item.type in TEXT_TYPES else item.type
            found.append(BodyChunk(kind, text if isinstance(text, str) else None))
        else:
            found += [BodyChunk(chunk.type, chunk.text) for chunk in chunks([item])]
    texts = [chunk for chunk in found if chunk.text is not None] or found
    for chunk in texts[:1]:
        chunk.kept = kept
    return encode_body(texts)


def struct_of(kind: type[S], record: Mapping[str, object], *, keeping: bool = False) -> S:
    """Return what a struct tells of a JSON object, without values of other types. keeping: with them."""
    values = {}
    for name, key, fitting_types in _fields(kind):
        value = record.get(key)
        if value is not None:
            fitting = _convert_value(value, fitting_types, keeping=keeping)
            if fitting is not None or keeping:
                values[name] = value if fitting is None else fitting
    return kind(**values)


def _may_hold_long_number(data: bytes) -> bool:
    """Tell whether a line may hold more digits in a row than Python makes a number of, which `json` refuses."""
    # A run of twice the length fills one of these pieces at least.
    return any(data[at : at + _MANY_DIGITS].isdigit() for at in range(0, len(data) - _MANY_DIGITS, _MANY_DIGITS))


def _convert_value(value: object, fitting_types: tuple[Any, ...], *, keeping: bool) -> object:
    for one in fitting_types:
        if one in (msgspec.Raw, Any):
            return value
        if one is int:
            return count_of(value)
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            if isinstance(value, dict):
                return struct_of(one, value, keeping=keeping)
        elif get_origin(one) is list:
            if isinstance(value, list):
                kinds = get_args(one)
                return [
                    each
                    for each in (_convert_value(each, kinds, keeping=keeping) for each in value)
                    if each is not None
                ]
        elif isinstance(value, one):
            return value
    return None


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str, tuple[Any, ...]], ...]:
    """Return each field's name, the one it has in the file, and the types that fit it."""
    return tuple((one.name, one.encode_name, tuple(_members(one.type))) for one in msgspec.structs.fields(kind))


def _members(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a type as msgspec tells it
    if get_origin(kind) is Annotated:
        return _members(get_args(kind)[0])
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
