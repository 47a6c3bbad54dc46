"""Totals are exact to the token, however often a call is told, and wherever."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.ledger.calls import Found, Instants, Place, Tokens, merge_entries, objects
from oulipoly_engine.core.ledger.claude import ClaudeReader
from oulipoly_engine.core.ledger.codex import CodexReader
from oulipoly_engine.store.ledger import calls as rows

AT = "2026-11-10T08:00:00.000Z"


def claude_line(usage, message_id="msg_1", **more):
    message = {"id": message_id, "model": "claude-opus-4-5", "usage": usage}
    record = {"type": "assistant", "uuid": "u", "timestamp": AT, "sessionId": "S", "cwd": "/w", "message": message}
    return json.dumps(record | more, separators=(",", ":")).encode()


def read(reader, content):
    """Let a reader take a whole file at once."""
    reader.begin(None, "rollout-2026-11-10T00-00-00-01a1fc50-ee73-7561-bc1d-000000000001", 77)
    reader.take(bytearray(content), 0, len(content), 0)


def claude(content):
    found = Found()
    read(ClaudeReader("a", found), content)
    return found


def codex(content):
    found = Found()
    read(CodexReader("a", found, lambda session: session), content)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_totals_equal_the_truth(make_bench, seed):
    bench = make_bench(seed).write()

    bench.ledger.update()

    assert bench.truth() == bench.found()


@pytest.mark.parametrize("seed", range(3))
def test_files_in_any_order_give_the_same_rows(make_bench, seed):
    bench = make_bench(seed)
    bench.claude.write()
    bench.codex.write(files=3)  # a family of two: of three, the middle one must not come last
    for file in bench.files():
        file.rename(file.with_suffix(".hidden"))
    for hidden in sorted(bench.folder.rglob("*.hidden"), reverse=True):
        hidden.rename(hidden.with_suffix(".jsonl"))
        bench.ledger.update()

    assert bench.truth() == bench.found()


@pytest.mark.parametrize("spaced", [lambda number, last: True, lambda number, last: number < last / 2])
@pytest.mark.parametrize("seed", range(3))
def test_a_transcript_that_a_tool_wrote_anew_with_spaces_counts_as_before(make_bench, seed, spaced):
    bench = make_bench(seed).write()
    for file in bench.files():
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(loose(one) if spaced(at, len(lines)) else one for at, one in enumerate(lines)))

    bench.ledger.update()

    assert bench.truth() == bench.found()


def loose(line):
    """Return a line as Python's json writes it unless told otherwise; one that is not JSON as it is."""
    try:
        return json.dumps(json.loads(line)).encode() + b"\n"
    except ValueError:
        return line


def test_a_call_belongs_to_the_main_conversation_and_not_to_a_sub_agent_that_repeats_it(bench):
    bench.ledger.update()
    main = [name for name, lines in bench.claude.lines.items() if b'"isSidechain":false' in lines[0]]

    assert {0} == {bench.place_of(name)[1] for name in main}


def test_a_sub_agents_own_call_says_so(bench):
    bench.ledger.update()
    agents = [name for name, lines in bench.claude.lines.items() if b'"isSidechain":true' in lines[0]]

    assert {1} == {bench.place_of(name)[1] for name in agents}


def test_the_greatest_count_of_each_kind_wins_and_the_earliest_instant():
    early = claude_line({"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 8})
    late = claude_line({"input_tokens": 2, "output_tokens": 90}, timestamp="2026-11-10T08:00:05.000Z")

    found = claude(late + b"\n" + early + b"\n")

    assert [(3, 90, 0, 8, 0, 0)] == [entry[2] for entry in found.calls.values()]
    assert [1794297600000] == [entry[0] for entry in found.calls.values()]


def test_a_gateways_ids_count_within_a_session_alone():
    usage = {"input_tokens": 1, "output_tokens": 2}
    lines = [claude_line(usage, "chatcmpl-1", sessionId=session) for session in ("S", "T", "S")]

    assert 2 == len(claude(b"\n".join(lines)).calls)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param({"input_tokens": "12", "output_tokens": 3}, (12, 3), id="text"),
        pytest.param({"input_tokens": None, "output_tokens": 3}, (0, 3), id="null"),
        pytest.param({"input_tokens": -5, "output_tokens": 3}, (0, 3), id="negative"),
        pytest.param({"input_tokens": 10**30, "output_tokens": 3}, (0, 3), id="huge"),
        pytest.param({"input_tokens": 4.0, "output_tokens": 3, "cache_creation": 7}, (4, 3), id="float"),
        pytest.param({"input_tokens": [1], "output_tokens": 3}, (0, 3), id="list"),
        pytest.param({"output_tokens_details": {}, "output_tokens": 3, "input_tokens": 1}, (1, 3), id="order"),
    ],
)
def test_odd_counts_are_read_as_far_as_they_make_sense(usage, expected):
    found = claude(claude_line(usage) + b"\n")

    assert [expected] == [entry[2][:2] for entry in found.calls.values()]
    assert [] == found.damaged


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda line: b"\xef\xbb\xbf" + line, id="byte order mark"),
        pytest.param(lambda line: line.replace(b'"cwd":"/w"', b'"cwd":"\xff\xfe"'), id="bad UTF-8"),
        pytest.param(lambda line: line.replace(b'"cwd":"/w"', b'"cwd":"\\ud83d"'), id="half a character"),
        pytest.param(lambda line: b"\0" * 99 + line, id="NUL"),
        pytest.param(lambda line: line + b"\r", id="CRLF"),
        pytest.param(lambda line: line.replace(b'"cwd":"/w"', b'"cwd":{"a":1}'), id="wrong type"),
        pytest.param(lambda line: line.replace(AT.encode(), b"yesterday"), id="no instant"),
    ],
)
def test_a_spoiled_line_counts_all_the_same(tmp_path, make_bench, spoil):
    bench = make_bench()
    bench.claude.put(bench.claude.folder / "p" / "a.jsonl", [])
    file = bench.claude.folder / "p" / "a.jsonl"
    file.write_bytes(spoil(claude_line({"input_tokens": 3, "output_tokens": 4})) + b"\n")

    bench.ledger.update()

    assert (1, Tokens(3, 4)) == bench.found()["claude"]
    assert 0 == rows.count_damaged_lines(bench.store)


def test_a_record_behind_half_a_line_counts_and_the_half_is_told(bench):
    file = bench.files()[0]
    whole = claude_line({"input_tokens": 3, "output_tokens": 4}, "msg_new").replace(
        b'{"type"', b'{"parentUuid":1,"type"', 1
    )
    with file.open("ab") as end:
        end.write(b'{"parentUuid":2,"message":{"id":"msg_half","te' + whole + b"\n")

    updated = bench.ledger.update()

    assert bench.truth()["claude"][0] + 1 == bench.found()["claude"][0]
    assert 1 == updated.damaged == rows.count_damaged_lines(bench.store)


def test_a_total_told_again_after_other_lines_is_no_call():
    line = (
        b'{"timestamp":"2026-11-10T08:00:00.000Z","type":"event_msg","payload":{"type":"token_count","info":'
        b'{"total_token_usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":2,"reasoning_output_tokens":1},'
        b'"last_token_usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":2,"reasoning_output_tokens":1}}}}\n'
    )
    other = b'{"timestamp":"x","type":"event_msg","payload":{"type":"task_started"}}\n'

    found = codex(line + other + line + line.replace(b'"input_tokens":9', b'"input_tokens": 9'))

    assert [(5, 2, 4, 0, 0, 1)] == [entry[2] for entry in found.calls.values()]


@given(st.binary(max_size=300))
def test_no_bytes_make_a_reader_fail(content):
    for marked in (
        content,
        b'"type":"assistant"' + content,
        b'{"type":"token_count"' + content,
        content + b'"type":"turn_co',
    ):
        claude(marked)
        codex(marked)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
_KEYS = ("type", "message", "data", "usage", "id", "timestamp", "payload", "info", "sessionId", "source", "model")


@given(st.dictionaries(st.sampled_from(_KEYS), _JSON | st.dictionaries(st.sampled_from(_KEYS), _JSON)), st.booleans())
def test_no_json_makes_a_reader_fail(record, is_assistant):
    kind = "assistant" if is_assistant else "token_usage_record"
    content = json.dumps(record | {"type": kind}, separators=(",", ":")).encode() + b"\n"

    claude(content)
    codex(content)


_PLACES = st.builds(
    Place,
    st.just("a"),
    st.just("claude"),
    st.sampled_from("ST"),
    st.just("/w"),
    st.sampled_from(["", "m"]),
    st.booleans(),
)
_ENTRIES = st.tuples(st.integers(0, 9), _PLACES, st.tuples(*[st.integers(0, 9)] * 6), st.none())


@given(_ENTRIES, _ENTRIES, _ENTRIES)
def test_joining_is_associative_and_repeats_change_nothing(one, two, three):
    left, right = merge_entries(merge_entries(one, two), three), merge_entries(one, merge_entries(two, three))

    assert (left[0], left[2]) == (right[0], right[2])
    assert merge_entries(merge_entries(one, two), two) == merge_entries(one, two)
    assert merge_entries(one, two)[2] == merge_entries(two, one)[2]
    assert merge_entries(one, two)[0] == merge_entries(two, one)[0]


@given(st.datetimes(), st.sampled_from(["Z", "+02:00", ""]))
def test_instants_are_read_as_the_standard_library_does(moment, zone):
    text = moment.isoformat(timespec="milliseconds") + zone
    instants = Instants()

    assert instants.ms(text) == instants.ms(text)
    assert (instants.ms(text) is None) <= (zone == "" or moment.year in (1, 9999))


@given(st.lists(st.dictionaries(st.text(max_size=3), st.integers()), max_size=4))
def test_objects_that_were_glued_together_come_apart(records):
    glued = b"".join(json.dumps(record).encode() for record in records)

    assert (records, False) == objects(glued)
