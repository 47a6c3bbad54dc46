"""Codex's rollouts edited: the copies of a message, what an added one holds and where it goes, and the ordinals."""

import json
import uuid

import pytest

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord, keep_unchanged
from oulipoly_engine.core.rewrite.rewrite import read, rewrite
from oulipoly_engine.core.transcripts.canonical import Chunk, Origin

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
ORIGIN = Origin(SESSION, "acc", "/t.jsonl")
AT, LATER = "2026-04-17T08:00:00Z", "2026-04-17T09:00:00Z"
KINDS = "internal_chat_message_metadata_passthrough"
META = {"type": "session_meta", "payload": {"id": SESSION}}


def message(name, text, role="user", **more):
    block = {"type": "input_text" if role == "user" else "output_text", "text": text}
    payload = {"type": "message", "id": name, "role": role, "content": [block]}
    return {"timestamp": AT, "type": "response_item", "payload": payload | more}


def event(kind, **payload):
    return {"timestamp": AT, "type": "event_msg", "payload": {"type": kind} | payload}


def item(kind, name, text):
    content = [{"type": "text", "text": text}]
    return event("item_completed", item={"type": kind, "id": name, "content": content})


def rollout(*documents, numbered=False):
    numbers = [{"ordinal": place} if numbered else {} for place in range(len(documents) + 1)]
    lines = [number | document for number, document in zip(numbers, (META, *documents), strict=True)]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def said(data):
    return {one.entry_id: one for one in keep_unchanged(read(StorageType.CODEX_SESSION, data, ORIGIN).entries)}


def new(name, *texts, role="user", at=AT):
    return ReplacementRecord(9, name, role, at, tuple(Chunk("text", text) for text in texts or ("new",)))


def kept(data, *names, **changed):
    """Return the documents after a replacement by these messages; `n=…` stands for a new or another state of one."""
    known = said(data)
    wanted = [changed.get(name) or known[name] for name in names]
    return [json.loads(line) for line in rewrite(StorageType.CODEX_SESSION, data, wanted, ORIGIN).data.splitlines()]


def payloads(documents):
    return [document["payload"] for document in documents]


# What a change touches


def test_changed_text_is_changed_in_every_copy():
    data = rollout(
        message("u1", "old"),
        event("user_message", message="old"),
        item("AgentMessage", "a1", "answer"),
        message("a1", "answer", "assistant"),
        event("agent_message", message="answer"),
        event("task_complete", last_agent_message="answer", duration_ms=5),
    )
    documents = kept(data, "u1", "a1", u1=new("u1", "NEW"), a1=new("a1", "ANSWER", role="assistant"))

    text = json.dumps(documents)
    assert (0, 2, 0, 4) == (text.count('"old"'), text.count('"NEW"'), text.count('"answer"'), text.count('"ANSWER"'))
    assert 5 == documents[6]["payload"]["duration_ms"]


def test_changed_time_is_the_message_s_alone():
    data = rollout(message("u1", "one"), event("user_message", message="one"))
    documents = kept(data, "u1", u1=new("u1", "one", at=LATER))

    assert [None, LATER, AT] == [document.get("timestamp") for document in documents]


def test_block_that_comes_to_a_message_looks_like_those_beside_it():
    own = {"type": "output_text", "text": "one", "annotations": [1]}
    data = rollout(message("a1", "one", "assistant", content=[own]))
    documents = kept(data, "a1", a1=new("a1", "one", "two", role="assistant"))

    assert [own, {"type": "output_text", "text": "two", "annotations": []}] == documents[1]["payload"]["content"]


@pytest.mark.parametrize("content", ["one", [], ["one"], None])
def test_block_for_content_without_blocks_is_plain(content):
    data = rollout(message("u1", "x", content=content))
    documents = kept(data, "u1", u1=new("u1", "one", "two"))

    assert {"type": "input_text", "text": "two"} == documents[1]["payload"]["content"][-1]


def test_removed_message_goes_with_its_copies_and_out_of_last_words():
    data = rollout(
        message("u1", "one"),
        item("UserMessage", "x", "one"),
        event("agent_message", message="two"),
        message("a1", "two", "assistant"),
        event("task_complete", last_agent_message="two", duration_ms=5),
    )
    documents = kept(data, "u1")

    assert [META["payload"], "u1", "item_completed", "task_complete"] == [
        payload if payload == META["payload"] else payload.get("id", payload["type"]) for payload in payloads(documents)
    ]
    assert {"type": "task_complete", "last_agent_message": None, "duration_ms": 5} == documents[3]["payload"]


def test_copy_belongs_to_the_message_of_its_id_though_another_says_the_same_nearby():
    data = rollout(
        message("a1", "same", "assistant"),
        item("AgentMessage", "a1", "same"),
        message("a2", "same", "assistant"),
    )

    assert [META["payload"], "a2"] == [
        payload if payload == META["payload"] else payload.get("id") for payload in payloads(kept(data, "a2"))
    ]


def test_removed_messages_leave_what_a_compaction_kept():
    history = [message(name, name)["payload"] for name in ("u1", "u2", "u3")]
    data = rollout(
        message("u1", "u1"),
        message("u2", "u2"),
        message("u3", "u3"),
        {"timestamp": AT, "type": "compacted", "payload": {"message": "", "replacement_history": history}},
    )
    documents = kept(data, "u2")

    assert ["u2"] == [one["id"] for one in documents[-1]["payload"]["replacement_history"]]


# What is added


def test_added_message_is_a_response_item_with_its_own_id():
    data = rollout(message("u1", "one"))

    assert {
        "timestamp": LATER,
        "type": "response_item",
        "payload": {
            "type": "message",
            "id": "n",
            "role": "user",
            "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
        },
    } == kept(data, "u1", "n", n=new("n", "a", "b", at=LATER))[-1]


def test_added_answer_is_output():
    data = rollout(message("u1", "one"))
    added = kept(data, "u1", "n", n=new("n", role="assistant"))[-1]["payload"]

    assert ("assistant", [{"type": "output_text", "text": "new"}]) == (added["role"], added["content"])


@pytest.mark.parametrize(("role", "kind"), [("user", "user.text"), ("assistant", "unknown")], ids=["user", "assistant"])
def test_added_message_has_the_notes_of_its_neighbour(role, kind):
    notes = {"turn_id": "t1", "content_item_kinds": ["x"], "create_time": 5}
    data = rollout(message("m1", "one", role, **{KINDS: notes, "status": "in_progress"}))
    added = kept(data, "m1", "n", n=new("n", "a", "b", role=role))[-1]["payload"]

    assert ("completed", {"turn_id": "t1", "content_item_kinds": [kind, kind]}) == (added["status"], added[KINDS])


def test_added_answer_has_annotations_where_its_neighbour_has():
    block = {"type": "output_text", "text": "one", "annotations": [1]}
    data = rollout(message("a1", "one", "assistant", content=[block]))
    added = kept(data, "a1", "n", n=new("n", role="assistant"))[-1]["payload"]

    assert [{"type": "output_text", "text": "new", "annotations": []}] == added["content"]


def test_notes_without_a_turn_name_none():
    data = rollout(message("m1", "one", **{KINDS: {}}))

    assert {"content_item_kinds": ["user.text"]} == kept(data, "m1", "n", n=new("n"))[-1]["payload"][KINDS]


@pytest.mark.parametrize("notes", [None, "x", []])
def test_notes_that_are_none_are_left_out(notes):
    data = rollout(message("m1", "one", **{KINDS: notes}))
    added = kept(data, "m1", "n", n=new("n"))[-1]["payload"]

    assert {"type", "id", "role", "content"} == set(added)


def test_neighbour_is_the_nearest_above_of_the_same_role():
    data = rollout(
        message("u1", "one", status="a"),
        message("u2", "two"),
        message("a1", "three", "assistant", status="b"),
    )

    assert "status" not in kept(data, "u1", "u2", "a1", "n", n=new("n"))[-1]["payload"]
    assert "status" in kept(data, "u1", "n", "u2", "a1", n=new("n"))[2]["payload"]


def test_neighbour_below_stands_in_where_there_is_none_above():
    data = rollout(message("u1", "one"), message("a1", "two", "assistant", status="b"))
    documents = kept(data, "n", "u1", "a1", n=new("n", role="assistant"))

    assert ("n", "completed") == (documents[1]["payload"]["id"], documents[1]["payload"]["status"])


def test_removed_neighbour_is_still_a_model():
    data = rollout(message("u1", "one", status="x"), message("a1", "two", "assistant"))

    assert ["n", "a1"] == [payload["id"] for payload in payloads(kept(data, "n", "a1", n=new("n")))[1:]]
    assert "completed" == kept(data, "n", "a1", n=new("n"))[1]["payload"]["status"]


# The copy for the screens


def test_added_prompt_has_its_copy_behind_it_and_an_answer_before_it():
    data = rollout(
        message("u1", "one"),
        event("user_message", message="one", images=[]),
        event("agent_message", message="two"),
        message("a1", "two", "assistant"),
    )
    documents = kept(data, "u1", "a1", "m", "n", m=new("m", "q"), n=new("n", "r", role="assistant"))

    assert ["message", "user_message", "agent_message", "message"] == [one["type"] for one in payloads(documents)[-4:]]
    assert ("q", []) == (documents[-3]["payload"]["message"], documents[-3]["payload"]["images"])
    assert ("r", "event_msg", AT) == (
        documents[-2]["payload"]["message"],
        documents[-2]["type"],
        documents[-2]["timestamp"],
    )


def test_copy_of_an_answer_has_its_id_and_a_prompt_s_one_of_its_own():
    data = rollout(
        message("u1", "one"),
        item("UserMessage", "x", "one"),
        item("AgentMessage", "a1", "two"),
        message("a1", "two", "assistant"),
    )
    documents = kept(data, "u1", "a1", "m", "n", m=new("m", "q"), n=new("n", "r", role="assistant"))
    prompt, answer = documents[-3]["payload"]["item"], documents[-2]["payload"]["item"]

    assert (str(uuid.uuid5(uuid.UUID("6f756c70-0000-4000-8000-000000000000"), "m")), "n") == (
        prompt["id"],
        answer["id"],
    )
    assert ("UserMessage", "AgentMessage") == (prompt["type"], answer["type"])
    assert ("q", "r") == (prompt["content"][0]["text"], answer["content"][0]["text"])


def test_last_words_and_kept_histories_are_no_models_for_a_copy():
    history = [message("a1", "two", "assistant")["payload"]]
    data = rollout(
        message("a1", "two", "assistant"),
        event("task_complete", last_agent_message="two"),
        {"timestamp": AT, "type": "compacted", "payload": {"replacement_history": history}},
    )
    documents = kept(data, "a1", "n", n=new("n", role="assistant"))

    assert ["message"] == [document["payload"]["type"] for document in documents[4:]]


def test_copy_is_made_like_the_nearest_one_there_is():
    data = rollout(
        message("u1", "one"),
        event("user_message", message="one", nearest=False),
        message("u2", "two"),
        event("user_message", message="two", nearest=True),
        message("u3", "three"),
    )

    assert kept(data, "u1", "u2", "u3", "n", n=new("n"))[-1]["payload"]["nearest"]


# Where it goes


def heads():
    return [
        event("task_started"),
        {"timestamp": AT, "type": "turn_context", "payload": {}},
        {"timestamp": AT, "type": "world_state", "payload": {}},
        event("thread_settings_applied"),
    ]


def test_added_message_goes_before_what_opens_the_next_one_s_turn():
    data = rollout(message("u1", "one"), event("token_count"), *heads(), message("u2", "two"))
    documents = kept(data, "u1", "n", "u2", n=new("n"))

    assert ["u1", "token_count", "n", "task_started"] == [
        payload.get("id") or payload["type"] for payload in payloads(documents)[1:5]
    ]


def test_added_message_goes_before_the_copy_of_the_next_answer():
    data = rollout(message("u1", "one"), event("agent_message", message="two"), message("a1", "two", "assistant"))
    documents = kept(data, "u1", "n", "a1", n=new("n"))

    assert ["u1", "n", "agent_message", "a1"] == [
        payload.get("id") or payload["type"] for payload in payloads(documents)[1:]
    ]


@pytest.mark.parametrize(
    "between",
    [
        event("token_count"),
        {"timestamp": AT, "type": "other", "payload": {"type": "task_started"}},
        event("x") | {"payload": 5},
    ],
    ids=["another event", "no event", "event without a payload"],
)
def test_what_opens_no_turn_stays_before_the_added_message(between):
    data = rollout(message("u1", "one"), between, message("u2", "two"))
    documents = kept(data, "u1", "n", "u2", n=new("n"))

    assert ["u1", None, "n", "u2"] == [
        document["payload"].get("id") if isinstance(document["payload"], dict) else None for document in documents[1:]
    ]


def test_blank_line_before_the_next_message_ends_what_belongs_to_it():
    opening, last = (rollout(*each).split(b"\n", 1)[1] for each in (heads(), [message("u2", "two")]))
    data = rollout(message("u1", "one")) + opening + b"\n" + last
    known = said(data)

    new_data = rewrite(StorageType.CODEX_SESSION, data, [known["u1"], new("n"), known["u2"]], ORIGIN).data

    lines = new_data.splitlines()
    assert [b"", "n", "u2"] == [lines[-3], *(json.loads(line)["payload"]["id"] for line in lines[-2:])]


def test_added_message_goes_to_the_end_where_only_removed_ones_follow():
    data = rollout(message("u1", "one"), message("u2", "two"), event("token_count"))
    documents = kept(data, "u1", "n", n=new("n"))

    assert ["u1", None, "n"] == [payload.get("id") for payload in payloads(documents)[1:]]


def test_messages_added_together_keep_their_order():
    data = rollout(message("u1", "one"), message("u2", "two"))
    names = [payload["id"] for payload in payloads(kept(data, "u1", "m", "n", "u2", m=new("m"), n=new("n")))[1:]]

    assert ["u1", "m", "n", "u2"] == names


# Ordinals


def ordinals(documents):
    return [document["ordinal"] for document in documents]


def test_ordinals_rise_by_one_behind_what_is_added():
    data = rollout(message("u1", "one"), message("u2", "two"), message("u3", "three"), numbered=True)

    assert [0, 1, 2, 3, 4] == ordinals(kept(data, "u1", "n", "u2", "u3", n=new("n")))


def test_gaps_between_ordinals_take_up_what_is_added():
    documents = [message("u1", "one") | {"ordinal": 5}, message("u2", "two") | {"ordinal": 9}]
    data = rollout(*documents)

    assert [5, 6, 9] == ordinals(kept(data, "u1", "n", "u2", n=new("n"))[1:])


def test_first_of_all_gets_the_ordinal_of_the_beginning():
    data = rollout(message("u1", "one") | {"ordinal": 0})

    assert [0, 1] == ordinals(kept(data, "n", "u1", n=new("n"))[1:])


def test_lines_keep_their_ordinals_where_nothing_is_added():
    data = rollout(message("u1", "one"), message("u2", "two"), message("u3", "three"), numbered=True)

    assert [0, 1, 3] == ordinals(kept(data, "u1", "u3"))


def test_rollout_without_ordinals_gets_none():
    assert not any("ordinal" in document for document in kept(rollout(message("u1", "one")), "u1", "n", n=new("n")))


def test_ordinal_stands_behind_the_time_as_in_the_cli_s_own_lines():
    data = rollout(message("u1", "one"), numbered=True)

    assert ["timestamp", "ordinal", "type", "payload"] == list(kept(data, "u1", "n", n=new("n"))[-1])


@pytest.mark.parametrize(("start", "moved"), [(2, 3), (1, 1), (None, None)], ids=["moved", "stays", "none"])
def test_begin_of_a_sub_agent_s_history_moves_with_its_line(start, moved):
    head = {"type": "session_meta", "payload": {"id": SESSION, "subagent_history_start_ordinal": start}}
    data = rollout(message("u1", "one"), message("u2", "two"), head, numbered=True)
    documents = kept(data, "u1", "n", "u2", n=new("n"))

    assert moved == documents[-1]["payload"]["subagent_history_start_ordinal"]
