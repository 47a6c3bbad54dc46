"""Schemas and answers that take for ever to check: a process of its own reads them, and is ended."""

import json

import pytest

from oulipoly_engine.core.agents.schema import AnswerInvalid
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade.agents.answer_schema import check_answer, check_schema

DOUBLES = {f"n{number}": {"allOf": [{"$ref": f"#/$defs/n{number + 1}"}] * 2} for number in range(60)}


def test_a_schema_of_which_each_part_leads_twice_to_the_next_is_refused():
    schema = {"type": "object", "$ref": "#/$defs/n0", "$defs": DOUBLES | {"n60": True}}

    with pytest.raises(UsageInvalid, match="the schema cannot be used: to check it takes too long"):
        check_schema(json.dumps(schema).encode(), processor_s=1)


def test_an_answer_is_checked_by_another_process_as_by_this_one():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#"}}}

    assert {"b": {"a": 1}} == check_answer('{"b": {"a": 1}}', schema)
    with pytest.raises(AnswerInvalid, match=r"at \$\.b\.a the value is not of type"):
        check_answer('{"b": {"a": "x"}}', schema)
