"""`codex proto`: what it is told, what it says, and what becomes of a run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.text.lines import LineSplitter
from oulipoly_engine.drivers.base import NotSupported, Opening, Resolution, ReviewTarget
from oulipoly_engine.drivers.codex_proto import CodexProtoDriver


def driver(*, opens=True, **fields):
    one = CodexProtoDriver(Opening(**{"cwd": "/w", "new_id": "n", **fields}))
    one.begin()
    if opens:
        one.take()
        tell(one, "", "session_configured", session_id="thread", model="gpt-5")
        one.take()
    return one


def tell(one, run, kind, **fields):
    one.receive(json.dumps({"id": run, "msg": {"type": kind, **fields}}).encode())


def taken(one):
    output = one.take()
    return [json.loads(line) for line in output.data.splitlines()], output.events


def ended(one):
    return [(event.status, event.reply) for event in one.take().events if isinstance(event, ev.TurnEnded)]


def items(one):
    return [event.item for event in one.take().events if isinstance(event, ev.ItemEnded)]


def test_what_it_is_started_with_says_everything_before_proto_and_no_folder():
    opening = Opening(cwd="/w", new_id="n", model="gpt 5", effort="high", args=("-c", "tools.web_search=true"))

    assert (
        *("-c", 'model="gpt 5"', "-c", "model_reasoning_effort=high", "-c", "approval_policy=untrusted"),
        *("-c", "sandbox_mode=workspace-write", "-c", "tools.web_search=true", "proto"),
    ) == CodexProtoDriver.words(opening)


def test_it_is_configured_once_and_open_when_it_says_so():
    one = driver(opens=False, model="gpt-5")
    ((told,), before) = taken(one)
    tell(one, "", "session_configured", session_id="thread", model="gpt-5.1")
    (opened,) = one.take().events

    assert ("configure_session", "gpt-5", ()) == (told["op"]["type"], told["op"]["model"], before)
    assert ("thread", "gpt-5.1") == (opened.native_id, opened.model)


def test_without_a_handshake_it_goes_on_after_two_seconds():
    one = driver(opens=False)
    one.take()
    waits = [one.tick(10.0), round(one.tick(11.5), 3)]
    before = one.take().events
    after = one.tick(12.1)

    assert ([2.0, 0.5], (), None) == (waits, before, after)
    assert [ev.SessionOpened] == [type(event) for event in one.take().events]


def test_a_program_that_prints_its_own_words_is_ready():
    one = driver(opens=False)
    one.receive(b"CWD:/w")

    assert [ev.SessionOpened] == [type(event) for event in one.take().events]


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        (([("agent_message", "message", "one"), ("agent_message", "message", "two")], "two"), "one\ntwo"),
        (([("agent_message_delta", "delta", "on"), ("agent_message_delta", "delta", "e")], "last"), "one"),
        (([], "last"), "last"),
    ],
    ids=["messages", "deltas", "the end's own"],
)
def test_the_reply_is_all_messages_else_the_pieces_else_the_last_message(said, reply):
    one = driver()
    one.send("run", "hello")
    for kind, field, text in said[0]:
        tell(one, "run", kind, **{field: text})
    tell(one, "other", "task_complete")
    tell(one, "run", "task_complete", last_agent_message=said[1])

    assert [("completed", reply)] == ended(one)


def test_pieces_and_their_whole_message_are_one_item():
    one = driver()
    one.send("run", "hello")
    tell(one, "run", "agent_message_delta", delta="He")
    tell(one, "run", "agent_message_delta", delta="llo")
    tell(one, "run", "agent_message", message="Hello")

    assert ["hello", "Hello"] == [item.text for item in items(one)]


def test_an_error_marks_the_reply_and_the_run_ends_even_if_nothing_more_comes():
    one = driver()
    one.send("run", "hello")
    tell(one, "run", "agent_message", message="half")
    tell(one, "run", "error", message="no network")
    waits = [one.tick(5.0), one.tick(7.0)]

    assert [2.0, None] == waits
    assert [("failed", "[error] no network\nhalf")] == ended(one)


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ("approve", {"type": "approval_decision", "decision": "approve", "scope": "once"}),
        ("approve_for_session", {"type": "approval_decision", "decision": "approve", "scope": "session"}),
        ("deny", {"type": "approval_decision", "decision": "deny"}),
        ("expire", {"type": "approval_decision", "decision": "deny"}),
    ],
)
def test_an_approval_names_its_files_and_is_answered_once(decision, told):
    one = driver()
    one.send("run", "change it")
    changes = {"docs/a": {"add": True, "content": "hello"}, "b": {"update": {"unified_diff": "@@"}}}
    tell(one, "run", "apply_patch_approval_request", call_id="call-1", changes=changes, justification="why")
    asked = one.take().events[-1]
    one.answer("call-1", Resolution(decision))
    one.answer("call-1", Resolution(decision))

    assert ("file_change_approval", "why", "2 files") == (asked.kind, asked.prompt.reason, asked.prompt.title)
    assert [("docs/a", "add", "@@ -0,0 +1,1 @@\n+hello\n"), ("b", "update", "@@")] == [
        (change.path, change.kind, change.diff) for change in asked.prompt.changes
    ]
    assert [{"id": "call-1", "op": told}] == taken(one)[0]


def test_thoughts_break_where_codex_says_and_are_told_once():
    one = driver()
    one.send("run", "think")
    for kind, fields in (
        ("agent_reasoning_delta", {"delta": "**One**\n\nfirst"}),
        ("agent_reasoning_section_break", {}),
        ("agent_reasoning_delta", {"delta": "second"}),
        ("agent_reasoning", {"text": "**One**\n\nfirst"}),
        ("agent_reasoning", {"text": "second"}),
    ):
        tell(one, "run", kind, **fields)

    assert ["**One**\n\nfirst", "second"] == [item.text for item in items(one) if item.kind == "reasoning"]


def test_a_command_has_its_output_and_its_code():
    one = driver()
    one.send("run", "look")
    tell(one, "run", "exec_command_begin", call_id="c", command=["bash", "-lc", "ls | wc"], cwd="/w")
    tell(one, "run", "exec_command_output_delta", call_id="c", stream="stdout", chunk="aGk=")
    tell(one, "run", "exec_command_output_delta", call_id="c", stream="stderr", chunk=[33, 10])
    tell(one, "run", "exec_command_end", call_id="c", exit_code=2)
    told = items(one)[-1]

    assert ("command", "failed", "ls | wc", "hi!\n", 2) == (
        told.kind, told.status, told.title, told.text, told.exit_code
    )  # fmt: skip


@pytest.mark.parametrize("told", [{"input_tokens": 3}, {"info": {"total_token_usage": {"input_tokens": 3}}}])
def test_tokens_are_told_flat_or_in_their_info(told):
    one = driver()
    one.send("run", "count")
    tell(one, "run", "token_count", **told)
    tell(one, "run", "task_complete")

    assert 3 == one.take().events[-1].usage.input


def test_an_interrupted_run_is_over_at_once_and_says_no_more():
    one = driver()
    one.send("run", "work")
    tell(one, "run", "agent_message_delta", delta="beg")
    one.take()
    one.interrupt()
    (told,), events = taken(one)
    tell(one, "run", "agent_message", message="late")

    assert ("interrupt", "interrupted", "beg") == (told["op"]["type"], events[-1].status, events[-1].reply)
    assert [ev.Raw] == [type(event) for event in one.take().events]


def test_it_neither_resumes_nor_steers_nor_reviews_nor_compacts():
    one = driver(resume="old", opens=False)

    assert [ev.SessionFailed] == [type(event) for event in one.take().events]
    for order in (
        lambda: one.steer("m", "x"),
        lambda: one.compact("t"),
        lambda: one.review("t", ReviewTarget()),
        lambda: one.set_model("x"),
    ):
        with pytest.raises(NotSupported):
            order()


def test_an_event_in_two_pieces_is_one_and_two_in_one_piece_are_two():
    splitter = LineSplitter(1 << 20)
    line = b'{"id":"run1","msg":{"type":"agent_message","message":"Hello"}}\n'
    first, second = list(splitter.feed(line[:20])), list(splitter.feed(line[20:] + b"\n" + line))
    one = driver()
    one.send("run1", "x")
    for each in (*first, *second):
        one.receive(each)

    assert ["x", "Hello", "Hello"] == [item.text for item in items(one)]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda s: (
            st.lists(s)
            | st.dictionaries(
                st.sampled_from(["id", "msg", "type", "call_id", "command", "changes", "plan", "info", "chunk"]), s
            )
        ),
    )
)
def test_whatever_it_says_breaks_nothing(value):
    one = driver()
    one.send("run", "x")
    one.receive(json.dumps(value).encode())
    for kind in (
        "exec_command_begin",
        "exec_command_output_delta",
        "exec_command_end",
        "update_plan",
        "token_count",
        "apply_patch_approval_request",
        "agent_message",
        "agent_reasoning",
        "error",
        "task_complete",
    ):
        fields = value if isinstance(value, dict) else {"chunk": value, "changes": value, "plan": value}
        one.receive(json.dumps({"id": "run", "msg": {**fields, "type": kind}}).encode())
    one.closed()
    one.take()


@pytest.mark.parametrize(("profile", "policy"), [("auto_accept_edits", "never"), ("full_access", "never")])
def test_where_nobody_is_to_be_asked_the_sandbox_alone_decides(profile, policy):
    words = CodexProtoDriver.words(Opening(cwd="/w", new_id="n", profile=profile, never_asks=True))
    sandbox = "workspace-write" if profile == "auto_accept_edits" else "danger-full-access"

    assert ("-c", f"approval_policy={policy}", "-c", f"sandbox_mode={sandbox}", "proto") == words
