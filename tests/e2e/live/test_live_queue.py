"""Messages that wait, and messages for the turn that runs: in order, once, and nowhere lost."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import ItemEnded, Notice, QueueChanged, SteerSettled, TurnEnded, TurnStarted
from oulipoly_engine.errors import RunnerError


@pytest.fixture
def busy(live, tmp_path):
    """Return a session whose turn runs until the function that is returned with it is called."""
    session, turn = live.begin_turn(json.dumps([["wait", str(tmp_path / "go")]]), runtime=live.scripted())
    live.until(session, lambda event: isinstance(event, TurnStarted))

    def go_on():
        (tmp_path / "go").touch()

    return session, turn, go_on


def waiting(live, session):
    return [one.text for one in live.live.status(session).queue]


def change(live, session, act, message, **more):
    return [one.text for one in live.live.change_queue(session, orders.ChangeQueue(act, message, **more))]


def settled(live, session):
    return [(one.event.outcome) for one in live.live.events(session) if isinstance(one.event, SteerSettled)]


def turn_ids(live, session):
    return [turn.turn_id for turn in live.live.turns(session)]


def turn_texts(live, session):
    return [(turn.input, turn.status) for turn in live.live.turns(session)]


def test_messages_become_turns_in_their_order(live, busy):
    session, _, go_on = busy
    sent = [live.live.send(session, text) for text in ("one", "two", "three")]
    assert (["queued"] * 3, ["one", "two", "three"]) == ([one.status for one in sent], waiting(live, session))

    go_on()
    results = [live.live.wait(session, one.turn_id) for one in sent]

    assert ["completed"] * 3 == [result.status for result in results]
    assert ["one", "two", "three"] == live.texts()[1:]
    assert [one.turn_id for one in sent] == [turn.turn_id for turn in live.live.turns(session)][1:]
    assert [] == waiting(live, session)


@pytest.mark.parametrize("lives", [True, False])
def test_waiting_messages_can_be_edited_moved_and_taken_back(live, busy, lives):
    session, _, go_on = busy
    ids = {text: live.live.send(session, text).turn_id for text in ("one", "two", "three")}
    if not lives:
        live.live.order(session, orders.Close(), starts=False)
        live.until_closed(session)

    assert ["three", "one", "two"] == change(live, session, "move", ids["three"], place=1)
    assert ["three", "two", "one"] == change(live, session, "move", ids["one"], place=99)
    assert ["three", "2", "one"] == change(live, session, "edit", ids["two"], text="2")
    assert ["2", "one"] == change(live, session, "remove", ids["three"])
    for act, identity in (("remove", ids["three"]), ("edit", "none"), ("burn", ids["one"]), ("move", "")):
        with pytest.raises(RunnerError):
            change(live, session, act, identity, text="x")
    go_on()
    last = live.live.send(session, "last", waits=True)

    assert "completed" == last.status
    assert ["2", "one", "last"] == live.texts()[1:]


def test_following_until_idle_sees_the_running_turn_and_the_queue_to_their_end(live, busy, commands):
    session, turn, go_on = busy
    go_on()
    live.live.wait(session, turn)
    live.live.send(session, json.dumps([["listen"]]))
    ids = {text: live.live.send(session, text).turn_id for text in ("next", "never")}
    words = ["session", "follow", session, "--until-idle"]
    follows = commands.start([*words, "--json"])
    said = [json.loads(follows.stdout.readline())]
    change(live, session, "remove", ids["never"])
    live.live.order(session, orders.Interrupt(), starts=False)
    said += map(json.loads, follows.stdout)

    assert ["completed", "interrupted", "completed"] == [one["status"] for one in said if one["type"] == "turn_ended"]
    assert ids["next"] == said[-1]["turn_id"]
    assert 0 == follows.wait()
    again, _ = commands.start([*words, "--json", "--after", said[-1]["seq"] - 1]).communicate()
    assert [said[-1]] == [json.loads(line) for line in again.splitlines()]
    last = commands.start([*words, "--after", said[-1]["seq"]])
    assert (b"", 0) == (last.communicate()[0], last.returncode)


def test_a_cli_that_has_ended_gets_no_message(live, tmp_path):
    script = json.dumps([["wait", str(tmp_path / "go")], ["last"]])
    session, _ = live.begin_turn(script, runtime=live.scripted())
    live.until(session, lambda event: isinstance(event, TurnStarted))
    live.live.send(session, "next")
    host = live.host_of(session)
    os.kill(host.host_pid, signal.SIGSTOP)  # it sees the end of the turn and that of the CLI at once
    (tmp_path / "go").touch()
    while Path(f"/proc/{host.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    os.kill(host.host_pid, signal.SIGCONT)
    live.until_closed(session)

    assert [(script, "completed")] == turn_texts(live, session)
    assert ["next"] == waiting(live, session)
    live.live.send(session, "last", waits=True)
    assert ["next", "last"] == live.texts()[1:]


def test_nobody_waits_for_a_message_that_was_taken_back(live, busy, commands):
    session, *_ = busy
    sends = commands.start(["session", "send", session, "--wait", "--json", "never"])
    queue = live.until(session, lambda event: "never" in str(getattr(event, "messages", ""))).messages
    change(live, session, "remove", queue[0][0])
    told = json.load(sends.stdout)

    assert (1, "revoked", "the message was taken back") == (sends.wait(), told["status"], told["message"])
    assert "revoked" == live.live.wait(session, queue[0][0]).status


def test_what_was_sent_cannot_be_changed(live, busy):
    session, turn, _ = busy

    with pytest.raises(RunnerError, match="sent meanwhile"):
        change(live, session, "remove", turn)


def test_everybody_is_told_of_the_queue(live, busy):
    session, _, go_on = busy
    message = live.live.send(session, "one").turn_id
    change(live, session, "edit", message, text="1")
    go_on()
    live.live.wait(session, message)

    told = [one.event.messages for one in live.live.events(session) if isinstance(one.event, QueueChanged)]
    assert [((message, "one", ""),), ((message, "1", ""),), ()] == told[-3:]


def test_the_demo_queues_as_well(live):
    session, first = live.begin_turn("hello [[approve:ls]]")
    request = live.request(session)
    second = live.live.send(session, "1 + 1")
    live.live.answer(request.request_id, "approve")

    assert ["completed", "completed"] == [live.live.wait(session, one).status for one in (first, second.turn_id)]
    assert "1 + 1 = 2" == live.live.turns(session)[-1].reply


def test_a_message_reaches_the_turn_that_runs(live):
    live.scripted()
    session, turn = live.begin_turn(json.dumps([["steered", 2]]), runtime="scripted")
    live.until(session, lambda event: isinstance(event, TurnStarted))
    told = [live.live.order(session, orders.Steer(text), starts=True) for text in ("left", "right")]

    assert "completed" == live.live.wait(session, turn).status
    assert [(turn, True)] * 2 == [(one["turn_id"], one["steered"]) for one in told]
    assert ["accepted"] * 2 == settled(live, session)
    sent = [one["params"] for one in live.heard("turn/steer")]
    assert ["left", "right"] == [params["input"][0]["text"] for params in sent]
    assert 1 == len({params["expectedTurnId"] for params in sent})
    assert ([], 1) == (waiting(live, session), len(live.texts()))


def test_a_message_that_the_turn_refuses_waits_and_says_so(live, tmp_path):
    live.scripted()
    script = [["refuse"], ["say", "ready"], ["wait", str(tmp_path / "go")]]
    session, _ = live.begin_turn(json.dumps(script), runtime="scripted")
    live.until_said(session, "ready")
    live.live.order(session, orders.Steer("left"), starts=True)
    live.until(session, lambda event: isinstance(event, SteerSettled))

    assert (["left"], ["refused"]) == (waiting(live, session), settled(live, session))
    notices = [one.event.code for one in live.live.events(session) if isinstance(one.event, Notice)]
    assert ["steer_queued"] == notices
    (tmp_path / "go").touch()
    live.until(session, lambda event: isinstance(event, TurnEnded) and [event.turn_id] == turn_ids(live, session)[1:])
    assert ["left"] == live.texts()[1:]


def test_a_message_for_a_turn_that_is_over_becomes_a_turn(live):
    session, turn = live.begin_turn("1", runtime=live.scripted())
    live.live.wait(session, turn)

    told = live.live.order(session, orders.Steer("late"), starts=True)
    assert (False, True) == (told["steered"], "no turn runs" in told["message"])
    assert "completed" == live.live.wait(session, told["turn_id"]).status
    first = live.live.send(session, json.dumps([["listen"]]))
    with pytest.raises(RunnerError, match="does not run any more"):
        live.live.order(session, orders.Steer("x", turn_id=turn), starts=True)
    live.live.order(session, orders.Interrupt(), starts=False)
    assert "interrupted" == live.live.wait(session, first.turn_id).status
    assert ["1", "late", json.dumps([["listen"]])] == live.texts()


def test_a_message_whose_turn_was_killed_is_not_sent_again(live):
    live.scripted()
    session, turn = live.begin_turn(json.dumps([["say", "ready"], ["deaf"]]), runtime="scripted")
    live.until_said(session, "ready")
    live.live.order(session, orders.Steer("left"), starts=True)
    live.kill(live.host_of(session).pid)
    live.until_closed(session)

    notices = [one.event.text for one in live.live.events(session) if isinstance(one.event, Notice)]
    assert (1, True) == (len(notices), notices[0].endswith("left"))
    assert [] == waiting(live, session)
    live.live.send(session, "next", waits=True)
    assert [] == [text for text in live.texts() if text == "left"]
    assert [(turn, "interrupted")] == [(one.turn_id, one.status) for one in live.live.turns(session)][:1]


def test_the_demo_is_steered(live):
    session, turn = live.begin_turn("hello [[ask:why?|because]]")
    request = live.request(session)
    live.live.order(session, orders.Steer("2 + 2"), starts=True)
    live.until(session, lambda event: isinstance(event, SteerSettled))
    live.live.answer(request.request_id, "answer", answers={"q1": ("because",)})

    result = live.live.wait(session, turn)
    assert ("completed", "2 + 2 = 4") == (result.status, result.reply)
    users = [one.event.item.text for one in live.live.events(session, limit=1000) if is_user(one.event)]
    assert ["hello [[ask:why?|because]]", "2 + 2"] == users


def is_user(event):
    return isinstance(event, ItemEnded) and event.item.kind == "user_message"


@pytest.mark.parametrize("text", ["", "  \n", "x" * ((1 << 20) + 1)], ids=["empty", "blank", "long"])
def test_messages_that_are_none_are_refused(live, busy, text):
    session, turn, _ = busy

    for order in (orders.Send(text), orders.Steer(text)):
        with pytest.raises(RunnerError, match=r"empty|characters"):
            live.live.order(session, order, starts=True)
    assert ([], turn) == (waiting(live, session), live.live.status(session).turn_id)


def test_a_message_that_comes_while_the_session_closes_is_done_by_the_next_process(live):
    live.scripted("ends-its-turn")
    session, turn = live.begin_turn(json.dumps([["deaf"]]), runtime="scripted")
    live.until(session, lambda event: isinstance(event, TurnStarted))
    live.live.order(session, orders.Close(), starts=False)

    assert "completed" == live.live.send(session, "next", waits=True).status
    assert "interrupted" == live.live.wait(session, turn).status
    assert 2 == len({one["pid"] for one in live.heard("turn/start")})
