"""What the demo's agents do alike over every protocol, driven over their pipes by the wire's own driver."""

import pytest

from oulipoly_engine.core.live.events import (
    ItemDelta,
    ItemEnded,
    ItemStarted,
    NativeIdChanged,
    Raw,
    RequestOpened,
    RequestResolved,
    SessionFailed,
    SessionOpened,
    SteerSettled,
    TurnEnded,
    TurnRetrying,
    TurnStarted,
)

LOST = "01900000-0000-4000-8000-000000000000"


@pytest.fixture(params=["claude", "codex", "acp"])
def wire(request):
    return request.param


@pytest.fixture
def start(live, wire):
    """Start a session and wait until it is open."""

    def start(environment=None, **fields):
        session = live(wire, environment, **fields)
        session.until(SessionOpened)
        return session

    return start


def test_two_turns_run_in_one_process_and_the_second_knows_the_first(start):
    session = start({"DEMO_PACE": "0.001"})
    first, second = session.turn("Hello, my name is Ada"), session.turn("What did I say before?")

    assert ["completed", "completed"] == [first.status, second.status]
    assert first.usage.output
    assert "Ada" in second.reply
    assert first.reply + second.reply == "".join(event.text for event in session.of(ItemDelta))
    assert 0 == session.end()


def test_an_approved_command_runs_and_a_denied_one_does_not(start):
    session = start()
    session.turn("[[approve:make]] go", "approve")
    denied = session.turn("[[approve:rm x]] go", "deny")

    assert [("make", "completed", 0), ("rm x", "declined", None)] == [
        (item.title, item.status, item.exit_code) for item in session.items("command")
    ]
    assert ["command_approval"] * 2 == [event.kind for event in session.of(RequestOpened)]
    assert "completed" == denied.status


def test_for_the_session_is_asked_once_and_only_for_the_same_command(start):
    session = start()
    session.turn("[[approve:make]] go", "approve_for_session")
    session.turn("[[approve:make]] go")
    session.turn("[[approve:make install]] go", "deny")

    assert 2 == len(session.of(RequestOpened))


def test_an_edit_is_asked_for_made_and_told_with_its_lines(start, tmp_path):
    session = start()
    for decision in ("approve", "approve", "deny"):
        session.turn("[[edit:notes.txt]] go", decision)

    assert 2 == len((tmp_path / "folder" / "notes.txt").read_text().splitlines())
    assert ["add", "update", "update"] == [item.changes[0].kind for item in session.items("file_change")]
    assert "@@ -1 +1,2 @@" == session.items("file_change")[1].changes[0].diff.splitlines()[-3].replace("1,1", "1")


@pytest.mark.parametrize(("profile", "asked"), [("full_access", 0), ("auto_accept_edits", 1), ("supervised", 2)])
def test_a_profile_says_what_is_asked(start, profile, asked):
    session = start(profile=profile)
    session.turn("[[edit:notes.txt]] [[approve:make]] go", *["approve"] * asked)

    assert asked == len(session.of(RequestOpened))


def test_a_question_is_answered_in_its_own_words(start, wire):
    session = start()
    name = {"claude": "question_1", "codex": "q1", "acp": "answer"}[wire]
    ended = session.turn("[[ask:Which colour?|red|blue]] go", "answer", **{name: ("red",)})

    question = session.of(RequestOpened)[0].prompt.questions[0]
    assert ("Which colour?", ["red", "blue"]) == (question.text, [label for label, _ in question.options])
    assert "completed" == ended.status


def test_a_plan_and_a_thought_are_told(start):
    session = start()
    session.turn("[[think:hm, well]] [[plan:first|then]] go")

    plans = [event.item.steps for event in session.of(ItemStarted, ItemEnded) if event.item.kind == "plan"]
    assert ["hm, well"] == [item.text for item in session.items("reasoning")]
    assert (("first", "in_progress"), ("then", "pending")) in plans
    assert (("first", "completed"), ("then", "completed")) == plans[-1]


def test_an_interrupt_ends_a_turn_that_is_silent_one_that_talks_and_one_that_asks(start):
    session = start({"DEMO_PACE": "0.2"})
    for text, sign in (("[[stall:600]] go", TurnStarted), ("count to 50", ItemDelta), ("[[approve:x]]", RequestOpened)):
        session.send(text)
        session.until(sign)
        session.driver.interrupt()

        assert "interrupted" == session.until(TurnEnded).status
    assert len(session.of(RequestOpened)) == len(session.of(RequestResolved))
    assert "completed" == session.turn("still there?").status


def test_a_message_joins_the_turn_while_a_tool_is_open(start):
    session = start({"DEMO_QUIRKS": "steering"})
    session.send("[[approve:make]] go")
    asked = session.until(RequestOpened)
    session.driver.steer("message", "a haiku about steering")
    session.answer(asked, "approve")
    ended = session.until(TurnEnded)

    assert ["accepted"] == [event.outcome for event in session.of(SteerSettled)]
    assert 1 == len(session.of(TurnStarted))
    assert "a haiku about steering" in [item.text for item in session.items("user_message")]
    assert "steering" in ended.reply


def test_a_session_that_was_killed_goes_on_under_its_id(start):
    session = start()
    session.turn("My name is Ada")
    session.send("[[stall:600]] go")
    session.until(TurnStarted)
    session.kill()
    again = start(resume=session.of(SessionOpened)[0].native_id)
    ended = again.turn("What did I say before?")

    assert "Ada" in ended.reply
    assert [] == again.of(NativeIdChanged)
    assert ["What did I say before?"] == [item.text for item in again.items("user_message")]


def test_a_fork_has_the_past_and_an_id_of_its_own(start):
    session = start()
    session.turn("the first thing is a turtle")
    fork = start(resume=session.of(SessionOpened)[0].native_id, fork=True)
    ended = fork.turn("What did I say before?")

    assert session.native_id != fork.native_id
    assert "turtle" in ended.reply
    assert "completed" == session.turn("still here?").status


def test_a_lost_session_is_told(live, wire):
    assert "thread_lost" == live(wire, resume=LOST).until(SessionFailed).reason


@pytest.mark.parametrize(
    ("directive", "code"), [("quota", "usage_limit"), ("401", "unauthorized"), ("500", "server_error")]
)
def test_the_vendors_failures_fail_the_turn_once(start, directive, code):
    session = start()
    failed = session.turn(f"[[{directive}]] go")

    assert ("failed", code) == (failed.status, failed.code)
    assert "completed" == session.turn("and now?").status
    assert 2 == len(session.of(TurnEnded))


def test_compaction_is_a_turn(start):
    session = start()
    session.turn("one")
    session.driver.compact("c")

    assert "completed" == session.until(TurnEnded).status
    assert ["completed"] == [item.status for item in session.items("compaction")]
    assert "completed" == session.turn("and now?").status


def test_another_model_answers_later_turns(start):
    session = start()
    session.driver.set_model("demo-haiku-1")

    assert "completed" == session.turn("hello").status
    assert [] == session.of(SessionFailed)


def test_what_no_client_knows_ends_no_session(start, wire):
    session = start({"DEMO_DRIFT": "1"})
    ended = session.turn("go")

    unknown = {
        "claude": {"weather", "system/aurora", "assistant/hologram"},
        "codex": {"thread/hologram/updated"},
        "acp": {"_demo/weather", "session/update hologram_update"},
    }
    assert "completed" == ended.status
    assert unknown[wire] <= {event.method for event in session.of(Raw)}
    assert ["other"] == [event.kind for event in session.of(RequestOpened)]


def test_a_flood_of_pieces_and_a_huge_answer_come_whole(start):
    session = start()
    flooded, huge = session.turn("[[flood:5000]] go"), session.turn("[[big:300000]] go")

    assert "".join(f"{number} " for number in range(5000)).strip() == flooded.reply.strip()
    assert 300_000 == len(huge.reply)


def test_death_in_a_turn_leaves_no_item_open(start):
    session = start()
    session.send("[[run:make]] [[die]] go")
    session.until(ItemStarted, when=lambda event: event.item.kind == "command")

    assert -9 == session.wait()
    assert "completed" not in [event.status for event in session.of(TurnEnded)]
    assert {event.item.id for event in session.of(ItemStarted)} == {event.item.id for event in session.of(ItemEnded)}


@pytest.mark.parametrize("wire", ["claude", "codex"], indirect=True)
def test_a_request_too_many_fails_the_turn(start):
    assert "rate_limit" == start().turn("[[429]] go").code


@pytest.mark.parametrize("wire", ["claude", "codex"], indirect=True)
def test_a_lost_connection_is_made_again(start):
    session = start()

    assert "completed" == session.turn("[[retry]] go").status
    assert 1 == len(session.of(TurnRetrying))


@pytest.mark.parametrize("wire", ["claude", "codex"], indirect=True)
def test_a_fork_has_the_past_up_to_its_turn(start):
    session = start()
    first = session.turn("the first thing is a turtle")
    session.turn("the second thing is a hare")
    fork_at = first.fork_at or session.of(TurnStarted)[0].native_turn_id
    fork = start(resume=session.native_id, fork=True, fork_at=fork_at)
    ended = fork.turn("What did I say before?")

    assert "turtle" in ended.reply
    assert "hare" not in ended.reply


@pytest.mark.parametrize("wire", ["claude", "codex"], indirect=True)
def test_a_cancelled_request_interrupts_the_turn(start):
    assert "interrupted" == start().turn("[[approve:make]] go", "cancel").status
