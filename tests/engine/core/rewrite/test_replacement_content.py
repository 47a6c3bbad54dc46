"""The content of one native message brought to the wanted chunks: nothing is touched but the texts that differ."""

import json

import pytest

from oulipoly_engine.core.rewrite.content import Place, changes, new_blocks
from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord
from oulipoly_engine.core.text.json_splice import with_values
from oulipoly_engine.core.transcripts.canonical import Chunk
from oulipoly_engine.errors import ReplacementInvalid

TOOL = {"type": "tool_use", "id": "t1", "input": {"n": 1.0}}
IMAGE = {"type": "image", "source": "x"}


def block(text):
    return {"type": "text", "text": text}


def chunks(*given):
    """Return chunks: a text stands for itself, a pair for (type, text)."""
    return tuple(Chunk("text", one) if isinstance(one, str) else Chunk(*one) for one in given)


def wanted(*given):
    return ReplacementRecord(3, "u1", "user", "2026-04-17T08:00:00Z", chunks(*given))


def became(content, *given):
    """Return a message's content after a replacement by chunks."""
    line = json.dumps({"m": {"content": content}, "n": 1})
    values = changes(line, Place(("m", "content"), content), wanted(*given), block)
    after = json.loads(with_values(line, values))
    assert 1 == after["n"]
    return after["m"]["content"]


def refusal(content, *given):
    with pytest.raises(ReplacementInvalid) as caught:
        became(content, *given)
    assert {"line": 3} == caught.value.extra
    return caught.value.message.removeprefix("input line 3: ")


@pytest.mark.parametrize(
    ("content", "given", "expected"),
    [
        ("one", ["two"], "two"),
        ("one", ["two", "three"], [block("two"), block("three")]),
        ("", ["two"], "two"),
        (None, ["two"], [block("two")]),
        ("one", [""], [block("")]),
        (block("one"), ["two"], block("two")),
        (block("one"), ["one"], block("one")),
        ({"type": "thinking", "content": "one"}, [("thinking", "two")], {"type": "thinking", "content": "two"}),
    ],
    ids=[
        "text",
        "text to blocks",
        "empty text",
        "null",
        "text to an empty one",
        "block",
        "the same block",
        "block with its text elsewhere",
    ],
)
def test_single_content_is_changed_in_its_own_form(content, given, expected):
    assert expected == became(content, *given)


@pytest.mark.parametrize(
    ("content", "given", "expected"),
    [
        ([block("one"), TOOL], ["two", ("tool_use", None)], [block("two"), TOOL]),
        (["one", block("two")], ["1", "2"], ["1", block("2")]),
        ([block("one") | {"text": None, "content": "x"}], ["2"], [block("one") | {"text": None, "content": "2"}]),
        ([block("one"), block("two")], ["one"], [block("one")]),
        ([block("one"), block("two")], ["two"], [block("two")]),
        ([block("one")], ["one", "two"], [block("one"), block("two")]),
        ([TOOL, block("one")], ["one"], [block("one")]),
        ([block("one") | {"k": 1}, TOOL], ["1"], [block("1") | {"k": 1}]),
        ([block("one") | {"k": 1}, TOOL], ["1", "2"], [block("1") | {"k": 1}, block("2")]),
        ([TOOL, block("one") | {"k": 1}], ["1", ("tool_use", None)], [block("1"), TOOL]),
        (
            [block("one") | {"k": 1}, block("two") | {"k": 2}, TOOL],
            ["1", "2"],
            [block("1") | {"k": 1}, block("2") | {"k": 2}],
        ),
        (
            [{"type": "tool_result", "content": "x"}, block("one")],
            [("tool_result", "y")],
            [{"type": "tool_result", "content": "y"}],
        ),
    ],
    ids=[
        "text beside a tool",
        "texts without a block",
        "text kept elsewhere",
        "last block goes",
        "first block goes",
        "block comes",
        "tool goes",
        "changed block keeps what else it holds while another goes",
        "changed, gone and come",
        "moved before the tool",
        "two changed in their order",
        "result of a tool",
    ],
)
def test_list_of_blocks_keeps_what_is_not_asked_to_change(content, given, expected):
    assert expected == became(content, *given)


def test_known_blocks_stand_as_they_stood_byte_for_byte():
    line = '{"c":[ {"text": "a", "type":"text"},{ "type":"tool_use","n":1.0}, {"type":"text","text":"b"}]}'
    place = Place(("c",), json.loads(line)["c"])

    values = changes(line, place, wanted("a", ("tool_use", None), "b", "c"), block)

    kept = '{"text": "a", "type":"text"},{ "type":"tool_use","n":1.0},{"type":"text","text":"b"}'
    assert {("c",): f'[{kept},{{"type":"text","text":"c"}}]'} == values


def test_what_is_already_as_wanted_needs_no_values():
    assert {} == changes('{"c":["a"]}', Place(("c",), ["a"]), wanted("a"), block)


@pytest.mark.parametrize(
    ("content", "given", "problem"),
    [
        ("one", [], "turn u1 would be left without content: leave its line out to remove it"),
        ([block("one"), 5], ["2"], "the transcript's turn u1 holds blocks that an export does not show"),
        (block("one"), ["1", "2"], "the content of turn u1 is a single block, which cannot become several"),
        (block("one"), [("thinking", "1")], "the content of turn u1 is a single block, which cannot become several"),
        ([TOOL], [("tool_use", "x")], "the tool_use block of turn u1 holds no text, and stays as it is or goes"),
        ([block("one")], [("text", None)], "a chunk of turn u1 has lost its text"),
        (block("one"), [("text", None)], "a chunk of turn u1 has lost its text"),
        ([block("one")], ["one", ("image", None)], "a image chunk of turn u1 has no text, so it cannot be rendered"),
        (
            [block("one")],
            ["one", ("thinking", "x")],
            "a chunk of type 'thinking' cannot be added to turn u1: only text can",
        ),
        ("one", [("thinking", "x")], "a chunk of type 'thinking' cannot be added to turn u1: only text can"),
        ([IMAGE, block("one")], [("image", "x")], "a chunk of type 'image' cannot be added to turn u1: only text can"),
        ([block("one"), IMAGE], [("text", None)], "a text chunk of turn u1 has no text, so it cannot be rendered"),
    ],
    ids=[
        "nothing left",
        "block that no export shows",
        "block to several",
        "block to another kind",
        "text for a tool",
        "text lost",
        "text of a single block lost",
        "new one without text",
        "new one of another kind",
        "text to another kind",
        "text for an image that moves",
        "text lost while a block goes",
    ],
)
def test_what_cannot_be_written_without_loss_is_refused(content, given, problem):
    assert problem == refusal(content, *given)


def test_added_turn_has_a_block_for_each_text():
    assert [block("a"), block("b")] == new_blocks(wanted("a", "b"), block)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "turn u1 is not in the transcript, and it has no content to add"),
        ([("tool_use", None)], "a tool_use chunk of turn u1 has no text, so it cannot be rendered"),
        ([("tool_use", "x")], "a chunk of type 'tool_use' cannot be added to turn u1: only text can"),
    ],
    ids=["empty", "without text", "of another kind"],
)
def test_turn_that_cannot_be_added_is_refused(given, problem):
    with pytest.raises(ReplacementInvalid) as caught:
        new_blocks(wanted(*given), block)

    assert f"input line 3: {problem}" == caught.value.message
