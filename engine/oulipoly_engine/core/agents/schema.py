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
_NOT_JSON = (msgspec.MsgspecError, RecursionError, UnicodeError)


class AnswerInvalid(RequestRefused, slug="answer-invalid"):
    """A model's answer is not JSON, or not what the schema says."""


def read_schema(data: bytes) -> dict[str, Any]:
    """Return a schema. Raises UsageInvalid, which says what is wrong, for what is none or has no top-level type."""
    try:
        schema = msgspec.json.decode(data)
    except _NOT_JSON as error:
        raise UsageInvalid(f"the schema is not JSON: {error}") from error
    if not isinstance(schema, dict) or "type" not in schema:
        raise UsageInvalid('the schema has no top-level `type`: say for example {"type": "object"}')
    _make_validator(schema)
    return schema


def read_answer(text: str, schema: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever the schema says
    """Return the value of an answer, which may stand in a fence. Raises AnswerInvalid, which says what is wrong."""
    body = text.strip()
    fenced = _FENCE.match(body)
    try:
        value = msgspec.json.decode(fenced.group(1) if fenced else body)
    except _NOT_JSON as error:
        raise AnswerInvalid(f"the answer is not JSON: {error}") from error
    for problem in _make_validator(schema).iter_errors(value):
        place = _place(problem.instance_path)
        raise AnswerInvalid(f"the answer is not as the schema says: at {place} {problem.message}")
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
