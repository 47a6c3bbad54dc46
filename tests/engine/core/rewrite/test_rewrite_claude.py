"""Claude Code's transcripts edited: where text stands, what an added record holds, and how the chain is closed."""

import hashlib
import json

import pytest

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.rewrite.claude import active_entries
from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord, keep_unchanged
from oulipoly_engine.core.rewrite.rewrite import read, rewrite
from oulipoly_engine.core.transcripts.canonical import Chunk, Origin
from oulipoly_engine.errors import ReplacementInvalid

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
ORIGIN = Origin(SESSION, "acc", "/t.jsonl")
AT, LATER = "2026-04-17T08:00:00Z", "2026-04-17T09:00:00Z"


def user(uuid, content="x", parent=None, **more):
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"role": "user", "content": content}} | more


def reply(uuid, content="x", parent=None, model="opus", **more):
    message = {"id": f"msg_{uuid}", "role": "assistant", "model": model, "content": [{"type": "text", "text": content}]}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message} | more


def transcript(*records):
    shared = {"sessionId": SESSION, "timestamp": AT}
    return b"".join(json.dumps(shared | record).encode() + b"\n" for record in records)


def said(data):
    """Return the entries of a transcript as they are wanted back, by id."""
    return {one.entry_id: one for one in keep_unchanged(read(StorageType.CLAUDE_CODE, data, ORIGIN).entries)}


def new(name, *texts, role="user"):
    return ReplacementRecord(9, name, role, LATER, tuple(Chunk("text", text) for text in texts or ("new",)))


def with_text(one, text):
    return ReplacementRecord(9, one.entry_id, one.role, one.timestamp, (Chunk("text", text),))


def rewritten(data, wanted):
    result = rewrite(StorageType.CLAUDE_CODE, data, wanted, ORIGIN)
    return [json.loads(line) for line in result.data.splitlines() if line.strip()]


def kept(data, *names, **added):
    """Return the records after a replacement by these entries; `n=…` stands for one that is new."""
    known = said(data)
    return rewritten(data, [added.get(name) or known[name] for name in names])


def links(records):
    return [(record.get("uuid"), record.get("parentUuid")) for record in records]


def refusal(data, wanted):
    with pytest.raises(ReplacementInvalid) as caught:
        rewrite(StorageType.CLAUDE_CODE, data, wanted, ORIGIN)
    return caught.value.message


# Where a text stands


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ({"message": "old"}, {"message": "new"}),
        ({"message": {"content": "old"}}, {"message": {"content": "new"}}),
        ({"content": "old"}, {"content": "new"}),
        ({"message": {"content": ""}, "content": "old"}, {"message": {"content": ""}, "content": "new"}),
        ({"message": {"content": "old"}, "content": "z"}, {"message": {"content": "new"}, "content": "z"}),
        ({"message": "old", "content": "z"}, {"message": "new", "content": "z"}),
        ({"message": {"role": "user"}, "content": "old"}, {"message": {"role": "user"}, "content": "new"}),
        ({"message": {"content": []}}, {"message": {"content": [{"type": "text", "text": "new"}]}}),
        ({"content": ""}, {"content": "new"}),
    ],
    ids=[
        "message",
        "content of the message",
        "content of the record",
        "message without text",
        "message before content",
        "text before content",
        "message without content",
        "no blocks yet",
        "empty text",
    ],
)
def test_text_is_changed_where_an_export_reads_it(held, expected):
    data = transcript({"type": "user", "uuid": "u1", "parentUuid": None} | held)
    (record,) = rewritten(data, [with_text(said(data)["u1"], "new")])

    assert expected == {key: record[key] for key in expected}


@pytest.mark.parametrize("held", [{}, {"message": {"role": "user"}}, {"message": 5}])
def test_turn_without_a_place_for_text_cannot_be_changed(held):
    data = transcript(user("u0"), {"type": "user", "uuid": "u1", "parentUuid": "u0"} | held)
    entries = said(data)

    problem = "input line 9: turn u1 has no content in the transcript that could be changed"
    assert problem == refusal(data, [entries["u0"], with_text(entries["u1"], "new")])


def test_time_alone_is_changed_without_touching_the_text():
    data = transcript(user("u1", "café"))
    one = said(data)["u1"]

    (record,) = rewritten(data, [ReplacementRecord(9, "u1", "user", LATER, one.content)])

    assert json.loads(data) | {"timestamp": LATER} == record


# What is added


def test_added_prompt_is_linked_and_inherits_from_the_nearest_prompt():
    near = {"cwd": "/w", "version": "2.1", "gitBranch": "main", "userType": "external", "entrypoint": "cli"}
    near |= {"slug": "s", "agentId": "g", "isSidechain": False}
    data = transcript(user("u1", **near, promptId="p"), reply("a1", parent="u1", cwd="/other"))
    added = kept(data, "u1", "a1", "n", n=new("n", "hello"))[-1]

    assert (
        near
        | {
            "parentUuid": "a1",
            "type": "user",
            "message": {"role": "user", "content": "hello"},
            "uuid": "n",
            "timestamp": LATER,
            "sessionId": SESSION,
        }
        == added
    )


def test_added_answer_has_all_that_the_cli_needs():
    data = transcript(user("u1"), reply("a1", parent="u1", model="opus-4"))
    added = kept(data, "u1", "a1", "n", n=new("n", "hello", role="assistant"))[-1]

    assert {
        "parentUuid": "a1",
        "isSidechain": False,
        "type": "assistant",
        "message": {
            "id": f"msg_{hashlib.sha256(b'n').hexdigest()[:24]}",
            "type": "message",
            "role": "assistant",
            "model": "opus-4",
            "content": [{"type": "text", "text": "hello"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 0,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 0,
            },
        },
        "uuid": "n",
        "timestamp": LATER,
        "sessionId": SESSION,
    } == added


@pytest.mark.parametrize(
    ("texts", "content"),
    [
        (("a", "b"), [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        (("",), [{"type": "text", "text": ""}]),
        (("a",), "a"),
    ],
    ids=["several", "an empty one", "one"],
)
def test_added_prompt_of_one_text_is_kept_as_typed(texts, content):
    data = transcript(user("u1"))

    assert content == kept(data, "u1", "n", n=new("n", *texts))[-1]["message"]["content"]


@pytest.mark.parametrize(
    ("records", "model"),
    [
        ([reply("a1", model="near"), user("u1")], "near"),
        ([reply("a0", model="far"), reply("a1", model="near"), user("u1")], "near"),
        ([reply("a0", model="far"), reply("a1", model="<synthetic>"), user("u1")], "far"),
        ([reply("a0", model="far"), reply("a1", model=None), user("u1")], "far"),
        ([user("u1")], "unknown"),
    ],
    ids=["nearest", "nearest of two", "not what no model said", "not one without", "none"],
)
def test_added_answer_is_of_the_nearest_model(records, model):
    data = transcript(*records)
    names = [record["uuid"] for record in records]

    assert model == kept(data, *names, "n", n=new("n", role="assistant"))[-1]["message"]["model"]


@pytest.mark.parametrize(("between", "model"), [(199, "far"), (200, "unknown")])
def test_model_is_looked_for_in_the_nearest_200_turns(between, model):
    names = [f"u{number}" for number in range(between)]
    data = transcript(reply("a1", model="far"), *map(user, names))

    assert model == kept(data, "a1", *names, "n", n=new("n", role="assistant"))[-1]["message"]["model"]


def test_answer_in_front_of_all_is_of_the_model_behind_it():
    data = transcript(user("u1", cwd="/user"), reply("a1", parent="u1", model="behind", cwd="/reply"))
    first = kept(data, "n", "u1", "a1", n=new("n", role="assistant"))[0]

    assert ("n", None, "behind", "/reply") == (
        first["uuid"],
        first["parentUuid"],
        first["message"]["model"],
        first["cwd"],
    )


def test_session_is_written_as_the_cli_writes_it():
    data = transcript(user("u1", sessionId=SESSION.upper()))

    assert SESSION.upper() == kept(data, "u1", "n", n=new("n"))[-1]["sessionId"]


def test_turn_in_front_of_all_inherits_from_the_next_and_not_from_the_last():
    data = transcript(user("u1", cwd="/next"), user("u2", parent="u1", cwd="/last"))

    assert "/next" == kept(data, "n", "u1", "u2", n=new("n"))[0]["cwd"]


def test_answer_named_by_half_a_pair_of_surrogates_has_an_id():
    added = kept(transcript(user("u1")), "u1", "n", n=new("\ud800", role="assistant"))[-1]

    assert ("\ud800", f"msg_{hashlib.sha256(bytes.fromhex('eda080')).hexdigest()[:24]}") == (
        added["uuid"],
        added["message"]["id"],
    )


def test_nearest_of_another_role_stands_in_where_there_is_none_of_the_same():
    data = transcript(user("u0", cwd="/far"), user("u1", parent="u0", cwd="/near"))
    added = kept(data, "u0", "u1", "n", n=new("n", role="assistant"))[-1]

    assert ("/near", "unknown") == (added["cwd"], added["message"]["model"])


def test_records_that_are_no_turns_are_not_inherited_from():
    data = transcript(user("u1", cwd="/w"), {"type": "attachment", "uuid": "x", "parentUuid": "u1", "cwd": "/x"})

    assert "/w" == kept(data, "u1", "n", n=new("n", role="assistant"))[-1]["cwd"]


# The chain


def test_turns_added_together_hang_one_on_the_other():
    data = transcript(user("u1"), reply("a1", parent="u1"))
    records = kept(data, "u1", "m", "n", "a1", m=new("m"), n=new("n", role="assistant"))

    assert [("u1", None), ("m", "u1"), ("n", "m"), ("a1", "n")] == links(records)


def test_turns_added_in_two_places_find_theirs():
    data = transcript(user("u1"), reply("a1", parent="u1"), user("u2", parent="a1"))
    records = kept(data, "m", "u1", "a1", "n", "u2", "o", m=new("m"), n=new("n"), o=new("o"))

    assert [("m", None), ("u1", "m"), ("a1", "u1"), ("n", "a1"), ("u2", "n"), ("o", "u2")] == links(records)


def test_removed_run_hands_its_children_to_what_is_left_above():
    data = transcript(user("u1"), reply("a1", parent="u1"), user("u2", parent="a1"), reply("a2", parent="u2"))

    assert [("u1", None), ("a2", "u1")] == links(kept(data, "u1", "a2"))
    assert [("a2", None)] == links(kept(data, "a2"))


def test_turn_takes_the_place_of_one_that_goes():
    data = transcript(user("u1"), reply("a1", parent="u1"), user("u2", parent="a1"))

    assert [("u1", None), ("n", "u1"), ("u2", "n")] == links(kept(data, "u1", "n", "u2", n=new("n", role="assistant")))


def test_branches_behind_the_place_move_below_what_is_added_and_those_before_it_stay():
    data = transcript(
        user("u1"),
        reply("b0", parent="u1"),
        reply("a1", parent="u1"),
        reply("b2", parent="u1"),
    )
    records = kept(data, "u1", "b0", "n", "a1", "b2", n=new("n"))

    assert [("u1", None), ("b0", "u1"), ("n", "u1"), ("a1", "n"), ("b2", "n")] == links(records)


def test_branches_behind_a_second_addition_move_on_with_it():
    data = transcript(user("u1"), *(reply(name, parent="u1") for name in ("a1", "b2", "b3")))
    records = kept(data, "u1", "m", "a1", "n", "b2", "b3", m=new("m"), n=new("n"))

    assert [("u1", None), ("m", "u1"), ("a1", "m"), ("n", "m"), ("b2", "n"), ("b3", "n")] == links(records)


def test_chain_is_closed_over_removed_turns_that_stand_before_their_parents():
    data = transcript(reply("a1", parent="u1"), user("u1", parent="u0"), user("u0"), user("u2", parent="a1"))

    assert [("u0", None), ("u2", "u0")] == links(kept(data, "u0", "u2"))


def test_transcript_without_turns_may_get_its_first_one():
    first = kept(transcript({"type": "mode"}), "n", n=new("n"))[-1]

    assert {
        "parentUuid": None,
        "isSidechain": False,
        "type": "user",
        "message": {"role": "user", "content": "new"},
        "uuid": "n",
        "timestamp": LATER,
        "sessionId": SESSION,
    } == first


def test_first_turn_may_get_another_before_it():
    data = transcript(user("u1"), user("u2"))

    assert [("n", None), ("u1", "n"), ("u2", None)] == links(kept(data, "n", "u1", "u2", n=new("n")))


def test_transcript_without_a_chain_keeps_none():
    names = ("u1", "u2", "u3", "u4")
    data = transcript(*({"type": "user", "uuid": name, "message": {"content": "x"}} for name in names))
    records = kept(data, "u1", "u2", "u3", "n", "u4", n=new("n"))

    assert [("u1", None), ("u2", None), ("u3", None), ("n", "u3"), ("u4", None)] == links(records)
    assert "parentUuid" not in records[4]
    assert [("n", None), ("u1", None)] == links(kept(data, "n", *names, n=new("n")))[:2]


def test_two_records_of_one_id_keep_their_children_when_one_goes():
    data = transcript(user("u1", "1"), user("u1", "2"), reply("a1", parent="u1"))
    first = said(data)["u1"]

    records = rewritten(data, [with_text(first, "1"), said(data)["a1"]])

    assert [("u1", None), ("a1", "u1")] == links(records)


@pytest.mark.parametrize("key", ["leafUuid", "logicalParentUuid"])
def test_note_that_names_a_removed_turn_names_the_one_above(key):
    data = transcript(
        user("u1"),
        reply("a1", parent="u1"),
        user("u2", parent="a1"),
        {"type": "summary", "uuid": "s", "parentUuid": None, key: "u2"},
    )

    assert ["a1", "u1"] == [kept(data, *names)[-1][key] for names in (("u1", "a1"), ("u1",))]


def test_last_prompt_names_what_was_appended_and_earlier_ones_stay():
    prompts = [{"type": "last-prompt", "leafUuid": "u1"} for _ in range(2)]
    data = transcript(user("u1"), prompts[0], prompts[1])
    records = kept(data, "u1", "m", "n", m=new("m"), n=new("n"))

    assert ["u1", "n"] == [record["leafUuid"] for record in records if "leafUuid" in record]


def test_appended_turn_hangs_on_the_last_record_and_not_on_the_last_prompt():
    data = transcript(
        user("u1"),
        user("side", parent="u1", isSidechain=True),
        reply("a1", parent="u1"),
        {"type": "last-prompt", "leafUuid": "u1"},
    )
    records = kept(data, "u1", "side", "a1", "n", n=new("n"))

    assert [("u1", None), ("side", "u1"), ("a1", "u1"), ("n", "a1"), (None, None)] == links(records)


def test_turn_behind_a_side_chain_goes_on_with_the_main_chain():
    side = user("side", parent="u1", isSidechain=True, agentId="g", cwd="/side")
    other = side | {"type": "attachment", "uuid": "x", "parentUuid": "side"}
    data = transcript(user("u1", cwd="/main"), side, other)
    records = kept(data, "u1", "side", "n", n=new("n"))

    assert [("u1", None), ("side", "u1"), ("x", "side"), ("n", "u1")] == links(records)
    assert (False, "/main", None) == (records[-1]["isSidechain"], records[-1]["cwd"], records[-1].get("agentId"))
    assert {"u1", "n"} == active_entries(records)


def test_turn_added_before_one_of_the_main_chain_belongs_to_it_whatever_stands_before():
    side = user("side", parent="u1", isSidechain=True, agentId="g")
    records = kept(transcript(user("u1"), side, user("u2", parent="u1")), "u1", "side", "n", "u2", n=new("n"))

    assert [("u1", None), ("side", "u1"), ("n", "u1"), ("u2", "n")] == links(records)
    assert (False, None) == (records[2]["isSidechain"], records[2].get("agentId"))


def test_side_chain_alone_is_gone_on_with():
    data = transcript(user("u1", isSidechain=True), {"type": "mode"})

    records = kept(data, "u1", "n", n=new("n"))

    assert [("u1", None), ("n", "u1"), (None, None)] == links(records)
    assert records[1]["isSidechain"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (["mode", "u1"], ["mode", "user"]),
        (["u1", "mode"], ["mode", "user"]),
        (["mode", "u1", "mode", "mode"], ["mode", "mode", "mode", "user"]),
        (["u1"], ["user"]),
    ],
    ids=["note before", "note behind", "notes around", "nothing else"],
)
def test_turn_that_replaces_all_others_goes_to_the_end(order, expected):
    data = transcript(*(user("u1") if name == "u1" else {"type": name} for name in order))

    assert expected == [record["type"] for record in kept(data, "n", n=new("n"))]


@pytest.mark.parametrize("key", ["leafUuid", "logicalParentUuid", "parentUuid"])
def test_link_that_stays_keeps_its_bytes(key):
    note = transcript({"type": "summary", "uuid": "s", key: "u1"}).replace(b'"u1"', b'"u\\u0031"')
    data = transcript(user("u1"), user("u2", parent="u1")) + note

    result = rewrite(StorageType.CLAUDE_CODE, data, [said(data)["u1"]], ORIGIN)

    assert result.data.endswith(note)


# What is refused


def test_summary_of_a_compaction_stays_and_stays_first():
    data = transcript(user("u1"), user("s1", isCompactSummary=True), user("u2", parent="s1"))
    entries = said(data)

    assert "turn s1 is the summary of a compaction: without it all that it sums up would come back" == refusal(
        data, [entries["u2"]]
    )
    assert "input line 9: nothing can be added before the summary of a compaction" == refusal(
        data, [new("n"), entries["s1"], entries["u2"]]
    )


# Which turns the CLI follows


@pytest.mark.parametrize(
    ("records", "followed"),
    [
        ([], set()),
        ([user("a"), user("b", parent="a"), user("c", parent="a")], {"a", "c"}),
        ([user("a"), user("b", parent="gone")], {"b"}),
        ([user("a"), user("b", parent="a"), user("s", parent="a", isSidechain=True)], {"a", "b"}),
        ([user("a", parent="b"), user("b", parent="a")], {"a", "b"}),
        ([user("a"), {"type": "mode"}, {"uuid": 5}], {"a"}),
        ([user("s", isSidechain=True)], set()),
    ],
    ids=["none", "a branch", "parent gone", "side chain", "circle", "notes", "side chain alone"],
)
def test_chain_is_followed_from_the_last_leaf(records, followed):
    assert followed == active_entries(records)
