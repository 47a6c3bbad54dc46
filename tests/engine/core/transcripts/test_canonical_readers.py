import hashlib
import json
from pathlib import Path

import pytest

from oulipoly_engine.core.transcripts import claude as claude_lines
from oulipoly_engine.core.transcripts import codex as codex_lines
from oulipoly_engine.core.transcripts.canonical import Chunk, Origin, render, scan
from oulipoly_engine.errors import TranscriptMalformed

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
OTHER = "6169694d-de0f-40d1-890c-6e28e55bab27"
ORIGIN = Origin(SESSION, "acc", "/p/x.jsonl")
TRANSCRIPTS = Path(__file__).resolve().parents[5] / "shared" / "fixtures" / "transcripts"
# claude 2.1.50 leaves the old session's id in the records that a fork copies: they belong to another session.
FORK_OF_2_1_50 = "8e42083e-410b-4a06-a982-57b55ca3fa8c"


def entry(entry_id, **changes):
    values = {
        "sessionId": SESSION,
        "type": "user",
        "uuid": entry_id,
        "timestamp": "2026-04-17T08:00:00.123Z",
        "message": {"role": "user", "content": "hi"},
    }
    return {key: value for key, value in (values | changes).items() if value is not None}


def message(at="2026-04-17T08:00:00Z", role="user", **changes):
    payload = {"type": "message", "role": role, "content": [{"type": "input_text", "text": "q"}]} | changes
    return {"timestamp": at, "type": "response_item", "payload": payload}


META = {"type": "session_meta", "payload": {"id": SESSION, "cwd": "/w"}}


def lines_of(*entries):
    return scan([entry if isinstance(entry, bytes) else json.dumps(entry).encode() + b"\n" for entry in entries])


def claude(*entries):
    return list(claude_lines.canonical_records(lines_of(*entries), ORIGIN))


def codex(*entries):
    return list(codex_lines.canonical_records(lines_of(*entries), ORIGIN))


def refusal(read, *entries):
    with pytest.raises(TranscriptMalformed) as caught:
        read(*entries)
    return caught.value


def test_claude_keeps_turns_and_places_of_other_records():
    records = claude(entry("a"), entry("b", type="assistant"), entry("c", type="attachment"))

    assert [("a", "user", False), ("b", "assistant", False), ("c", "attachment", True)] == [
        (record.entry_id, record.role, record.is_unsupported) for record in records
    ]
    assert () == records[2].content


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry("a", sessionId=None), id="no session"),
        pytest.param(entry("a", type=None), id="no type"),
        pytest.param(entry(None, type="queue-operation"), id="a note of the CLI, without uuid"),
        pytest.param(entry(None, type="mode", timestamp=None), id="a note without a time"),
    ],
)
def test_claude_leaves_out(entry):
    assert [] == claude(entry)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        pytest.param(entry("a", sessionId=OTHER), "another session", id="session"),
        pytest.param(entry("a", sessionId=7), "another session", id="session of another type"),
        pytest.param(entry(None), "no uuid", id="uuid"),
        pytest.param(entry(7), "no uuid", id="uuid of another type"),
        pytest.param(entry("a", type=[]), "type", id="type of another type"),
        pytest.param(entry("a", timestamp=None), "no timestamp", id="time"),
        pytest.param(entry("a", timestamp=1), "not text", id="time as a number"),
        pytest.param(entry("a", timestamp="2026-04-17"), "RFC 3339", id="a date alone"),
        pytest.param(entry("a", timestamp="2026-04-17T08:00:00"), "RFC 3339", id="no zone"),
        pytest.param(entry("a", timestamp="20260417T080000Z"), "RFC 3339", id="basic ISO form"),
        pytest.param(entry("a", timestamp="2026-02-30T08:00:00Z"), "no instant", id="no such day"),
        pytest.param(entry("a", timestamp="9999-12-31T23:59:59-23:00"), "no instant", id="beyond all calendars"),
        pytest.param(entry("a", timestamp="0001-01-01T00:00:00+23:00"), "no instant", id="before all calendars"),
        pytest.param(entry("s", type="system", timestamp=None), "no timestamp", id="placeholder without a time"),
        pytest.param(b"garbage\n", "not JSON", id="garbage"),
        pytest.param(b'{"a": NaN}\n', "NaN", id="NaN"),
        pytest.param(b"[1]\n", "not a JSON object", id="a list"),
        pytest.param(b'{"a": "\xff"}\n', "byte 300 is not UTF-8", id="bytes"),
        pytest.param(b"[" * 200_000 + b"\n", "not JSON", id="depth"),
        pytest.param(b'{"a": ' + b"1" * 5000 + b"}\n", "not JSON", id="a number without end"),
        pytest.param(b'{"sessionId": "516', "not JSON", id="half a line"),
    ],
)
def test_claude_refuses_and_names_the_line(entry, words):
    padding = b'{"pad": "' + b"x" * 281 + b'"}\n'

    error = refusal(claude, padding, entry)

    assert words in error.message
    assert "/p/x.jsonl, line 2:" in error.message
    assert 2 == error.extra["line"]


def test_claude_keeps_the_file_s_order_whatever_the_times():
    late, early = entry("a", timestamp="2026-04-17T09:00:00Z"), entry("b", timestamp="2026-04-17T08:00:00+00:00")

    assert ["a", "b"] == [record.entry_id for record in claude(late, early)]


def test_claude_s_times_stay_as_they_were_written():
    written = ["2026-04-17t08:00:00z", "2026-04-17T08:00:00.1234567+02:00", "2026-04-17T08:00:00Z"]

    assert written == [record.timestamp for record in claude(*(entry("a", timestamp=text) for text in written))]


def test_claude_s_compaction_summary_restarts():
    records = claude(entry("a"), entry("b", isCompactSummary=True), entry("c", isCompactSummary="true"))

    assert [False, True, False] == [record.restarts for record in records]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"message": "text", "content": "no"}, "text", id="message is a text"),
        pytest.param({"message": {"content": "inner"}, "content": "no"}, "inner", id="message content"),
        pytest.param({"message": {"content": []}, "content": "outer"}, "outer", id="empty message"),
        pytest.param({"message": "", "content": {"content": "outer"}}, "outer", id="empty text"),
    ],
)
def test_claude_takes_the_first_content_that_is_not_empty(changes, expected):
    assert (Chunk("text", expected),) == claude(entry("a", **changes))[0].content


def test_codex_keeps_messages_of_user_and_assistant():
    call = {"timestamp": "2026-04-17T08:00:00Z", "type": "response_item", "payload": {"type": "function_call"}}
    records = codex(META, message(id="m1"), call, message(role="developer"), message(role="assistant", id=""))

    assert [("m1", "user"), ("/p/x.jsonl:5", "assistant")] == [(record.entry_id, record.role) for record in records]
    assert (Chunk("text", "q"),) == records[0].content


def test_codex_refuses_times_that_go_back():
    error = refusal(codex, META, message("2026-04-17T08:00:01Z"), message("2026-04-17T09:59:59+02:00"))

    assert "line 3: its timestamp lies before" in error.message


def test_codex_takes_equal_times_in_any_zone():
    assert 2 == len(codex(META, message("2026-04-17T08:00:00Z"), message("2026-04-17T10:00:00+02:00")))


@pytest.mark.parametrize("metas", [[], [{"type": "session_meta", "payload": {"id": OTHER}}]])
def test_codex_wants_a_meta_line_of_the_session(metas):
    assert "no session_meta" in refusal(codex, *metas, message()).message


def test_codex_takes_a_fork_s_second_meta_line():
    other = {"type": "session_meta", "payload": {"id": OTHER}}

    assert 1 == len(codex(other, META, message()))


def _real(kind):
    return sorted((TRANSCRIPTS / kind).rglob("*.jsonl")) if TRANSCRIPTS.is_dir() else []


def _checked(records, data):
    """Read every record's range again from the file's bytes; return how many hold."""
    for record in records:
        source = record.source
        line = data[source.byte_start : source.byte_end]
        assert hashlib.sha256(line).hexdigest() == source.sha256
        assert data[: source.byte_start].count(b"\n") + 1 == source.line
        assert json.loads(line)["timestamp"] == record.timestamp
        assert json.loads(render(record))["turn_id"] == record.entry_id
    return len(records)


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the real transcripts are not beside this checkout")
@pytest.mark.parametrize("path", _real("claude"), ids=lambda path: f"{path.parts[-5]}-{path.stem}"[-48:])
def test_real_claude_transcript_exports_to_its_bytes(path):
    data = path.read_bytes()
    session = path.parent.parent.name if path.parent.name == "subagents" else path.stem
    lines = scan(data.splitlines(keepends=True))
    reading = claude_lines.canonical_records(lines, Origin(session, "acc", str(path)))
    if path.stem == FORK_OF_2_1_50:
        with pytest.raises(TranscriptMalformed, match="another session"):
            list(reading)
        return

    assert 0 < _checked(list(reading), data)


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the real transcripts are not beside this checkout")
@pytest.mark.parametrize("path", _real("codex"), ids=lambda path: path.stem[-36:])
def test_real_codex_transcript_exports_to_its_bytes(path):
    data = path.read_bytes()
    origin = Origin(path.stem[-36:], "acc", str(path))

    records = list(codex_lines.canonical_records(scan(data.splitlines(keepends=True)), origin))

    assert _checked(records, data) == sum(
        1
        for line in map(json.loads, data.splitlines())
        if line["type"] == "response_item"
        and line["payload"]["type"] == "message"
        and line["payload"]["role"] in ("user", "assistant")
    )
