"""Live sessions with the real CLIs: what each can do, what it asks, and that nothing is lost when a process dies.

Where a CLI cannot do something, its test holds what a user gets instead, and notes that.
"""

import os
import signal
from pathlib import Path

import pytest
from loopback.talk import alive, told_of, wait_for
from loopback.wire import ToolCall

pytestmark = [
    pytest.mark.real_cli,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="what lives is looked up in /proc"),
]

EACH = pytest.mark.parametrize("cli", ["claude", "codex", "opencode", "gemini"])
SLEEP = "sleep 987"
OTHER_MODELS = {
    "claude": "claude-haiku-4-5",
    "codex": "gpt-5.4",
    "opencode": "loopback/second",
    "gemini": "gemini-2.5-pro",
}
_PATCH = "*** Begin Patch\n*** Add File: made.txt\n+hello\n*** End Patch\n"
_QUESTION = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}],
        }
    ]
}


def writing(talk):
    """Return the call with which a model makes made.txt."""
    path, text = str(talk.world.project / "made.txt"), "hello\n"
    return {
        "claude": ToolCall("Write", {"file_path": path, "content": text}),
        "codex": ToolCall("apply_patch", text=_PATCH),
        "opencode": ToolCall("write", {"filePath": path, "content": text}),
        "gemini": ToolCall("write_file", {"file_path": path, "content": text}),
    }[talk.cli]


def running(talk, command):
    return [process for process, words in alive(talk.world).items() if command in words]


def clis_of(talk):
    """Return the processes of the CLI itself, without our own."""
    return {process for process, words in alive(talk.world).items() if "oulipoly" not in words}


@EACH
def test_two_turns_in_one_process(cli, talk, api, seen):
    first = talk.begin("the word is turtle")
    before = clis_of(talk)
    second = talk.send("and then?")

    assert ("completed", f"{cli}-one heard: the word is turtle") == (first["status"], first["reply"])
    assert ("completed", f"{cli}-one heard: and then?") == (second["status"], second["reply"])
    assert before == clis_of(talk) != set()
    assert "turtle" in str(next(call for call in api.calls if call.prompt == "and then?").said)
    talk.close()
    seen("turns")


@EACH
@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_command_waits_for_a_person(cli, talk, api, plan, seen, verb):
    api.plans[f"{cli}-one"] = plan(tool_command="touch made.txt")
    begun = talk.begin("make a file", waits=False)
    request = talk.wait_request()
    told = talk.status()
    answered = talk.reply_to(request, verb)
    ended = talk.wait_idle()

    assert "command_approval" == request["kind"]
    assert "touch made.txt" in request["prompt"]["command"]
    assert (True, True, begun["turn_id"]) == (told["busy"], told["pending_approval"], request["turn_id"])
    assert 0 == answered.exit_code
    assert (verb == "approve") == (talk.world.project / "made.txt").exists()
    assert not ended["pending_approval"]
    api.plans.clear()
    assert "completed" == talk.send("and then?")["status"]
    seen(f"command_{verb}")


@pytest.mark.parametrize("cli", ["claude"])
@pytest.mark.parametrize("place", ["project", "outside"])
def test_command_allowed_for_the_session_is_asked_once(cli, talk, api, plan, tmp_path, place):
    folder = talk.world.project if place == "project" else tmp_path / "outside"
    folder.mkdir(exist_ok=True)
    command = f"touch {folder / 'made.txt'}"
    api.plans[f"{cli}-one"] = plan(tool_command=command)
    talk.begin("make a file", waits=False)
    request = talk.wait_request()
    talk.reply_to(request, "approve", "--for-session")
    talk.wait_idle()
    (folder / "made.txt").unlink()
    again = talk.send("make it again")

    assert "until this session's process ends" in request["prompt"]["reach"]
    assert "touch" in request["prompt"]["reach"]
    assert ("completed", True) == (again["status"], (folder / "made.txt").exists())
    assert 1 == len(talk.events("request_opened"))


@EACH
def test_change_of_a_file_is_shown_before_it_is_made(cli, talk, api, plan, seen):
    api.plans[f"{cli}-one"] = plan(tool=writing(talk))
    talk.begin("make a file", waits=False)
    request = talk.wait_request()
    is_made = (talk.world.project / "made.txt").exists()
    talk.reply_to(request, "approve")
    talk.wait_idle()

    (change,) = request["prompt"]["changes"]
    assert ("file_change_approval", False) == (request["kind"], is_made)
    assert change["path"].endswith("made.txt")
    assert "+hello" in change["diff"]
    assert "hello\n" == (talk.world.project / "made.txt").read_text()
    seen("file_change")


@EACH
def test_question_is_answered(cli, talk, api, plan, seen):
    if cli != "claude":
        assert talk.begin("hello")["status"] == "completed"
        if cli == "codex":
            seen("question", "not tried", "codex asks in plan mode alone, which sessions here do not use")
        else:
            assert not talk.can("user_input_requests")
            seen("question", "no", "ACP has no such request in this version")
        return
    api.plans[f"{cli}-one"] = plan(tool=ToolCall("AskUserQuestion", _QUESTION))
    talk.begin("ask me", waits=False)
    request = talk.wait_request()
    (question,) = request["prompt"]["questions"]
    talk.reply_to(request, "answer", f"{question['id']}=blue")
    talk.wait_idle()

    assert "user_input" == request["kind"]
    assert "Which colour?" == question["text"]
    assert "blue" in api.calls[-1].tool_result
    seen("question")


@EACH
def test_interrupt_ends_the_turn_and_close_ends_its_command(cli, talk, api, plan, seen):
    api.plans[f"{cli}-one"] = plan(tool_command=SLEEP)
    talk.begin("sleep", "--profile", "full_access", waits=False)
    wait_for(lambda: running(talk, SLEEP), bool)
    talk.tell("interrupt")
    talk.wait_idle()
    api.plans.clear()
    after = talk.send("and then?")
    ended = talk.events("turn_ended")

    assert ["interrupted", "completed"] == [one["status"] for one in ended]
    assert "completed" == after["status"]
    assert {} == alive(talk.world)
    seen("interrupt")


@EACH
def test_steer_reaches_the_running_turn_or_waits_for_its_end(cli, talk, api, plan, seen):
    command = "until [ -e go ]; do sleep 0.1; done"
    api.plans[f"{cli}-one"] = plan(tool_command=command)
    talk.begin("wait", "--profile", "full_access", waits=False)
    wait_for(lambda: running(talk, "until"), bool)
    can_steer = talk.can("steer")
    told = talk.tell("steer", "think of turtles")
    api.plans.clear()
    (talk.world.project / "go").touch()
    talk.wait_idle()
    wait_for(lambda: [call for call in api.calls if "think of turtles" in str(call.said)], bool)
    talk.wait_idle()
    turns = talk.events("turn_ended")

    assert can_steer == told["steered"]
    assert (1 if can_steer else 2) == len(turns)
    assert {"completed"} == {one["status"] for one in turns}
    seen("steer", *(("yes", "") if can_steer else ("no", "the message waits, and is a turn of its own")))


@EACH
@pytest.mark.parametrize("victim", ["host", "CLI"])
def test_turn_goes_on_after_a_process_was_killed(cli, talk, api, plan, seen, victim):
    talk.begin("the word is turtle")
    api.plans[f"{cli}-one"] = plan(holds_back=True)
    api.wait_for_call(f"{cli}-one")
    before = len(api.calls)
    sent = told_of(talk.order("send", "and then?"))
    wait_for(lambda: api.calls, lambda calls: len(calls) > before)
    for process, words in alive(talk.world).items():
        if ("oulipoly" in words) == (victim == "host"):
            os.kill(process, signal.SIGKILL)
    wait_for(talk.status, lambda told: told["status"] == "recoverable")
    api.plans.clear()
    left = told_of(talk.world.run("recover", "--json"))
    resumed = talk.world.run("turn", "resume", sent["turn_id"], "--json")

    assert [sent["turn_id"]] == [one["turn_id"] for one in left["recoverable"]]
    told = talk.wait_status(lambda told: told["status"] in ("fenced", "waiting_input"))
    how = ("yes", "")
    if cli == "gemini":  # 0.61.0 finds its own session in about half of the cases
        how = ("sometimes", "where it does not find its session again, a fork goes on with what was said as a preface")
    if cli == "gemini" and told["status"] == "fenced":
        assert (1, True) == (resumed.exit_code, "session fork" in resumed.stderr)
        assert "preface" in talk.tell("fork")["how"]
        seen("resume", *how)
        return
    assert 0 == resumed.exit_code, resumed.stderr
    ended = talk.events("turn_ended")  # and nothing of either process is left
    assert ["completed", "interrupted", "completed"] == [one["status"] for one in ended]
    assert "turtle" in str(api.calls[-1].said)
    seen("resume", *how)


@EACH
def test_fork_at_the_end(cli, talk, api, seen):
    talk.begin("the word is turtle")
    forked = talk.tell("fork")
    source, talk.session_id = talk.session_id, forked["session_id"]
    answer = talk.send("and then?")

    assert "completed" == answer["status"]
    assert "turtle" in str(api.calls[-1].said)
    assert source == talk.status()["forked_from"]
    is_native = forked["how"] == "by the CLI itself"
    assert is_native == talk.can("fork")
    talk.world.run("session", "cancel", source)
    seen("fork", *(("yes", "") if is_native else ("no", "what was said goes before the first message")))


@EACH
def test_fork_at_a_turn(cli, talk, api, seen):
    first = talk.begin("the word is turtle")
    talk.send("the word is rabbit")
    forked = talk.tell("fork", "--at", first["turn_id"])
    source, talk.session_id = talk.session_id, forked["session_id"]
    answer = talk.send("and then?")

    said = str(next(call for call in api.calls if call.prompt.endswith("and then?")).said)
    assert "completed" == answer["status"]
    assert "turtle" in said
    assert "rabbit" not in said
    is_native = forked["how"] == "by the CLI itself"
    assert is_native == talk.can("fork_at_turn")
    talk.world.run("session", "cancel", source)
    seen("fork_at_turn", *(("yes", "") if is_native else ("no", "what was said goes before the first message")))


@EACH
def test_one_session_goes_on_where_a_person_went_back_to(cli, talk, api):
    talk.begin("the word is turtle")
    talk.send("the word is rabbit")
    talk.wait_idle()
    said = [one for one in talk.tell("tree")["entries"] if one["role"] == "user"]
    (later,) = (one for one in said if one["preview"].endswith("the word is rabbit"))
    talk.tell("branch", later["parent_id"])
    answer = talk.send("and then?")

    said = str(next(call for call in api.calls if call.prompt.endswith("and then?")).said)
    assert "completed" == answer["status"]
    assert (True, False) == ("turtle" in said, "rabbit" in said)
    previews = [one["preview"] for one in talk.tell("tree")["entries"] if one["role"] == "user"]
    for text in ("the word is turtle", "the word is rabbit", "and then?"):
        assert 1 == sum(preview.endswith(text) for preview in previews), previews
    listed = told_of(talk.world.run("session", "list", "--json"))["conversations"]
    assert [talk.session_id] == [one["chain_id"] for one in listed]


@EACH
def test_fork_before_a_compaction_opens(cli, talk, api):
    first = talk.begin("the word is turtle")
    talk.send("the word is rabbit")
    if not talk.can("compaction"):
        pytest.skip(f"{cli} shortens nothing")
    talk.tell("compact")
    talk.wait_idle()
    forked = talk.tell("fork", "--at", first["turn_id"])
    source, talk.session_id = talk.session_id, forked["session_id"]
    answer = talk.send("and then?")

    said = str(next(call for call in api.calls if call.prompt.endswith("and then?")).said)
    assert "completed" == answer["status"]
    assert (True, False) == ("turtle" in said, "rabbit" in said)
    talk.world.run("session", "cancel", source)


@EACH
def test_compact(cli, talk, api, seen):
    talk.begin("the word is turtle")
    talk.send("and a second thing, for one alone is not compacted")
    if not talk.can("compaction"):
        refused = talk.order("compact")
        assert 0 != refused.exit_code
        assert "nothing to compact" in refused.stderr  # by a model, which leaves the last four messages
        seen("compact", "no")
        return
    talk.tell("compact")
    talk.wait_idle()
    after = talk.send("and then?")
    ended = talk.events("turn_ended")

    assert "completed" == after["status"]
    assert ["completed"] * 4 == [one["status"] for one in ended], ended
    seen("compact")


@EACH
def test_review(cli, talk, seen):
    (talk.world.project / "new.txt").write_text("new\n")
    talk.begin("hello")
    if not talk.can("review"):
        refused = talk.order("review")
        assert 0 != refused.exit_code
        assert "cannot review" in refused.stderr
        seen("review", "no")
        return
    told = talk.tell("review", "--instructions", "look for turtles")
    talk.wait_idle()
    (ended,) = (one for one in talk.events("turn_ended") if one["turn_id"] == told["turn_id"])

    assert "completed" == ended["status"], ended
    seen("review")


@EACH
def test_later_turns_are_done_by_another_model(cli, talk, api, seen):
    talk.begin("hello")
    model = OTHER_MODELS[cli]
    assert talk.can("set_model")
    talk.tell("model", model)
    answer = talk.send("and then?")

    assert "completed" == answer["status"]
    call = next(call for call in api.calls if call.prompt == "and then?")
    assert call.model in model
    seen("set_model")


TRIES_AGAIN = {("opencode", "spent"), ("opencode", "server"), ("gemini", "server")}  # for minutes, and says nothing


@EACH
@pytest.mark.parametrize(
    ("refusal", "code"), [("login", "unauthorized"), ("spent", "usage_limit"), ("server", "server_error")]
)
def test_failures_of_the_vendor_stay_apart(cli, talk, api, plan, seen, refusal, code):
    api.plans[f"{cli}-one"], api.refreshes = plan(refusal=refusal), False
    if (cli, refusal) in TRIES_AGAIN:
        talk.begin("hello", waits=False)
        wait_for(lambda: api.calls, lambda calls: len(calls) > 2)
        talk.tell("interrupt")
        talk.wait_idle()
        seen(f"error_{refusal}", "no", "it asks again for minutes without a word; an interrupt ends that")
    else:
        failed = talk.begin("hello")
        assert ("failed", code) == (failed["status"], failed["code"]), failed
        seen(f"error_{refusal}", "yes", f"the turn fails with the code {code}")
    api.plans.clear()
    after = talk.send("and then?")

    assert "completed" == after["status"]


@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_a_turn_that_the_vendor_was_too_busy_for_is_tried_again(cli, talk, api, plan):
    api.plans[f"{cli}-one"] = plan(refusal="burst")
    talk.begin("hello", waits=False)
    wait_for(lambda: api.calls, bool)
    talk.status()  # by then the call is refused
    api.plans.clear()
    talk.wait_idle()
    *retries, end = talk.events("turn_retrying", "turn_ended")

    assert {"rate_limit"} == {event["cause"] for event in retries}
    assert ("completed", f"{cli}-one heard: hello") == (end["status"], end["reply"])
    assert "completed" == talk.send("and then?")["status"]


@pytest.mark.parametrize("cli", ["codex"])
def test_thread_that_another_process_holds_is_told(cli, talk, api, plan, seen):
    talk.begin("hello")
    native_id = talk.status()["native_id"]
    talk.close()
    api.plans["codex-one"] = plan(holds_back=True)
    before = len(api.calls)
    other = talk.world.start_bare("codex-one", "exec", "resume", native_id, "I am another")
    wait_for(lambda: api.calls, lambda calls: len(calls) > before)
    refused = talk.order("send", "and then?", "--wait")
    forked = talk.tell("fork")
    other.kill()
    other.wait()

    assert 0 != refused.exit_code
    assert "is open in another process of codex" in refused.stdout + refused.stderr
    assert "by the CLI itself" == forked["how"]
    seen("active_writer", "yes", "a second process is refused, and told what holds the thread")
