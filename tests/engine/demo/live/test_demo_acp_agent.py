"""The demo's ACP agent, driven over its pipes by the ACP driver."""

import json

import pytest

from oulipoly_engine.core.live.events import (
    ItemDelta,
    NativeIdChanged,
    Raw,
    RequestOpened,
    RequestResolved,
    SessionFailed,
    SessionOpened,
    SettingsChanged,
    SteerSettled,
    TurnEnded,
    TurnStarted,
)
from oulipoly_engine.drivers.acp import AcpDriver
from oulipoly_engine.drivers.base import Resolution


@pytest.fixture
def agent(live):
    """Start a session and wait until it is open, or has failed to open. quirks: what the agent does differently."""

    def start(quirks="", environment=None, **fields):
        variables = {"DEMO_QUIRKS": quirks, **(environment or {})}
        session = live(AcpDriver, variables, start_words=("--acp",), **fields)
        session.until(SessionOpened, SessionFailed)
        return session

    return start


def turn(session, text, decision=None, **answers):
    session.send(text)
    if decision is not None:
        asked = session.until(RequestOpened)
        session.driver.answer(asked.native_id, Resolution(decision, answers=answers))
    return session.until(TurnEnded)


def test_two_turns_run_in_one_session(agent):
    session = agent()
    ended = [turn(session, text) for text in ("Hello", "What did I say before?")]

    assert ["completed", "completed"] == [one.status for one in ended]
    assert all(one.reply and one.usage.output for one in ended)
    assert {"resume", "fork", "compaction", "set_model"} <= {
        name for name in ("resume", "fork", "compaction", "set_model") if getattr(session.driver.capabilities, name)
    }
    assert 0 == session.end()


@pytest.mark.parametrize("quirks", ["", "late-calls"])
def test_an_approved_command_runs_and_a_denied_one_does_not(quirks, agent):
    session = agent(quirks)
    turn(session, "[[approve:make]] go", "approve")
    turn(session, "[[approve:rm x]] go", "deny")

    assert [("make", "completed", 0), ("rm x", "declined", None)] == [
        (item.title, item.status, item.exit_code) for item in session.items("command")
    ]


def test_for_the_session_is_asked_once(agent):
    session = agent()
    turn(session, "[[approve:make]] go", "approve_for_session")
    turn(session, "[[approve:make]] go")

    assert ["Always allow `make` in this session"] == [one.prompt.reach for one in session.of(RequestOpened)]


def test_without_an_option_for_always_nothing_can_be_allowed_for_it(agent):
    session = agent("once-only")
    turn(session, "[[approve:make]] go", "approve_for_session")
    turn(session, "[[approve:make]] go", "deny")

    assert ["", ""] == [one.prompt.reach for one in session.of(RequestOpened)]


def test_an_edit_is_asked_for_with_its_diff_and_made(agent, tmp_path):
    session = agent()
    turn(session, "[[edit:notes.txt]] go", "approve")

    change = session.items("file_change")[0].changes[0]
    assert 1 == len((tmp_path / "folder" / "notes.txt").read_text().splitlines())
    assert ("add", True) == (change.kind, change.diff.startswith("--- /dev/null"))


@pytest.mark.parametrize(
    ("profile", "mode", "asked"), [("auto_accept_edits", "acceptEdits", 1), ("full_access", "bypassPermissions", 0)]
)
def test_a_profile_chooses_the_agents_mode(profile, mode, asked, agent):
    session = agent(profile=profile)
    turn(session, "[[edit:notes.txt]] [[approve:make]] go", "approve" if asked else None)

    assert mode == session.of(SessionOpened)[0].policy
    assert asked == len(session.of(RequestOpened))


def test_a_question_a_plan_and_a_thought(agent):
    session = agent()
    ended = turn(session, "[[think:hm]] [[plan:first|then]] [[ask:Which?|red|blue]] go", "answer", answer=("red",))

    assert "completed" == ended.status
    assert ["hm"] == [item.text for item in session.items("reasoning")]
    assert (("first", "completed"), ("then", "completed")) == session.items("plan")[-1].steps
    assert "You said: red. " in [item.text for item in session.items("agent_message")]


@pytest.mark.parametrize("quirks", ["", "cancel-needs-answer", "takes-back"])
def test_an_interrupt_ends_a_turn_that_is_silent_one_that_talks_and_one_that_asks(quirks, agent):
    session = agent(quirks, environment={"DEMO_PACE": "0.2"})
    for text, sign in (("[[stall:60]] go", TurnStarted), ("count to 50", ItemDelta), ("[[approve:x]]", RequestOpened)):
        session.send(text)
        session.until(sign)
        session.driver.interrupt()

        assert "interrupted" == session.until(TurnEnded).status
    assert len(session.of(RequestOpened)) == len(session.of(RequestResolved))
    assert "completed" == turn(session, "still there?").status


def test_a_turn_that_never_ends_after_its_cancel_is_given_up(agent):
    session = agent("cancel-never")
    session.send("[[approve:x]] go")
    session.until(RequestOpened)
    session.driver.interrupt()
    session.pump()
    session.driver.tick(1e9)
    session.driver.tick(1e9 + 11)
    session.pump()

    assert ["interrupted"] == [one.status for one in session.of(TurnEnded)]
    assert ["timed_out"] == [one.reason for one in session.of(SessionFailed)]


def test_a_message_joins_the_turn_where_the_agent_steers(agent):
    session = agent("steering")
    session.send("[[approve:make]] go")
    asked = session.until(RequestOpened)
    session.driver.steer("message", "Hello there")
    session.until(SteerSettled)
    session.driver.answer(asked.native_id, Resolution("approve"))
    session.until(TurnEnded)

    assert ["accepted"] == [one.outcome for one in session.of(SteerSettled)]
    assert "Hello there" in [item.text for item in session.items("user_message")]


def test_a_session_that_was_killed_goes_on_without_telling_its_past_again(agent):
    session = agent()
    turn(session, "My name is Ada")
    session.send("[[stall:60]] go")
    session.until(TurnStarted)
    session.kill()
    again = agent(resume=session.of(SessionOpened)[0].native_id)
    ended = turn(again, "What did I say before?")

    assert "completed" == ended.status
    assert [] == again.of(NativeIdChanged)
    assert ["What did I say before?"] == [item.text for item in again.items("user_message")]


def test_a_fork_has_the_past_and_an_id_of_its_own(agent, tmp_path):
    session = agent()
    turn(session, "one")
    native_id = session.of(SessionOpened)[0].native_id
    fork = agent(resume=native_id, fork=True)
    turn(fork, "two")
    forked = fork.of(SessionOpened)[0].native_id

    path = next((tmp_path / "home" / "projects").glob(f"*/{forked}.jsonl"))
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert native_id != forked
    assert ["one", "two"] == [one["message"]["content"] for one in records if one.get("type") == "user"]


@pytest.mark.parametrize(
    ("quirks", "fields", "reason"),
    [
        ("login", {}, "needs_auth"),
        ("newer", {}, "unsupported_version"),
        ("load-fails", {"resume": "01900000-0000-4000-8000-000000000000"}, "thread_lost"),
        ("plain", {"resume": "01900000-0000-4000-8000-000000000000"}, "thread_lost"),
        ("", {"resume": "01900000-0000-4000-8000-000000000000"}, "thread_lost"),
    ],
)
def test_a_session_that_cannot_be_opened_says_why(quirks, fields, reason, agent):
    assert [reason] == [one.reason for one in agent(quirks, **fields).of(SessionFailed)]


@pytest.mark.parametrize(
    ("directive", "code"), [("quota", "usage_limit"), ("401", "unauthorized"), ("500", "server_error")]
)
def test_the_vendors_failures_fail_the_turn_once(directive, code, agent):
    session = agent()
    failed = turn(session, f"[[{directive}]] go")

    assert ("failed", code, "") == (failed.status, failed.code, failed.reply if code != "unauthorized" else "")
    assert "completed" == turn(session, "and now?").status


def test_compaction_and_another_model(agent):
    session = agent()
    turn(session, "one")
    session.driver.compact("c")
    compacted = session.until(TurnEnded)
    session.driver.set_model("demo-haiku-1")
    session.until(SettingsChanged)

    assert "completed" == compacted.status
    assert ["completed"] == [item.status for item in session.items("compaction")]
    assert "demo-haiku-1" == session.of(SettingsChanged)[-1].model


def test_what_no_client_knows_ends_no_session(agent):
    session = agent(environment={"DEMO_DRIFT": "1"})
    ended = turn(session, "go")

    assert "completed" == ended.status
    assert {"_demo/weather", "session/update hologram_update"} <= {one.method for one in session.of(Raw)}
    assert ["other"] == [one.kind for one in session.of(RequestOpened)]


def test_a_flood_of_pieces_is_one_message(agent):
    ended = turn(agent(), "[[flood:5000]] go")

    assert 5000 == len(ended.reply.split())
