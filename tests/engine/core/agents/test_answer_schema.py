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
        "code": {"$ref": "#/$defs/word"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name"],
    "$defs": {"word": {"type": "string", "pattern": "^(a+)+$"}},
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
        ("[]", r"at \$ the value is not of type"),
        ("{}", '"name" is a required property'),
        ('{"name": "sk-secret", "tags": ["sk-secret"]}', r"at \$\.tags\[0\] the value is not one of"),
        ('{"name": "x", "age": true}', r"at \$\.age the value is not of type"),
        ('{"name": "x", "more": 1}', "Additional properties"),
        (f'{{"name": "x", "code": "{"a" * 50}!"}}', r"at \$\.code .* does not match"),
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
        (b'{"type": "object", "properties": {"a": {"type": "date"}}}', r"at \$\.properties\.a\.type"),
        (b'{"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/a"}}}', "nothing is fetched"),
        (b'{"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}', "nothing is fetched"),
        (b'{"type": "object", "$schema": "http://127.0.0.1:9/a"}', "Unknown meta-schema"),
        (b'{"type": "string", "pattern": "(a)\\\\1"}', r"at \$\.pattern"),
        (b'{"type": "array", "items": ' * 400 + b"true" + b"}" * 400, "Recursion limit"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_schema_that_could_not_be_held_to_is_refused(schema, words):
    with pytest.raises(UsageInvalid, match=words):
        read_schema(schema)
