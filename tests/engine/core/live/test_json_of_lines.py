"""Lines of JSON as programs in JavaScript write them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.text.lines import decode_json


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\ude00 \ud83d\ude00"', "\ufffd \U0001f600"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'"\\ud83d"', "\\ud83d"),
        (b'"\xff"', "\ufffd"),
    ],
)
def test_half_a_character_becomes_a_mark(line, text):
    assert text == decode_json(line)


@given(st.binary() | st.text().map(str.encode))
def test_what_is_no_json_raises_a_value_error_and_nothing_else(line):
    with contextlib.suppress(ValueError):
        decode_json(line)


def test_json_that_is_nested_too_deeply_is_refused():
    with pytest.raises(ValueError, match="nested"):
        decode_json(b"[" * 100_000)
