"""Whether an answer is JSON of a schema."""

import json

import pytest

from oulipoly_engine.core.agents.schema import AnswerInvalid, read_answer, read_schema
from oulipoly_engine.errors import UsageInvalid

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": ["integer", "null"], "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "x"}',
        '\n{"name": "x", "age": 3}\n',
        '```json\n{"name": "x", "tags": ["a"]}\n```',
        '{"name":"x","age":null}',
    ],
)
def test_valid_answer_is_its_value(text):
    assert read_answer(text, read_schema(json.dumps(PERSON).encode()))["name"] == "x"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Here: {}", "not JSON"),
        ("", "not JSON"),
        ('{"name": NaN}', "not JSON"),
        ("[]", "not of type object"),
        ("{}", "no 'name'"),
        ('{"name": ""}', "minLength"),
        ('{"name": 1}', r"\$.name is not of type string"),
        ('{"name": "x", "age": true}', "age is not of type integer or null"),
        ('{"name": "x", "age": -1}', "minimum"),
        ('{"name": "x", "tags": ["c"]}', r"tags\[0\] is none"),
        ('{"name": "x", "tags": ["a", "b", "a"]}', "maxItems"),
        ('{"name": "x", "more": 1}', "does not know"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_answer_that_is_not_so_says_where(text, words):
    with pytest.raises(AnswerInvalid, match=words):
        read_answer(text, PERSON)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (b"{", "not JSON"),
        (b"[]", "no top-level"),
        (b"{}", "no top-level"),
        (b'{"type": "date"}', "which JSON does not have"),
        (b'{"type": "object", "properties": {"a": {"pattern": "x"}}}', "'pattern' at .a, which is not checked"),
        (b'{"type": "object", "properties": []}', "an object as properties"),
        (b'{"type": "array", "items": 1}', "no schema at .items"),
    ],
)
def test_schema_that_could_not_be_held_to_is_refused(schema, words):
    with pytest.raises(UsageInvalid, match=words):
        read_schema(schema)
