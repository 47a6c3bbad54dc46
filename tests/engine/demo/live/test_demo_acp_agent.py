"""What the demo's ACP agent alone does: its quirks, and the protocol's own words."""

import pytest

from oulipoly_engine.core.live.events import (
    RequestOpened,
    RequestResolved,
    SessionFailed,
    SessionOpened,
    SettingsChanged,
    TurnEnded,
)

LOST = {"resume": "01900000-0000-4000-8000-000000000000"}


@pytest.fixture
def agent(live):
    """Start a session and wait until it is open, or has failed to open. quirks: what the agent does differently."""

    def start(quirks="", environment=None, **fields):
        session = live("acp", {"DEMO_QUIRKS": quirks, **(environment or {})}, **fields)
        session.until(SessionOpened, SessionFailed)
        return session

    return start


def test_it_tells_what_it_can(agent):
    session = agent()
    session.turn("hello")  # the agent names its commands behind its reply that the session is open
    able = session.driver.capabilities

    assert all((able.resume, able.fork, able.compaction, able.set_model))


def test_a_call_that_is_first_seen_in_its_request_is_one_call(agent):
    session = agent("late-calls")
    session.turn("[[approve:make]] go", "approve")
    session.turn("[[approve:rm x]] go", "deny")

    assert [("make", "completed"), ("rm x", "declined")] == [
        (item.title, item.status) for item in session.items("command")
    ]


@pytest.mark.parametrize(("quirks", "reach"), [("", "Always allow `make` in this session"), ("once-only", "")])
def test_how_far_leave_reaches_is_the_agents_word(quirks, reach, agent):
    session = agent(quirks)
    session.turn("[[approve:make]] go", "approve_for_session")
    asked_again = ("deny",) if quirks else ()
    session.turn("[[approve:make]] go", *asked_again)

    assert [reach] * (1 + len(asked_again)) == [event.prompt.reach for event in session.of(RequestOpened)]


@pytest.mark.parametrize(
    ("profile", "mode"), [("auto_accept_edits", "acceptEdits"), ("full_access", "bypassPermissions")]
)
def test_a_profile_chooses_the_agents_mode(profile, mode, agent):
    assert mode == agent(profile=profile).of(SessionOpened)[0].policy


def test_an_answer_is_given_back_to_its_question(agent):
    session = agent()
    session.turn("[[ask:Which?|red|blue]] go", "answer", answer=("red",))

    assert "You said: red. " in [item.text for item in session.items("agent_message")]


@pytest.mark.parametrize("quirks", ["cancel-needs-answer", "takes-back"])
def test_an_interrupt_ends_a_turn_that_asks_as_the_agent_has_it(quirks, agent):
    session = agent(quirks)
    session.send("[[approve:x]] go")
    session.until(RequestOpened)
    session.driver.interrupt()

    assert "interrupted" == session.until(TurnEnded).status
    assert 1 == len(session.of(RequestResolved))
    assert "completed" == session.turn("still there?").status


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


@pytest.mark.parametrize(
    ("quirks", "fields", "reason"),
    [
        ("login", {}, "needs_auth"),
        ("newer", {}, "unsupported_version"),
        ("load-fails", LOST, "thread_lost"),
        ("plain", LOST, "thread_lost"),
    ],
)
def test_a_session_that_cannot_be_opened_says_why(quirks, fields, reason, agent):
    assert [reason] == [one.reason for one in agent(quirks, **fields).of(SessionFailed)]


def test_another_model_is_told(agent):
    session = agent()
    session.driver.set_model("demo-haiku-1")
    session.until(SettingsChanged)

    assert "demo-haiku-1" == session.of(SettingsChanged)[-1].model
