"""What a replacement gives besides bytes: what is read again, its steps, and what a person should know."""

import hashlib
import json

import pytest

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord, keep_unchanged
from oulipoly_engine.core.rewrite.rewrite import read, rewrite
from oulipoly_engine.core.rewrite.steps import Kind
from oulipoly_engine.core.transcripts.canonical import Chunk, Origin, render
from oulipoly_engine.errors import ReplacementInvalid

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
ORIGIN = Origin(SESSION, "acc", "/t.jsonl")
CLAUDE, CODEX = StorageType.CLAUDE_CODE, StorageType.CODEX_SESSION
AT = "2026-04-17T08:00:00Z"
CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}


def entry(uuid, content="x", parent=None, role="user", **more):
    message = {"role": role, "content": content}
    return {"type": role, "uuid": uuid, "parentUuid": parent, "message": message} | more


def transcript(*records):
    shared = {"sessionId": SESSION, "timestamp": AT}
    return b"".join(json.dumps(shared | record).encode() + b"\n" for record in records)


def rollout(*names):
    lines = [{"type": "session_meta", "payload": {"id": SESSION}}]
    for name in names:
        payload = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": name}]}
        lines.append({"timestamp": AT, "type": "response_item", "payload": payload | ({"id": name} if name else {})})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def new(name="n"):
    return ReplacementRecord(7, name, "user", AT, (Chunk("text", "new"),))


def replaced(data, *names, kind=CLAUDE):
    """Replace by entries: a name stands for one of the transcript, anything else for itself."""
    known = {one.entry_id: one for one in keep_unchanged(read(kind, data, ORIGIN).records)}
    return rewrite(kind, data, [known[name] if isinstance(name, str) else name for name in names], ORIGIN)


def refusal(data, *wanted, kind=CLAUDE):
    with pytest.raises(ReplacementInvalid) as caught:
        replaced(data, *wanted, kind=kind)
    return caught.value.message


TALK = transcript(
    entry("u1"), entry("a1", [CALL], "u1", "assistant"), entry("u2", [RESULT], "a1"), entry("u3", "y", "u2")
)


def test_transcript_is_read_from_the_last_summary_on():
    data = transcript(
        entry("u1"),
        entry("s1", isCompactSummary=True),
        entry("u2", parent="s1"),
        entry("s2", isCompactSummary=True),
        {"type": "attachment", "uuid": "x", "parentUuid": "s2"},
        entry("u3", parent="s2"),
    )
    found = read(CLAUDE, data, ORIGIN)

    assert ["s2", "x", "u3"] == [record.entry_id for record in found.records]
    assert ["s2", "u3"] == [record.entry_id for record in found.entries]
    assert {"u1", "s1", "u2"} == found.hidden


def test_transcript_without_a_summary_hides_nothing():
    found = read(CODEX, rollout("a", "b"), ORIGIN)

    assert (["a", "b"], frozenset()) == ([record.entry_id for record in found.records], found.hidden)


def test_hash_is_that_of_the_export():
    found = read(CLAUDE, TALK, ORIGIN)

    assert hashlib.sha256(b"".join(map(render, found.records))).hexdigest() == found.sha256
    assert hashlib.sha256(b"").hexdigest() == read(CLAUDE, b"", ORIGIN).sha256


def test_storage_without_a_canonical_form_is_refused():
    other = next(kind for kind in StorageType if kind not in (CLAUDE, CODEX))

    with pytest.raises(KeyError) as caught:
        read(other, b"", ORIGIN)
    assert (other,) == caught.value.args


def test_nothing_to_do_gives_the_same_bytes_and_reading():
    result = replaced(TALK, "u1", "a1", "u2", "u3")

    assert (TALK, (), {Kind.KEPT}) == (result.data, result.notes, {step.kind for step in result.steps})
    assert read(CLAUDE, TALK, ORIGIN) == result.reading


def test_result_holds_the_reading_of_the_new_bytes_and_the_steps():
    result = replaced(TALK, "u1", "a1", "u2", new())

    assert read(CLAUDE, result.data, ORIGIN) == result.reading
    assert [("kept", "u1"), ("kept", "a1"), ("kept", "u2"), ("removed", "u3"), ("added", "n")] == [
        (step.kind.value, step.entry_id) for step in result.steps
    ]


@pytest.mark.parametrize(
    ("names", "notes"),
    [
        (("u1", "u2", "u3"), ["a1"]),
        (("u1", "a1", "u3"), ["u2"]),
        (("u1", "u3"), ["a1", "u2"]),
        (("u1", "a1", "u2"), []),
    ],
    ids=["call", "result", "both", "neither"],
)
def test_removed_half_of_a_tool_s_work_is_told(names, notes):
    told = "turn {} holds a tool's call or result: the CLI drops or makes up the other half if it is left"

    assert tuple(told.format(name) for name in notes) == replaced(TALK, *names).notes


def test_removed_half_of_a_tool_s_work_is_told_of_a_rollout_as_well():
    payload = {
        "type": "message",
        "role": "user",
        "id": "t",
        "content": [{"type": "tool_use"}, {"type": "x", "text": "y"}],
    }
    data = rollout("a") + json.dumps({"timestamp": AT, "type": "response_item", "payload": payload}).encode() + b"\n"

    assert 1 == len(replaced(data, "a", kind=CODEX).notes)


def test_turn_added_to_a_branch_that_is_not_followed_is_told():
    data = transcript(entry("u1"), entry("b1", parent="u1"), entry("b2", parent="b1"), entry("u2", parent="u1"))
    result = replaced(data, "u1", "b1", new(), "b2", "u2")

    assert (
        "turn n hangs on a branch that Claude Code does not follow: it is kept, and not sent to the model",
    ) == result.notes


def test_turn_added_to_the_branch_that_is_followed_needs_no_word():
    data = transcript(entry("u1"), entry("b1", parent="u1"), entry("u2", parent="u1"))

    assert () == replaced(data, "u1", "b1", "u2", new()).notes


def test_rollout_whose_message_would_lie_in_the_past_is_refused():
    late = {"timestamp": "2026-04-17T07:00:00Z"}
    wanted = ReplacementRecord(7, "n", "user", late["timestamp"], (Chunk("text", "new"),))

    problem = refusal(rollout("a", "b"), "a", wanted, "b", kind=CODEX)

    assert problem.startswith("the transcript would be malformed: /t.jsonl, line 3: its timestamp lies before")


def test_message_without_an_id_of_its_own_may_get_another_name():
    data = rollout("", "b")
    known = keep_unchanged(read(CODEX, data, ORIGIN).records)

    result = rewrite(CODEX, data, [new(), *known], ORIGIN)

    assert ["n", "/t.jsonl:3", "b"] == [record.entry_id for record in result.reading.entries]


def test_turn_that_would_come_out_in_another_form_is_refused():
    wanted = ReplacementRecord(7, "n", "tool", AT, (Chunk("text", "new"),))

    assert "input line 7: turn n would be exported in another form than wanted" == refusal(
        transcript(entry("u1")), "u1", wanted
    )


def test_turn_that_would_be_cut_off_from_the_chain_is_refused():
    data = transcript(entry("u0"), entry("x", "1", "u0"), entry("x", "2", "u0"), entry("u1", parent="x"))

    assert "turn u0 would be cut off from the entries that Claude Code follows" == refusal(data, "u0", "u1")
