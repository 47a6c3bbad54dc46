import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.transcripts.canonical import (
    CanonicalRecord,
    Chunk,
    Line,
    Origin,
    Source,
    chunks,
    read_stored_chunks,
    render,
    scan,
    source_of,
)

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"


def record(**changes):
    values = {
        "session_id": SESSION,
        "account": "claude2",
        "entry_id": "t1",
        "role": "user",
        "timestamp": "2026-04-17T08:00:00Z",
        "content": (Chunk("text", "hi"),),
        "source": Source("claude_code", "/p/x.jsonl", 2, 1, 132, "ab" * 32),
    }
    return CanonicalRecord(**values | changes)


def test_rendered_bytes_are_these():
    expected = (
        b'{"session_id":"5169694d-de0f-40d1-890c-6e28e55bab27","provider_name":"claude2","turn_id":"t1","role":"user",'
        b'"timestamp":"2026-04-17T08:00:00Z","content":[{"type":"text","text":"hi"}],"source":{"storage_type":'
        b'"claude_code","jsonl_path":"/p/x.jsonl","line":2,"byte_start":1,"byte_end":132,"sha256":"'
        + b"ab"
        * 32
        + b'"},'
        b'"unsupported_record":false}\n'
    )

    assert expected == render(record())


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("é漢🙂", '"é漢🙂"'.encode(), id="letters stay"),
        pytest.param('a"b\\c/', rb'"a\"b\\c/"', id="quotes and backslashes"),
        pytest.param("\n\r\t\b\f\x01\x7f", b'"\\n\\r\\t\\b\\f\\u0001\\u007f"', id="controls"),
        pytest.param("\u2028<", rb'"\u2028<"', id="line separator"),
        pytest.param("x\ud83d", rb'"x\ud83d"', id="lone surrogate"),
        pytest.param(None, b"null", id="no text"),
    ],
)
def test_text_is_escaped_in_one_way(text, written):
    rendered = render(record(content=(Chunk("tool_use", text),)))

    assert b'"content":[{"type":"tool_use","text":' + written + b"}]" in rendered


def test_placeholder_says_so():
    rendered = render(record(role="system", content=(), is_unsupported=True, restarts=True))

    assert rendered.endswith(b'"unsupported_record":true}\n')
    assert b'"content":[]' in rendered


@given(st.text(), st.text())
def test_every_text_is_read_back_as_it_was(text, entry_id):
    rendered = render(record(entry_id=entry_id, content=(Chunk("text", text),)))

    read = json.loads(rendered)
    assert 1 == rendered.count(b"\n")
    assert (entry_id, text) == (read["turn_id"], read["content"][0]["text"])


def test_lines_count_blank_ones_and_leave_ends_out():
    lines = list(scan([b"\n", b"{1}\r\n", b" \t\r\n", b"{2}\r\r\n", b"{3}"]))

    assert [Line(2, 1, b"{1}"), Line(4, 10, b"{2}\r"), Line(5, 16, b"{3}")] == lines


def test_byte_order_mark_belongs_to_no_line():
    assert [Line(1, 3, b"{}"), Line(2, 6, b"\xef\xbb\xbf{}")] == list(scan([b"\xef\xbb\xbf{}\n", b"\xef\xbb\xbf{}"]))
    assert [] == list(scan([b"\xef\xbb\xbf\n"]))


@given(st.lists(st.sampled_from([b"", b"\r", b"{}", b"x\r", b" ", b'{"a":"\xc3\xa9"}', b"\xff"])), st.booleans())
def test_every_line_s_range_leads_to_its_bytes(parts, is_ended):
    data = b"\n".join(parts) + (b"\n" if is_ended else b"")

    lines = list(scan(_by_lf(data)))

    assert [line.data for line in lines] == [data[line.start : line.end] for line in lines]
    assert [data[: line.start].count(b"\n") + 1 for line in lines] == [line.number for line in lines]
    assert sum(1 for part in parts if part.strip()) == len(lines)


def _by_lf(data):
    return [part + b"\n" for part in data.split(b"\n")[:-1]] + ([data.rsplit(b"\n", 1)[-1]] if data else [])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("hello", [("text", "hello")], id="text"),
        pytest.param("", [], id="empty text"),
        pytest.param(None, [], id="nothing"),
        pytest.param(7, [], id="number"),
        pytest.param({"type": "text", "text": "one"}, [("text", "one")], id="object"),
        pytest.param(["a", {"type": "image"}, 3, None], [("text", "a"), ("image", None)], id="list"),
        pytest.param([{"type": "tool_result", "content": "out"}], [("tool_result", "out")], id="text in content"),
        pytest.param([{"type": "tool_result", "content": [{}]}], [("tool_result", None)], id="list in content"),
        pytest.param([{"type": "x", "text": 3, "content": "c"}], [("x", "c")], id="text of another type"),
        pytest.param([{"type": 7, "content": "top"}], [("text", "top")], id="type of another type"),
        pytest.param([{"type": "input_text", "text": "q"}], [("text", "q")], id="codex input"),
        pytest.param([{"type": "output_text", "text": "r"}], [("text", "r")], id="codex output"),
    ],
)
def test_content_becomes_chunks(value, expected):
    assert [Chunk(*pair) for pair in expected] == list(chunks(value))


@pytest.mark.parametrize("body", ["", "{}", '["text"]', "[NaN]", "null"])
def test_stored_body_of_another_shape_is_refused(body):
    with pytest.raises(ValueError, match=r"\w"):
        read_stored_chunks(body)


def test_source_is_of_the_line_without_its_end():
    line = next(scan([b'{"a":1}\r\n']))

    source = source_of(line, Origin(SESSION, "acc", "/p"), "claude_code")

    assert Source("claude_code", "/p", 1, 0, 7, hashlib.sha256(b'{"a":1}').hexdigest()) == source
