import json

import pytest

from oulipoly_engine.core.runs.session_match import Evidence, SessionActivity, choose_session
from oulipoly_engine.core.transcripts.turn_script import EntryLine, LineError, parse_line

ENTRY = {"session_id": "S", "turn_id": "t", "timestamp": "2026-04-17T10:00:00.25+02:00", "role": "user"}


def line(**more):
    return json.dumps(ENTRY | more).encode()


def test_required_fields_make_a_linear_turn():
    assert (EntryLine("S", "t", "2026-04-17T08:00:00.250000Z", "user"), None) == parse_line(line(), 1)


def test_optional_fields_are_taken():
    body = [{"type": "text", "text": "é"}, {"type": "image", "source": {}}]
    entry, error = parse_line(
        line(parent_turn_id="p", is_sidechain=True, is_compaction_boundary=True, body=body, source_file="/f"), 1
    )

    assert error is None
    assert ("p", True, True, "/f") == (
        entry.parent_entry_id,
        entry.is_sidechain,
        entry.is_compaction_boundary,
        entry.source_file,
    )
    assert '[{"type":"text","text":"é"},{"type":"image","source":{}}]' == entry.body


def test_null_means_absent():
    entry, error = parse_line(line(parent_turn_id=None, is_sidechain=None, is_compaction_boundary=None, body=None), 1)

    assert (EntryLine("S", "t", "2026-04-17T08:00:00.250000Z", "user"), None) == (entry, error)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"oops", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"session_id": NaN}', "not JSON"),
        (b"[" * 5000, "not JSON"),
        (line(session_id=""), "`session_id`"),
        (line(turn_id=7), "`turn_id`"),
        (line(role=None), "`role`"),
        (line(turn_id="\ud83d"), "half a character"),
        (line(timestamp="yesterday"), "`timestamp`"),
        (line(timestamp="2026-04-17T08:00:00"), "`timestamp`"),
        (line(timestamp="0001-01-01T00:00:00Z"), "`timestamp`"),
        (line(timestamp="0001-01-01T00:00:00+14:00"), "`timestamp`"),
        (line(is_sidechain="yes"), "`is_sidechain`"),
        (line(is_compaction_boundary=1), "`is_compaction_boundary`"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_malformed_line_is_an_error_with_its_number(raw, said):
    entry, error = parse_line(raw, 7)

    assert (None, 7) == (entry, error.line)
    assert said in error.text


@pytest.mark.parametrize(
    "body", ["text", {}, ["text"], [{}], [{"type": 1}], [{"type": "text", "text": None}], [{"type": "t", "text": 1}]]
)
def test_turn_with_an_invalid_body_is_kept_without_it(body):
    entry, error = parse_line(line(body=body), 3)

    assert EntryLine("S", "t", "2026-04-17T08:00:00.250000Z", "user") == entry
    assert 3 == error.line
    assert "body" in error.text


def test_body_with_half_a_character_keeps_its_escape():
    entry, error = parse_line(line(body=[{"type": "text", "text": "\ud83d"}]), 1)

    assert (r'[{"type":"text","text":"\ud83d"}]', None) == (entry.body, error)


def test_foreign_values_are_shown_short():
    _, error = parse_line(b"x" * 10_000, 1)

    assert isinstance(error, LineError)
    assert len(error.text) < 200


@pytest.mark.parametrize(
    ("active", "chosen"),
    [
        ([], None),
        ([("a", 0, "1")], None),
        ([("a", 1, "1"), ("b", 2, "2")], "b"),
        ([("a", 2, "2"), ("b", 2, "1")], "b"),
        ([("b", 2, "1"), ("a", 2, "1")], "a"),
    ],
    ids=["nothing", "nothing new", "most turns", "earliest turn", "least id"],
)
def test_session_of_a_run_is_the_one_it_filled(active, chosen):
    assert chosen == choose_session(SessionActivity(*one) for one in active)


MINE = SessionActivity("mine", 1, "2", ("fix  the\nbug",), frozenset({"/t/mine.jsonl"}))
WRAPPED = SessionActivity(
    "wrapped", 4, "1", ("<context/>", "please: 'fix the bug' fix the bugs"), frozenset({"/t/wrapped.jsonl"})
)
TWIN = SessionActivity("twin", 3, "1", ("fix the bug",), frozenset({"/t/twin.jsonl"}))
OTHER = SessionActivity("other", 9, "1", ("something else",), frozenset({"/t/other.jsonl"}))


@pytest.mark.parametrize(
    ("active", "evidence", "has_rivals", "chosen"),
    [
        ([OTHER, WRAPPED, MINE], Evidence("fix the bug"), True, "mine"),
        ([OTHER, WRAPPED], Evidence("fix the bug"), True, "wrapped"),
        ([OTHER], Evidence("fix the bug"), True, None),
        ([WRAPPED], Evidence("fix the bu"), True, None),
        ([WRAPPED], Evidence("ease: 'fix"), True, None),
        ([TWIN, MINE], Evidence("fix the bug"), True, None),
        ([TWIN, MINE], Evidence("fix the bug"), False, "twin"),
        ([TWIN, MINE], Evidence("fix the bug", frozenset({"/t/mine.jsonl"})), True, "mine"),
        ([OTHER], Evidence("fix the bug"), False, "other"),
        ([OTHER, MINE], Evidence("fix the bug", frozenset({"/t/other.jsonl", "/lib/x"})), True, "other"),
        ([OTHER, MINE], Evidence(), True, "other"),
    ],
    ids=[
        "says it",
        "holds it",
        "not surely its own",
        "longer behind",
        "longer before",
        "two say it",
        "two of its own",
        "two say it, one was open",
        "nobody else",
        "had it open",
        "nothing known",
    ],
)
def test_session_of_a_run_is_known_by_what_the_run_wrote(active, evidence, has_rivals, chosen):
    assert chosen == choose_session(active, evidence, has_rivals=has_rivals)


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "text", "text": 'a "b" \\ \n\t\r\b\f\x00\x1f\x7f ü 🎉 \u2028 /'},
        {"text": "the other order", "type": "text"},
        {"type": "text", "text": ""},
        {"type": "text", "text": "more", "x": 1.5},
        {"type": "image"},
    ],
    ids=["escapes", "order", "empty", "more keys", "not text"],
)
def test_a_body_is_stored_as_the_encoder_writes_it(chunk):
    entry, error = parse_line(line(body=[chunk] * 2), 1)

    assert error is None
    assert json.dumps([chunk] * 2, ensure_ascii=False, separators=(",", ":")) == entry.body


@pytest.mark.parametrize(
    ("told", "stored"),
    [
        ("2026-11-20T12:00:00.123Z", "2026-11-20T12:00:00.123000Z"),
        ("2026-11-20 12:00:00.123Z", "2026-11-20T12:00:00.123000Z"),
        ("2026-11-20T12:00:00,123Z", "2026-11-20T12:00:00.123000Z"),
        ("2026-W47-5T12:00:00.123Z", "2026-11-20T12:00:00.123000Z"),
        ("2026-11-20T13:00:00+01:00", "2026-11-20T12:00:00.000000Z"),
    ],
)
def test_instants_are_stored_in_one_form(told, stored):
    entry, _ = parse_line(line(timestamp=told), 1)

    assert stored == entry.timestamp
