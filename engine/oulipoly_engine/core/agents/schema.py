"""Whether an answer is JSON of a schema: the part of JSON Schema that describes data, and no other. Pure.

A keyword that is not known here is refused, not passed over: an answer is never called valid that was not checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from oulipoly_engine.errors import RequestRefused, UsageInvalid

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
_NOTES = ("title", "description", "default", "examples", "$schema", "$id", "$comment", "format")
_CHECKED = (
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
)
_BOUNDS = {  # keyword -> what is measured, and whether it is the least
    "minimum": ("", True),
    "maximum": ("", False),
    "minLength": ("length", True),
    "maxLength": ("length", False),
    "minItems": ("length", True),
    "maxItems": ("length", False),
}
_BOUNDED: Mapping[str, tuple[type, ...]] = {"minimum": (int, float), "minLength": (str,), "minItems": (list,)}
_FENCE = re.compile(r"\A```[a-zA-Z]*\n(.*)\n```\Z", re.DOTALL)
_DEEPEST = 50


class AnswerInvalid(RequestRefused, slug="answer-invalid"):
    """A model's answer is not JSON, or not what the schema says."""


def read_schema(data: bytes) -> Mapping[str, Any]:
    """Return a schema. Raises UsageInvalid for what is none, has no top-level type, or says what is not checked."""
    try:
        schema = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageInvalid(f"the schema is not JSON: {error}") from error
    if not isinstance(schema, dict) or "type" not in schema:
        raise UsageInvalid('the schema has no top-level `type`: say for example {"type": "object"}')
    for problem in _find_schema_problems(schema, "", 0):
        raise UsageInvalid(f"the schema {problem}")
    return schema


def read_answer(text: str, schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever the schema says
    """Return the value of an answer, which may stand in a fence. Raises AnswerInvalid, which says what is wrong."""
    stripped = text.strip()
    fenced = _FENCE.match(stripped)
    try:
        value = json.loads(fenced[1] if fenced else stripped, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise AnswerInvalid(f"the answer is not JSON: {error}") from error
    for problem in find_problems(value, schema):
        raise AnswerInvalid(f"the answer is not what the schema says: {problem}")
    return value


def find_problems(value: Any, schema: Mapping[str, Any], at: str = "$") -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield what is not as a schema says, each with its place."""
    names = schema.get("type", ())
    names = (names,) if isinstance(names, str) else tuple(names)
    if names and not any(_is_of_type(value, name) for name in names):
        yield f"{at} is not of type {' or '.join(names)}"
        return
    if "enum" in schema and not any(_is_same(value, choice) for choice in schema["enum"]):
        yield f"{at} is none of the values of enum"
    if "const" in schema and not _is_same(value, schema["const"]):
        yield f"{at} is not the value of const"
    if "anyOf" in schema and all(any(find_problems(value, each, at)) for each in schema["anyOf"]):
        yield f"{at} is as none of anyOf says"
    yield from _find_unbounded(value, schema, at)
    if isinstance(value, dict):
        yield from _find_in_object(value, schema, at)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from find_problems(item, schema["items"], f"{at}[{index}]")


def _find_in_object(value: Mapping[str, Any], schema: Mapping[str, Any], at: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    more = schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at} has no {name!r}"
    for name, item in value.items():
        if name in properties:
            yield from find_problems(item, properties[name], f"{at}.{name}")
        elif isinstance(more, dict):
            yield from find_problems(item, more, f"{at}.{name}")
        elif not more:
            yield f"{at} has {name!r}, which the schema does not know"


def _find_unbounded(value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    for keyword, (measure, is_least) in _BOUNDS.items():
        kinds = _BOUNDED[keyword.replace("max", "min")]
        if keyword not in schema or not isinstance(value, kinds) or isinstance(value, bool):
            continue
        size = float(len(value) if measure else value)  # type: ignore[arg-type]  # _BOUNDED has looked
        if (size < schema[keyword]) if is_least else (size > schema[keyword]):
            yield f"{at} breaks {keyword} {schema[keyword]}"


def _is_of_type(value: Any, name: str) -> bool:  # noqa: ANN401 - JSON
    if isinstance(value, bool) and name != "boolean":
        return False
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _is_same(value: Any, other: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, bool) == isinstance(other, bool) and value == other


def _find_schema_problems(schema: Any, at: str, depth: int) -> Iterator[str]:  # noqa: ANN401 - JSON
    place = f" at {at}" if at else ""
    if depth > _DEEPEST or not isinstance(schema, dict):
        yield f"has no schema{place}" if depth <= _DEEPEST else "is nested too deep"
        return
    for keyword in schema:
        if keyword not in _CHECKED and keyword not in _NOTES:
            yield f"says {keyword!r}{place}, which is not checked here: known are {', '.join(_CHECKED)}"
    names = schema.get("type", [])
    for name in [names] if isinstance(names, str) else names:
        if name not in _TYPES:
            yield f"has the type {name!r}{place}, which JSON does not have"
    for keyword, kind in (("properties", dict), ("required", list), ("enum", list), ("anyOf", list)):
        if not isinstance(schema.get(keyword, kind()), kind):
            yield f"has something else than {'an object' if kind is dict else 'a list'} as {keyword}{place}"
            return
    for keyword in _BOUNDS:
        if not isinstance(schema.get(keyword, 0), int | float):
            yield f"has no number as {keyword}{place}"
    parts = {f"{at}.{name}": part for name, part in schema.get("properties", {}).items()}
    parts |= {f"{at}.anyOf[{index}]": part for index, part in enumerate(schema.get("anyOf", []))}
    parts |= {f"{at}.items": schema["items"]} if "items" in schema else {}
    if isinstance(schema.get("additionalProperties"), dict):
        parts[f"{at}.additionalProperties"] = schema["additionalProperties"]
    for place_of_part, part in parts.items():
        yield from _find_schema_problems(part, place_of_part, depth + 1)


def _refuse_constant(name: str) -> Any:  # noqa: ANN401 - it never returns
    raise ValueError(f"{name} is not JSON")
