"""Claude's driver without a recording: its words, its orders, and whatever a program may write."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.live import events
from oulipoly_engine.drivers.base import NotSupported, Opening, Resolution, ReviewTarget
from oulipoly_engine.drivers.claude import ClaudeDriver

# Examples of nested JSON take their time on a busy machine.
UNHURRIED = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
NEW = "00000000-0000-4000-8000-000000000001"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)
TYPES = st.sampled_from(
    ["system", "assistant", "user", "result", "stream_event", "control_request", "control_response", "nonsense"]
)
NAMES = st.sampled_from(
    ["subtype", "message", "event", "request", "request_id", "response", "content", "type", "input", "tool_name", "id"]
) | st.sampled_from(["permission_suggestions", "parent_tool_use_id", "is_error", "errors", "questions", "options"])
WORDS = st.sampled_from(
    ["init", "status", "can_use_tool", "success", "req-1", "tool_use", "tool_result", "text", "Bash", "Write", "Edit"]
) | st.sampled_from(["content_block_start", "content_block_delta", "AskUserQuestion", "TodoWrite", "TaskUpdate"])
SHAPES = st.recursive(
    WORDS | JSON, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6), max_leaves=8
)


def driver(**fields):
    one = ClaudeDriver(Opening(**{"cwd": "/w", "new_id": NEW, **fields}))
    one.begin()
    one.receive(b'{"type":"control_response","response":{"subtype":"success","request_id":"req-1","response":{}}}')
    one.take()
    return one


def tell(one, *messages):
    for message in messages:
        one.receive(json.dumps(message).encode())
    return one.take()


def init():
    return {"type": "system", "subtype": "init", "session_id": NEW, "model": "m", "permissionMode": "default"}


def tool_call(name, **given):
    block = {"type": "tool_use", "id": "t1", "name": name, "input": given}
    return {"type": "assistant", "message": {"id": "m1", "content": [block]}}


def result(**fields):
    return {"type": "result", "subtype": "success", "is_error": False, "result": "", **fields}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "--permission-mode default --session-id " + NEW),
        ({"resume": "A"}, "--permission-mode default --resume A"),
        ({"resume": "A", "fork": True}, "--permission-mode default --resume A --fork-session"),
        (
            {"resume": "A", "fork": True, "fork_at": "M"},
            "--permission-mode default --resume A --fork-session --resume-session-at M",
        ),
        ({"profile": "auto_accept_edits"}, f"--permission-mode acceptEdits --session-id {NEW}"),
        (
            {"profile": "full_access", "model": "opus", "effort": "high", "args": ("--betas", "x")},
            "--permission-mode bypassPermissions --dangerously-skip-permissions "
            f"--session-id {NEW} --model opus --effort high --betas x",
        ),
    ],
)
def test_words_say_what_is_opened_and_with_which_permissions(fields, words):
    protocol = "-p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio"
    said = ClaudeDriver.words(Opening(**{"cwd": "/w", "new_id": NEW, **fields}))

    assert f"{protocol} --include-partial-messages {words}".split() == list(said)


def test_an_interrupt_waits_for_the_first_sign_of_the_turn():
    one = driver()
    one.send("turn", "hello")
    one.interrupt()
    before = one.take().data
    after = tell(one, init()).data

    assert b"interrupt" not in before
    assert b'"subtype":"interrupt"' in after


def test_a_turn_begins_with_claudes_first_sign_and_with_the_users_message():
    one = driver()
    one.send("turn", "hello")
    sent = one.take()
    begun = tell(one, init())

    assert () == sent.events
    started = next(event for event in begun.events if isinstance(event, events.TurnStarted))
    message = next(event.item for event in begun.events if isinstance(event, events.ItemEnded))
    assert json.loads(sent.data)["uuid"] == started.native_turn_id == message.id
    assert ("user_message", "hello") == (message.kind, message.text)


def test_the_same_turn_sent_by_another_process_has_another_id():
    first, second = driver(), driver(new_id="00000000-0000-4000-8000-000000000002")
    for one in (first, second):
        one.send("turn", "hello")

    assert json.loads(first.take().data)["uuid"] != json.loads(second.take().data)["uuid"]


def test_half_a_character_in_a_message_is_still_json():
    one = driver()
    one.send("turn", "a\ud800b")

    assert "a?b" == json.loads(one.take().data)["message"]["content"][0]["text"]


def test_an_edit_is_shown_as_a_diff_before_it_is_made_and_with_its_lines_after():
    one = driver()
    one.send("turn", "x")
    begun = tell(one, init(), tool_call("Edit", file_path="/w/a", old_string="one", new_string="two"))
    patch = [{"oldStart": 7, "oldLines": 1, "newStart": 7, "newLines": 1, "lines": ["-one", "+two"]}]
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    told = {"filePath": "/w/a", "structuredPatch": patch}
    ended = tell(one, {"type": "user", "message": {"content": [answer]}, "tool_use_result": told})

    assert "@@ -1 +1 @@\n-one\n+two\n" in begun.events[-1].item.changes[0].diff
    assert "@@ -7,1 +7,1 @@\n-one\n+two\n" in ended.events[-1].item.changes[0].diff


def test_a_command_that_fails_has_its_exit_code():
    one = driver()
    one.send("turn", "x")
    tell(one, init(), tool_call("Bash", command="false"))
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "Exit code 3\nno", "is_error": True}
    ended = tell(one, {"type": "user", "message": {"content": [answer]}})

    assert ("failed", 3) == (ended.events[-1].item.status, ended.events[-1].item.exit_code)


def test_a_secret_that_would_be_cut_with_a_title_is_not_shown_in_part():
    """Half of it has no form that the redactor knows."""
    one, key = driver(), "ghp_" + "aB3dE5gH7jK9mN1pQ3" * 2
    one.send("t", "hello")
    told = tell(one, init(), tool_call("Grep", pattern=f"{'x' * 190} {key}"))
    one.receive(f"{'x' * 170} {key}".encode())

    shown = f"{told.events}{one.take().events}"
    assert "is not a message" in shown
    assert "ghp_" not in shown


def test_an_answer_that_does_not_fit_never_allows():
    one = driver()
    one.send("turn", "x")
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm"}, "tool_use_id": "t1"}
    tell(one, init(), {"type": "control_request", "request_id": "r", "request": request})
    one.answer("r", Resolution("answer", answers={"question_1": ("yes",)}))
    answered = json.loads(one.take().data)
    one.answer("r", Resolution("approve"))

    assert "deny" == answered["response"]["response"]["behavior"]
    assert b"" == one.take().data


def test_what_is_refused_is_reported_as_the_order_it_was():
    one = driver()
    one.set_model("x")
    request_id = json.loads(one.take().data)["request_id"]
    refusal = {"subtype": "error", "request_id": request_id, "error": "no such model"}
    said = tell(one, {"type": "control_response", "response": refusal})

    assert (events.OrderFailed("set_model", "no such model"),) == said.events


def test_an_order_that_claude_does_not_answer_has_failed():
    one = driver(request_s=5.0)
    one.set_model("x")
    one.take()

    assert [5.0, 1.0, None] == [one.tick(now) for now in (0.0, 4.0, 5.0)]
    assert (events.OrderFailed("set_model", "claude did not answer in time"),) == one.take().events


def test_a_compaction_that_fails_fails_its_turn():
    one = driver()
    one.compact("turn")
    status = {"type": "system", "subtype": "status"}
    failed = {**status, "status": None, "compact_result": "failed", "compact_error": "nothing to compact"}
    said = tell(one, {**status, "status": "compacting"}, failed, result())

    ended = said.events[-1]
    assert ("failed", "nothing to compact") == (ended.status, ended.message)
    assert ["failed"] == [event.item.status for event in said.events if isinstance(event, events.ItemEnded)]


def test_two_results_end_two_turns_and_a_third_ends_nothing():
    one = driver()
    one.send("turn", "x")
    said = tell(one, init(), result(), init(), result(), result()).events

    assert 2 == len([event for event in said if isinstance(event, events.TurnEnded)])
    assert events.Raw("result") == said[-1]


def test_a_command_that_is_allowed_for_the_session_is_asked_for_once():
    """Claude asks again by itself for a command outside its folder, whatever rule it was given (2.1.197)."""
    one = driver()
    one.send("turn", "x")
    rules = [{"toolName": "Bash", "ruleContent": "touch /out/x"}]
    suggestions = [{"type": "addRules", "behavior": "allow", "rules": rules, "destination": "localSettings"}]

    def ask(number, command):
        request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command, "description": number}}
        request |= {"permission_suggestions": suggestions}
        return tell(one, {"type": "control_request", "request_id": number, "request": request})

    first = ask("a", "touch /out/x")
    one.answer("a", Resolution("approve_for_session"))
    one.take()
    again, other = ask("b", "touch /out/x"), ask("c", "touch /out/y")

    assert [1, 0, 1] == [
        len([event for event in said.events if isinstance(event, events.RequestOpened)])
        for said in (first, again, other)
    ]
    assert "allow" == json.loads(again.data)["response"]["response"]["behavior"]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (ReviewTarget(), "/review"),
        (ReviewTarget("branch", "123"), "/review 123"),
        (ReviewTarget("branch", "main"), "/code-review what differs from the branch main"),
        (ReviewTarget("commit", "abc"), "/code-review the commit abc"),
        (ReviewTarget("custom", "the names"), "/code-review the names"),
    ],
)
def test_a_review_is_done_by_claudes_own_commands(target, text):
    one = ClaudeDriver(Opening(cwd="/w", new_id=NEW))
    one.begin()
    response = {"commands": [{"name": "review"}, {"name": "code-review"}]}
    answer = {"subtype": "success", "request_id": "req-1", "response": response}
    tell(one, {"type": "control_response", "response": answer})
    one.review("turn", target)

    assert text in one.take().data.decode()


def test_a_review_is_not_supported_without_them():
    with pytest.raises(NotSupported):
        driver().review("turn", ReviewTarget())


def test_a_process_that_ends_before_it_is_ready_is_a_failed_session():
    one = ClaudeDriver(Opening(cwd="/w", new_id=NEW))
    one.begin()
    one.closed()

    assert ["transport_closed"] == [event.reason for event in one.take().events]


@UNHURRIED
@given(st.lists(st.dictionaries(NAMES, SHAPES, max_size=6).flatmap(lambda d: TYPES.map(lambda t: {**d, "type": t}))))
def test_whatever_a_program_writes_nothing_is_raised(messages):
    one = driver()
    one.send("turn", "x")
    for message in messages:
        tell(one, message)
        one.answer(str(message.get("request_id")), Resolution("approve_for_session"))
    one.closed()
    output = one.take()

    assert all(json.loads(line)["type"] for line in output.data.splitlines())


@UNHURRIED
@given(st.binary())
def test_a_line_that_is_no_json_raises_nothing(line):
    one = driver()
    one.receive(line)

    assert all(isinstance(event, events.Notice | events.Raw) for event in one.take().events)
