"""The records that a replacement is given: read as an export wrote them, refused by line where it did not."""

import json

import pytest

from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord, keep_unchanged, parse, refuse
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord, Chunk, Source, render
from oulipoly_engine.errors import ReplacementInvalid

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
SOURCE = {"storage_type": "claude_code", "jsonl_path": "/t", "line": 1, "byte_start": 0, "byte_end": 9, "sha256": "ab"}
RECORD = {
    "session_id": SESSION,
    "provider_name": "acc",
    "turn_id": "u1",
    "role": "user",
    "timestamp": "2026-04-17T08:00:00Z",
    "content": [{"type": "text", "text": "one"}, {"type": "tool_use", "text": None}],
    "source": SOURCE,
    "unsupported_record": False,
}
WANTED = ReplacementRecord(
    1, "u1", "user", "2026-04-17T08:00:00Z", (Chunk("text", "one"), Chunk("tool_use", None)), "ab"
)
LONG = "x" * 61


def lines(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(**changed):
    return parse(lines(RECORD | changed), SESSION, "acc")


def refusal(data):
    with pytest.raises(ReplacementInvalid) as caught:
        parse(data, SESSION, "acc")
    return caught.value


def without(key):
    return {name: value for name, value in RECORD.items() if name != key}


def test_record_is_read_with_its_line_and_the_hash_of_its_origin():
    assert (WANTED,) == parse(lines(RECORD), SESSION, "acc")
    assert [1, 2] == [one.line for one in parse(lines(RECORD, RECORD), SESSION, "acc")]


def test_last_line_may_lack_its_end():
    assert (WANTED,) == parse(lines(RECORD).removesuffix(b"\n"), SESSION, "acc")


def test_session_is_ours_in_capitals_too():
    assert (WANTED,) == read(session_id=SESSION.upper())


def test_placeholder_may_have_any_role():
    (found,) = read(role="attachment", unsupported_record=True, content=[])

    assert ("attachment", True, ()) == (found.role, found.is_unsupported, found.content)


def test_chunk_without_a_text_has_none():
    assert (Chunk("image", None),) == read(content=[{"type": "image"}])[0].content


def test_empty_input_is_refused_as_a_whole():
    refused = refusal(b"")

    assert ("there is nothing to import: the input is empty", {}) == (refused.message, refused.extra)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\n", "it is blank; every line must hold one record"),
        (b" \t\n", "it is blank; every line must hold one record"),
        (b"ab\xff\n", "byte 2 is not UTF-8"),
        (b"{\n", "it is not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))"),
        (b"[]\n", "it is not a JSON object"),
        (b'{"a": NaN}\n', "NaN is not a JSON value"),
        (b"{}\n", "it has no unsupported_record"),
    ],
    ids=["blank", "spaces", "bytes", "no JSON", "no object", "no number of JSON", "no record"],
)
def test_line_that_is_no_record_is_refused_by_its_number(data, problem):
    refused = refusal(lines(RECORD) + data)

    assert (f"input line 2: {problem}", {"line": 2}) == (refused.message, refused.extra)


def test_json_beyond_all_depth_is_refused():
    assert refusal(b"[" * 100_000).message.startswith("input line 1: it is not JSON (")


@pytest.mark.parametrize("key", list(RECORD))
def test_missing_field_is_named(key):
    assert f"input line 1: it has no {key}" == refusal(lines(without(key))).message


@pytest.mark.parametrize("key", list(SOURCE))
def test_missing_field_of_the_source_is_named(key):
    source = {name: value for name, value in SOURCE.items() if name != key}

    assert f"input line 1: it has no source.{key}" == refusal(lines(RECORD | {"source": source})).message


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"unsupported_record": 0}, "its unsupported_record is '0', no bool"),
        ({"turn_id": 7}, "its turn_id is '7', no str"),
        ({"turn_id": ""}, "its turn_id is empty"),
        ({"content": {"a": 1}}, "its content is \"{'a': 1}\", no list"),
        ({"source": []}, "its source is '[]', no dict"),
        ({"source": SOURCE | {"line": True}}, "its source.line is 'True', no int"),
        ({"source": SOURCE | {"line": "1"}}, "its source.line is '1', no int"),
        ({"source": SOURCE | {"byte_end": 1.5}}, "its source.byte_end is '1.5', no int"),
        ({"session_id": "other"}, f"it belongs to session 'other', not to {SESSION!r}"),
        ({"provider_name": "me"}, "it belongs to account 'me', not to 'acc'"),
        ({"role": "system"}, "its role is 'system', not user or assistant"),
        ({"timestamp": "soon"}, "its timestamp 'soon' is not RFC 3339"),
        ({"timestamp": 5}, "its timestamp is '5', no str"),
        ({"content": ["one"]}, 'its content is not a list of {"type", "text"}'),
        ({"content": [{"text": "one"}]}, 'its content is not a list of {"type", "text"}'),
        ({"content": [{"type": 1, "text": "one"}]}, 'its content is not a list of {"type", "text"}'),
        ({"content": [{"type": "text", "text": 5}]}, "the text of a chunk is '5', not text"),
    ],
)
def test_wrong_value_is_named_with_what_it_is(changed, problem):
    refused = refusal(lines(RECORD | changed))

    assert (f"input line 1: {problem}", {"line": 1}) == (refused.message, refused.extra)


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({"turn_id": [LONG]}, f"['{LONG}"[:60]),
        ({"provider_name": LONG}, LONG[:60]),
        ({"role": LONG}, LONG[:60]),
        ({"timestamp": LONG}, LONG[:60]),
        ({"content": [{"type": "text", "text": [LONG]}]}, f"['{LONG}"[:60]),
    ],
    ids=["wrong type", "foreign account", "role", "timestamp", "text"],
)
def test_long_foreign_value_is_cut_to_60_characters(changed, shown):
    assert repr(shown) in refusal(lines(RECORD | changed)).message


def test_refusal_without_a_line_names_none():
    with pytest.raises(ReplacementInvalid) as caught:
        refuse(0, "no turn would be left")

    assert ("no turn would be left", {}) == (caught.value.message, caught.value.extra)


def test_wanted_turn_that_no_line_was_exported_from_has_no_hash():
    made = ReplacementRecord(0, "n", "user", "2026-04-17T08:00:00Z", ())

    assert ("", False) == (made.sha256, made.is_unsupported)


@pytest.mark.parametrize("is_unsupported", [True, False])
def test_records_of_a_transcript_are_wanted_back_as_they_are(is_unsupported):
    source = Source("claude_code", "/t", 1, 0, 9, "ab")
    content = (Chunk("text", "one"),)
    record = CanonicalRecord(SESSION, "acc", "u1", "user", "2026-04-17T08:00:00Z", content, source, is_unsupported)

    assert keep_unchanged([record, record]) == parse(render(record) + render(record), SESSION, "acc")
