"""Whether an answer is JSON of a schema. Pure.

Nothing outside of the schema is read, and regular expressions are of the kind whose time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from oulipoly_engine.errors import RequestRefused, UsageInvalid

if TYPE_CHECKING:
    import jsonschema_rs

_FENCE = re.compile(r"\A```[a-zA-Z]*\n(.*)\n```\Z", re.DOTALL)
_OF_EACH_TYPE: tuple[Any, ...] = ({}, [], "", 0, 0.5, True, None)
_NOT_JSON = (msgspec.MsgspecError, RecursionError, UnicodeError)


class AnswerInvalid(RequestRefused, slug="answer-invalid"):
    """A model's answer is not JSON, or not what the schema says."""


def parse_schema(data: bytes) -> dict[str, Any]:
    """Return the JSON of a schema, unchecked. Raises UsageInvalid where it is none, or has no top-level type."""
    try:
        schema = msgspec.json.decode(data)
    except _NOT_JSON as error:
        raise UsageInvalid(f"the schema is not JSON: {error}") from error
    if not isinstance(schema, dict) or "type" not in schema:
        raise UsageInvalid('the schema has no top-level `type`: say for example {"type": "object"}')
    return schema


def read_schema(data: bytes) -> dict[str, Any]:
    """Return a schema that is one. Raises UsageInvalid, which says what is wrong.

    It is tried on a value of each type: what would take for ever does so here already.
    """
    schema = parse_schema(data)
    validator = _make_validator(schema)
    for value in _OF_EACH_TYPE:
        validator.is_valid(value)
    return schema


def parse_answer(text: str) -> Any:  # noqa: ANN401 - whatever it says
    """Return the value of an answer, which may stand in a fence. Raises AnswerInvalid where it is not JSON."""
    body = text.strip()
    fenced = _FENCE.match(body)
    try:
        return msgspec.json.decode(fenced.group(1) if fenced else body)
    except _NOT_JSON as error:
        raise AnswerInvalid(f"the answer is not JSON: {error}") from error


def read_answer(text: str, schema: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever the schema says
    """Return the value of an answer that is as the schema says. Raises AnswerInvalid, which says what is wrong.

    Takes as long and as much memory as the schema makes it: see facade.agents.answer_schema.
    """
    import jsonschema_rs  # noqa: PLC0415 - as below

    value = parse_answer(text)
    try:
        _make_validator(schema).validate(value)
    except jsonschema_rs.ValidationError as problem:
        place = _place(problem.instance_path)
        raise AnswerInvalid(f"the answer is not as the schema says: at {place} {problem.message}") from problem
    return value


def _make_validator(schema: dict[str, Any]) -> jsonschema_rs.Validator:
    import jsonschema_rs  # noqa: PLC0415 - 20 ms, only prompts with a schema need it

    try:
        return jsonschema_rs.validator_for(
            schema, retriever=_refuse_outside, pattern_options=jsonschema_rs.RegexOptions(), mask="the value"
        )
    except jsonschema_rs.ValidationError as error:
        raise UsageInvalid(f"the schema is not valid: at {_place(error.instance_path)} {error.message}") from error
    except ValueError as error:
        raise UsageInvalid(f"the schema cannot be read: {error}") from error


def _place(path: Sequence[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def _refuse_outside(uri: str) -> Any:  # noqa: ANN401 - it never returns
    raise ValueError(f"{uri} lies outside of the schema, and nothing is fetched")
