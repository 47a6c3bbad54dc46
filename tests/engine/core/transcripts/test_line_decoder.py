"""One line, three ways to decode it: quick where it fits, lenient and strict where it does not."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.transcripts import claude, codex, gemini
from oulipoly_engine.core.transcripts.canonical import Line, Origin, chunks
from oulipoly_engine.core.transcripts.line_decoder import UNFIT, body_of, plain, struct_of
from oulipoly_engine.errors import TranscriptMalformed

ORIGIN = Origin("s", "a", "/p")
each_cli = pytest.mark.parametrize("cli", [claude, codex, gemini], ids=["claude", "codex", "gemini"])

_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
_KEYS = st.sampled_from(
    ["type", "text", "content", "message", "payload", "usage", "input_tokens", "sessionId", "id", "data", "$set"]
)
_JSON = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner), max_leaves=12)


def unrolled(value):
    """Return a struct as plain values, its contents decoded."""
    if isinstance(value, msgspec.Struct):
        return {name: unrolled(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, list):
        return [unrolled(each) for each in value]
    return plain(value) if isinstance(value, msgspec.Raw) else value


@each_cli
@given(record=st.dictionaries(_KEYS, _JSON))
def test_what_fits_is_decoded_alike_in_every_way(cli, record):
    line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        quick = cli.DECODER.quickly(line)
    except UNFIT:
        return

    assert unrolled(quick) == unrolled(struct_of(cli.Line, record))
    assert unrolled(quick) == unrolled(struct_of(cli.Line, record, keeping=True))


@each_cli
@given(record=st.dictionaries(_KEYS, _JSON))
def test_any_object_is_decoded_leniently(cli, record):
    line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")

    assert isinstance(cli.DECODER.leniently(line), cli.Line)


@given(content=_JSON)
def test_a_body_is_the_same_out_of_raw_and_of_plain_content(content):
    try:
        raw = msgspec.Raw(json.dumps(content, ensure_ascii=False).encode())
    except UnicodeEncodeError:  # half a character, which no raw content holds
        return
    every = chunks(content)
    told = [{"type": one.type, "text": one.text} for one in every if one.text is not None]

    assert body_of(raw) == body_of(content)
    assert (told or [{"type": one.type} for one in every]) == json.loads(body_of(raw) or "[]")


def test_leniently_a_value_of_another_type_is_left_out_and_the_rest_stays():
    line = claude.DECODER.leniently(b'{"type":"user","uuid":7,"message":{"id":[],"usage":{"output_tokens":"12"}}}')

    assert ("user", None, None, 12) == (line.type, line.uuid, line.message.id, line.message.usage.output_tokens)


def test_strictly_a_value_of_another_type_stays_to_be_refused():
    line = claude.DECODER.strictly(Line(1, 0, b'{"uuid":7,"message":{"content":"x"}}'), ORIGIN)

    assert (7, "x") == (line.uuid, plain(line.message.content))


@pytest.mark.parametrize(
    "data",
    [b'{"x":"\xff"}', b'{"x":' + b"7" * 5000 + b"}", b'{"x":NaN}', b'{"x":1', b"[]"],
    ids=["bad UTF-8", "a number without end", "no number", "cut off", "no object"],
)
def test_strictly_what_is_passed_over_is_checked_too(data):
    with pytest.raises(TranscriptMalformed):
        claude.DECODER.strictly(Line(1, 0, data), ORIGIN)


def test_contents_with_bad_utf8_are_read_with_what_stands_for_it():
    line = claude.DECODER.leniently(b'{"type":"user","message":{"content":"a\xffb"}}')

    assert "a\ufffdb" == plain(line.message.content)
    assert '[{"type":"text","text":"a\ufffdb"}]' == body_of(line.message.content)
