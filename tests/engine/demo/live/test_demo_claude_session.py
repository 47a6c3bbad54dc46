"""The demo's claude as a session for programs, driven over its pipes by claude's driver."""

import json

import pytest

from oulipoly_engine.core.live.events import (
    ItemDelta,
    ItemStarted,
    NativeIdChanged,
    Notice,
    QuotaSeen,
    Raw,
    RequestOpened,
    RequestResolved,
    SessionFailed,
    SessionOpened,
    SettingsChanged,
    SteerSettled,
    TurnEnded,
    TurnRetrying,
    TurnStarted,
)
from oulipoly_engine.drivers.base import Resolution
from oulipoly_engine.drivers.claude import ClaudeDriver


@pytest.fixture
def claude(live):
    """Start a session and wait until it is open."""

    def start(environment=None, **fields):
        session = live(ClaudeDriver, environment, **fields)
        session.until(SessionOpened)
        return session

    return start


def turn(session, text, decision=None, **answers):
    session.send(text)
    if decision is not None:
        asked = session.until(RequestOpened)
        session.driver.answer(asked.native_id, Resolution(decision, answers=answers))
    return session.until(TurnEnded)


def test_the_handshake_tells_models_commands_and_account(claude):
    opened = claude().of(SessionOpened)[0]

    assert "demo-claude1@demo.invalid" == opened.account
    assert ["default", "opus", "haiku"] == [model.id for model in opened.models]
    assert "compact" in dict(opened.commands)


def test_two_turns_run_in_one_process_and_the_second_knows_the_first(claude):
    session = claude(environment={"DEMO_PACE": "0.001"})
    first = turn(session, "Hello, my name is Ada")
    second = turn(session, "What did I say before?")

    assert ["completed", "completed"] == [first.status, second.status]
    assert first.reply == "".join(
        delta.text for delta in session.of(ItemDelta) if delta.item_id == session.items("agent_message")[0].id
    )
    assert 0 < second.usage.cost_usd
    assert 0 == session.end()


def test_an_approved_command_runs_and_a_denied_one_does_not(claude):
    session = claude()
    turn(session, "[[approve:make]] go", "approve")
    turn(session, "[[approve:rm x]] go", "deny")

    assert [("make", "completed", 0), ("rm x", "declined", None)] == [
        (item.title, item.status, item.exit_code) for item in session.items("command")
    ]


def test_for_the_session_is_asked_once_and_only_for_the_same_command(claude):
    session = claude()
    turn(session, "[[approve:make]] go", "approve_for_session")
    turn(session, "[[approve:make]] go")
    turn(session, "[[approve:make install]] go", "deny")

    assert 2 == len(session.of(RequestOpened))


def test_a_cancelled_request_interrupts_the_turn(claude):
    assert "interrupted" == turn(claude(), "[[approve:make]] go", "cancel").status


def test_an_edit_is_asked_for_made_and_told_with_its_lines(claude, tmp_path):
    session = claude()
    turn(session, "[[edit:notes.txt]] go", "approve")
    turn(session, "[[edit:notes.txt]] go", "approve")

    assert 2 == len((tmp_path / "folder" / "notes.txt").read_text().splitlines())
    kinds = [item.changes[0].kind for item in session.items("file_change")]
    assert ["add", "update"] == kinds
    assert "@@ -1,1 +1,2 @@" in session.items("file_change")[1].changes[0].diff


@pytest.mark.parametrize(("profile", "asked"), [("auto_accept_edits", 1), ("full_access", 0)])
def test_a_profile_says_what_is_asked(profile, asked, claude):
    session = claude(profile=profile)
    turn(session, "[[edit:notes.txt]] [[approve:make]] go", "approve" if asked else None)

    assert asked == len(session.of(RequestOpened))


def test_a_question_is_answered_in_its_own_words(claude):
    session = claude()
    ended = turn(session, "[[ask:Which colour?|red|blue]] go", "answer", question_1=("red",))

    assert "completed" == ended.status
    assert '"Which colour?"="red"' in session.items("tool")[0].text


def test_a_plan_a_thought_and_a_retry_are_told(claude):
    session = claude()
    turn(session, "[[think:hm]] [[plan:first|then]] [[retry]] go")

    assert ["hm"] == [item.text for item in session.items("reasoning")]
    assert (("first", "completed"), ("then", "completed")) == session.items("plan")[-1].steps
    assert 1 == len(session.of(TurnRetrying))


def test_an_interrupt_ends_a_turn_that_is_silent_one_that_talks_and_one_that_asks(claude):
    session = claude(environment={"DEMO_PACE": "0.2"})
    for text, sign in (("[[stall:60]] go", TurnStarted), ("count to 50", ItemDelta), ("[[approve:x]]", RequestOpened)):
        session.send(text)
        session.until(sign)
        session.driver.interrupt()

        assert "interrupted" == session.until(TurnEnded).status
    assert len(session.of(RequestOpened)) == len(session.of(RequestResolved))
    assert "completed" == turn(session, "still there?").status


def test_a_message_joins_the_turn_while_a_tool_is_open(claude):
    session = claude()
    session.send("[[approve:make]] go")
    asked = session.until(RequestOpened)
    session.driver.steer("message", "Hello there")
    session.driver.answer(asked.native_id, Resolution("approve"))
    session.until(TurnEnded)

    assert ["accepted"] == [one.outcome for one in session.of(SteerSettled)]
    assert 1 == len(session.of(TurnStarted))
    assert "Hello there" in [item.text for item in session.items("user_message")]


def test_a_message_while_text_streams_is_left_to_the_queue(claude):
    session = claude(environment={"DEMO_PACE": "0.05"})
    session.send("count to 50")
    session.until(ItemDelta)
    session.driver.steer("message", "and this")
    session.until(TurnEnded)

    assert ["refused"] == [one.outcome for one in session.of(SteerSettled)]


def test_a_session_that_was_killed_goes_on_under_its_id(claude):
    session = claude()
    turn(session, "My name is Ada")
    session.send("[[stall:60]] go")
    session.until(TurnStarted)
    session.kill()
    again = claude(resume=session.of(SessionOpened)[0].native_id)
    ended = turn(again, "What did I say before?")

    assert "completed" == ended.status
    assert [] == again.of(NativeIdChanged)


def test_a_command_that_kills_it_leaves_nothing_open(claude):
    session = claude()
    session.send("[[run:make]] [[die]] go")
    session.until(ItemStarted, when=lambda event: event.item.kind == "command")
    while session._read():
        pass
    session.pump()

    assert -9 == session.process.wait(20)
    assert [] == session.of(TurnEnded)


def test_a_fork_has_the_past_up_to_a_turn_and_an_id_of_its_own(claude, tmp_path):
    session = claude()
    first = turn(session, "one")
    turn(session, "two")
    native_id = session.of(SessionOpened)[0].native_id
    session.end()
    fork = claude(resume=native_id, fork=True, fork_at=first.fork_at)
    turn(fork, "three")
    forked = fork.of(NativeIdChanged)[0].native_id
    path = next((tmp_path / "home" / "projects").glob(f"*/{forked}.jsonl"))

    assert native_id != forked
    assert ["one", "three"] == prompts_in(path)


def prompts_in(path):
    records = [json.loads(line) for line in path.read_text().splitlines()]
    prompts = [one["message"]["content"] for one in records if one.get("type") == "user"]
    return [prompt for prompt in prompts if isinstance(prompt, str)]


def test_a_lost_session_is_told_and_the_process_ends(live):
    session = live(ClaudeDriver, resume="01900000-0000-4000-8000-000000000000")

    assert "thread_lost" == session.until(SessionFailed).reason
    assert 1 == session.process.wait(20)


@pytest.mark.parametrize(
    ("directive", "code"),
    [("quota", "usage_limit"), ("429", "rate_limit"), ("401", "unauthorized"), ("500", "server_error")],
)
def test_the_apis_failures_fail_the_turn(directive, code, claude):
    session = claude()
    failed = turn(session, f"[[{directive}]] go")

    assert ("failed", code, "") == (failed.status, failed.code, failed.reply)
    assert ["completed"] == [turn(session, "and now?").status]


def test_a_used_up_window_is_told_with_its_reset(claude):
    session = claude()
    turn(session, "[[quota]] go")
    rejected = next(one for one in session.of(QuotaSeen) if one.is_rejected)

    assert ("five_hour", 100.0) == rejected.windows[0][:2]


def test_compaction_is_a_turn_and_clear_begins_another_session(claude):
    session = claude()
    turn(session, "one")
    session.driver.compact("c")
    compacted = session.until(TurnEnded)
    turn(session, "/clear")

    assert "completed" == compacted.status
    assert ["200 tokens before, 100 after"] == [item.text for item in session.items("compaction")]
    assert 1 == len(session.of(NativeIdChanged))


def test_another_model_answers_later_turns(claude):
    session = claude()
    session.driver.set_model("haiku")
    session.until(SettingsChanged)
    turn(session, "go")

    assert "demo-haiku-1" == session.of(SettingsChanged)[-1].model


def test_what_no_client_knows_ends_no_session(claude):
    session = claude(environment={"DEMO_DRIFT": "1"})
    ended = turn(session, "go")

    assert "completed" == ended.status
    assert {"weather", "system/aurora", "assistant/hologram"} <= {one.method for one in session.of(Raw)}
    assert ["other"] == [one.kind for one in session.of(RequestOpened)]


def test_a_flood_of_pieces_is_one_message(claude):
    session = claude()
    ended = turn(session, "[[flood:5000]] go")

    assert 5000 == len(ended.reply.split())
    assert 5000 <= len(session.of(ItemDelta))


def test_a_broken_line_ends_it_with_one(claude):
    session = claude()
    session.process.stdin.write(b"not json\n")
    session.process.stdin.flush()

    assert 1 == session.process.wait(20)


def test_the_end_of_stdin_lets_the_turn_come_to_its_end(claude):
    session = claude(environment={"DEMO_PACE": "0.02"})
    session.send("count to 20")
    session.until(ItemDelta)
    session.process.stdin.close()

    assert "completed" == session.until(TurnEnded).status
    assert 0 == session.process.wait(20)


def test_nothing_it_writes_is_unreadable(claude):
    session = claude()
    turn(session, "[[run:make]] [[edit:a]] go", "approve")

    assert [] == session.of(Notice)
