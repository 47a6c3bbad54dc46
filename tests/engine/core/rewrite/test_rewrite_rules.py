"""What a replacement may ask for, and what it is told when it may not."""

import json

import pytest

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.rewrite.replacement_input import parse
from oulipoly_engine.core.rewrite.rewrite import read, rewrite
from oulipoly_engine.core.transcripts.canonical import Origin, render
from oulipoly_engine.errors import ReplacementInvalid

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
ORIGIN = Origin(SESSION, "acc", "/t.jsonl")
KINDS = {"claude": StorageType.CLAUDE_CODE, "codex": StorageType.CODEX_SESSION}


def claude(*records):
    shared = {"sessionId": SESSION, "timestamp": "2026-04-17T08:00:00Z"}
    return b"".join(json.dumps(shared | record).encode() + b"\n" for record in records)


def entry(uuid, role, content, **more):
    return {"type": role, "uuid": uuid, "message": {"role": role, "content": content}} | more


def codex(*messages):
    lines = [{"type": "session_meta", "payload": {"id": SESSION, "cwd": "/w"}}]
    for number, (role, text) in enumerate(messages):
        block = {"type": "input_text" if role == "user" else "output_text", "text": text}
        payload = {"type": "message", "role": role, "content": [block]}
        lines.append({"timestamp": f"2026-04-17T08:00:0{number}Z", "type": "response_item", "payload": payload})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def exported(data, kind="claude"):
    return [json.loads(render(record)) for record in read(KINDS[kind], data, ORIGIN).records]


def changed(data, records, kind="claude"):
    """Return a transcript after a replacement by records, given as an export's JSON values."""
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    return rewrite(KINDS[kind], data, parse(lines, SESSION, "acc"), ORIGIN).data


def objects(data):
    return [json.loads(line) for line in data.splitlines() if line.strip()]


def with_text(record, text):
    return record | {"content": [{"type": "text", "text": text}]}


TOOL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
TALK = claude(
    entry("u1", "user", "one", parentUuid=None),
    {"type": "attachment", "uuid": "x1", "parentUuid": "u1"},
    entry("a1", "assistant", [{"type": "text", "text": "two"}, TOOL], parentUuid="x1"),
    entry("u2", "user", "three", parentUuid="a1"),
)


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        pytest.param(lambda first, *_: [first | {"role": "system"}], 1, "role", id="role"),
        pytest.param(lambda first, *_: [first | {"role": "assistant"}], 1, "cannot become", id="other-role"),
        pytest.param(lambda first, *_: [first | {"unsupported_record": True}], 1, "a turn, not", id="unsupported"),
        pytest.param(lambda first, *_: [first | {"content": []}], 1, "without content", id="no-content"),
        pytest.param(lambda first, *_: [first | {"content": [{"type": "text"}]}], 1, "has no text", id="no-text"),
        pytest.param(lambda first, *_: [first | {"session_id": "x"}], 1, "session 'x'", id="session"),
        pytest.param(lambda first, *_: [first | {"provider_name": "x"}], 1, "account 'x'", id="account"),
        pytest.param(lambda first, *_: [first | {"source": {}}], 1, "source.storage_type", id="source"),
        pytest.param(lambda a, x, b, c: [c, a], 2, "cannot be moved", id="moved"),
        pytest.param(lambda a, x, b, c: [a, a], 2, "cannot be moved", id="twice"),
        pytest.param(lambda a, x, b, c: [a, x | {"role": "note"}], 2, "is the attachment's", id="changed-placeholder"),
        pytest.param(lambda a, x, b, c: [a, x | {"turn_id": "new"}], 2, "is not a turn", id="unknown-placeholder"),
        pytest.param(lambda a, x, b, c: [x], None, "no turn would be left", id="no-turn"),
        pytest.param(
            lambda a, x, b, c: [a, b | {"turn_id": "new"}], 2, "no text, so it cannot", id="added-call-of-a-tool"
        ),
        pytest.param(
            lambda a, x, b, c: [a, b | {"content": [b["content"][1] | {"text": "x"}]}],
            2,
            "cannot be",
            id="text-of-a-tool",
        ),
    ],
)
def test_what_cannot_be_written_without_loss_is_refused_with_its_line(change, line, words):
    with pytest.raises(ReplacementInvalid, match=words) as caught:
        changed(TALK, change(*exported(TALK)))

    assert line == caught.value.extra.get("line")


def test_text_is_changed_and_the_tool_s_block_beside_it_is_not():
    first, note, answer, last = exported(TALK)
    answer["content"][0]["text"] = "2"

    new = changed(TALK, [first, note, answer, last])

    assert TALK.replace(b'"two"', b'"2"') == new


def test_spaces_escapes_and_repeated_keys_of_a_changed_line_stay():
    raw = (
        b'{ "sessionId":"%s", "type" : "user","uuid":"u1" ,"n":1.0, "n":1e2,"timestamp":"2026-04-17T08:00:00Z",'
        b'"message":{"content":"caf\\u00e9"} }\r\n\n' % SESSION.encode()
    )

    assert raw.replace(b"caf\\u00e9", "Tür".encode()) == changed(raw, [with_text(exported(raw)[0], "Tür")])


def test_chain_is_closed_over_what_is_removed():
    first, note, _, last = exported(TALK)

    new = objects(changed(TALK, [first, note, last]))

    assert [("u1", None), ("x1", "u1"), ("u2", "x1")] == [(one["uuid"], one["parentUuid"]) for one in new]


def test_added_turns_are_linked_into_the_chain_with_what_the_cli_needs():
    data = claude(
        entry("u1", "user", "one", parentUuid=None, cwd="/w", version="2.1.197"),
        entry("a1", "assistant", [{"type": "text", "text": "two"}], parentUuid="u1", cwd="/w"),
        {"type": "last-prompt", "leafUuid": "a1"},
    )
    records = objects(data)
    records[1]["message"] |= {"id": "msg_1", "model": "opus"}
    data = claude(*records)
    first, second = exported(data)
    question, reply = with_text(first | {"turn_id": "u2"}, "three"), with_text(second | {"turn_id": "a2"}, "four")

    new = objects(changed(data, [first, second, question, reply]))

    assert ["u1", "a1", "u2", "a2", None] == [one.get("uuid") for one in new]
    assert [None, "u1", "a1", "u2"] == [one["parentUuid"] for one in new[:4]]
    assert "a2" == new[4]["leafUuid"]
    assert ("/w", "2.1.197", "three") == (new[2]["cwd"], new[2]["version"], new[2]["message"]["content"])
    assert "opus" == new[3]["message"]["model"]
    assert new[3]["message"]["id"] not in ("msg_1", None)


def test_turn_added_in_between_takes_over_what_followed():
    first, _, answer, last = exported(TALK)
    added = with_text(first | {"turn_id": "new"}, "in between")

    new = objects(changed(TALK, [first, added, answer, last]))

    assert ["u1", "x1", "new", "a1", "u2"] == [one["uuid"] for one in new]
    assert [None, "u1", "x1", "new", "a1"] == [one["parentUuid"] for one in new]


def test_messages_without_ids_are_named_by_their_new_lines():
    data = codex(("user", "one"), ("assistant", "two"), ("user", "three"))
    _, second, third = exported(data, "codex")

    new = changed(data, [second, third], "codex")

    assert ["/t.jsonl:2", "/t.jsonl:3"] == [record["turn_id"] for record in exported(new, "codex")]
    assert data.splitlines()[2:] == new.splitlines()[1:]


def test_codex_turn_that_goes_back_in_time_is_refused():
    data = codex(("user", "one"), ("assistant", "two"))
    first, second = exported(data, "codex")

    with pytest.raises(ReplacementInvalid, match="malformed"):
        changed(data, [first, second | {"timestamp": "2026-04-17T07:00:00Z"}], "codex")


def test_turns_before_a_compaction_are_left_alone():
    head = claude(entry("u1", "user", "old", parentUuid=None), entry("a1", "assistant", "older", parentUuid="u1"))
    tail = claude(
        entry("s1", "user", "the summary", parentUuid=None, isCompactSummary=True),
        entry("u2", "user", "x", parentUuid="s1"),
    )
    summary, last = exported(head + tail)

    new = changed(head + tail, [summary, with_text(last, "y")])

    assert head + tail.replace(b'"x"', b'"y"') == new
    with pytest.raises(ReplacementInvalid, match="summary of a compaction"):
        changed(head + tail, [last])
    with pytest.raises(ReplacementInvalid, match="before the summary"):
        changed(head + tail, [with_text(last | {"turn_id": "n"}, "z"), summary, last])


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"", None), (b"\n", 1), (b"\xff\n", 1), (b"[]\n", 1), (b"{\n", 1), (b"NaN\n", 1), (b'{"turn_id": 1}\n', 1)],
)
def test_input_that_no_export_wrote_is_refused(data, line):
    with pytest.raises(ReplacementInvalid) as caught:
        parse(data, SESSION, "acc")

    assert line == caught.value.extra.get("line")
