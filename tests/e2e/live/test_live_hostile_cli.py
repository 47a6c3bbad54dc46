"""CLIs that misbehave: the session goes on where it can, and ends with a reason where not. No process is left."""

import json
import sqlite3
import sys
import threading
import time
from contextlib import closing

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import (
    ItemDelta,
    ItemEnded,
    Notice,
    RequestResolved,
    SessionClosed,
    SessionFailed,
    TurnStarted,
)
from oulipoly_engine.core.live.sessions import SessionOptions
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.process.liveness import is_alive

LIMIT = 64 << 20
RUBBISH = (
    "rubbish",
    "{",
    "[1]",
    "{}",
    '"x"',
    "\x1b[31m",
    '{"id":99,"result":{}}',
    '{"id":1,"result":{},"error":{"code":1}}',
    '{"method":"item/hologram","params":{"a":1}}',
    '{"method":7}',
    '{"method":"turn/completed","params":{"turn":{"id":"another"}}}',
    '{"method":"item/completed","params":[]}',
    "[" * 100_000,
)


def run(live, *actions, mood="", **settings):
    live.scripted(mood, **settings)
    return live.begin_turn(json.dumps(actions), runtime="scripted")


def end(live, session, kind=SessionClosed):
    return next(event for event in reversed(live.until_closed(session)) if isinstance(event, kind))


def wait_started(live, session):
    live.until(session, lambda event: isinstance(event, TurnStarted))


def left(live):
    (plan,) = live.live.left_turns()
    return plan.turn_id


def test_it_closes_its_output_and_lives(live):
    session, turn = run(live, ["say", "a"], ["close"])

    assert "its output was closed" == end(live, session).message
    assert turn == left(live)


@pytest.mark.parametrize("number", [0, 3])
def test_it_ends_in_its_turn(live, number):
    session, turn = run(live, ["complain", "disk is full\n"], ["complain", "help"], ["exit", number])

    closed = end(live, session)
    assert ("exited", number) == (closed.reason, closed.exit_code)
    assert f"exit code {number}: disk is full · help" in closed.message
    assert turn == left(live)


def test_its_last_words_hold_no_password_and_are_as_many_as_configured(live):
    said = f"cannot reach http://ann:CANARY@127.0.0.1:9 {'x' * 900}\n"
    settings = {"proxy": "http://ann:CANARY@127.0.0.1:9", "stderr_ring_lines": 1}
    session, _ = run(live, ["complain", "x\n"], ["complain", said], ["exit", 3], **settings)

    message = end(live, session).message
    assert (True, False, False) == ("127.0.0.1:9" in message, "CANARY" in message, " · " in message)


def test_it_is_killed_in_its_turn(live):
    session, turn = run(live, ["half", "a"], ["kill"])

    assert ("killed", -9) == (end(live, session).reason, end(live, session).exit_code)
    assert turn == left(live)


def test_it_floods_stderr(live):
    session, turn = run(live, ["stderr", 4_000_000], ["say", "done"])

    assert "done" == live.live.wait(session, turn).reply


def test_rubbish_ends_nothing(live):
    session = live.begin(runtime=live.scripted())
    for line in RUBBISH:
        result = live.live.send(session, json.dumps([["line", line], ["line", ""], ["say", "done"]]), waits=True)
        assert ("completed", "done") == (result.status, result.reply), line


def test_lines_may_come_in_pieces(live):
    session, turn = run(live, ["pieces", "so it goes"])

    assert "so it goes" == live.live.wait(session, turn).reply


def test_a_long_line_reaches_everybody(live):
    session = live.begin(runtime=live.scripted())
    with live.attached(session, 0) as client:
        turn = live.live.send(session, json.dumps([["big", 17_000_000]])).turn_id
        reply = live.live.wait(session, turn).reply
        seen = []
        while not any(getattr(one.event, "turn_id", "") == turn and hasattr(one.event, "reply") for one in seen):
            seen += client.wait(10.0)

    assert 17_000_000 == len(reply)
    assert live.live.events(session, limit=1000) == tuple(one for one in seen if not isinstance(one.event, ItemDelta))
    cut = [one.event.item.text for one in seen if isinstance(one.event, ItemEnded)][-1]
    assert (True, True) == (len(cut) > 8_000_000, cut.endswith("x\n[8,611,392 characters were cut off]"))


def test_an_event_that_no_frame_takes_ends_no_host(live):
    session = live.begin(runtime=live.scripted())
    live.live.send(session, "1", waits=True)
    event = json.dumps({"type": "notice", "text": "x" * (33 << 20), "level": "info", "code": ""})
    with closing(sqlite3.connect(live.engine.paths.state_db)) as connection:
        connection.execute("UPDATE live_events SET event = ? WHERE session_id = ? AND seq = 2", (event, session))
        connection.commit()

    with live.attached(session, 0) as client:
        seen = []
        while len(seen) < 3:
            seen += client.wait(10.0)
    assert ([1, 2, 3], "oversized") == ([one.seq for one in seen][:3], seen[1].event.code)
    assert live.host_of(session) is not None


def test_a_line_that_is_too_long_is_left_out(live):
    session, turn = run(live, ["long", LIMIT], ["say", "done"])

    result = live.live.wait(session, turn)
    notices = [one.event.code for one in live.live.events(session) if isinstance(one.event, Notice)]
    assert ("completed", "done", ["oversized"]) == (result.status, result.reply, notices)


def test_it_hears_nothing_and_is_closed(live):
    session, turn = run(live, ["deaf"])
    wait_started(live, session)
    with live.live.connect(session) as client:
        client.post(orders.Steer("x" * 30_000))
        for _ in range(10):
            client.order(orders.Steer("x" * 30_000))
        client.order(orders.Close())
        with live.live.connect(session) as other:  # which gets a descriptor that was free
            assert turn == other.order(orders.AskStatus())["turn_id"]

    assert "closed" == end(live, session).reason
    assert "interrupted" == live.live.wait(session, turn).status


def test_cancel_ends_what_ignores_term(live):
    session, turn = run(live, ["stubborn"], ["say", "ready"], ["deaf"], mood="stays")
    live.until_said(session, "ready")
    live.live.order(session, orders.Cancel(), starts=False)

    closed = end(live, session)
    assert ("cancelled", "interrupted") == (closed.reason, live.live.wait(session, turn).status)


@pytest.mark.parametrize("way", ["cancel", "close", "kill"])
def test_descendants_in_their_own_session_end_too(live, tmp_path, way):
    session, _ = run(live, ["child", str(tmp_path / "pid")], ["say", "ready"], ["listen"])
    live.until_said(session, "ready")
    child = int((tmp_path / "pid").read_text())
    if way == "kill":
        live.kill(live.host_of(session).pid)
    else:
        live.live.order(session, orders.read_order(way, {}), starts=False)

    live.until_closed(session)
    assert not is_alive(child)


def test_what_the_cli_of_a_killed_host_has_started_is_ended(live, tmp_path):
    session, _ = run(live, ["child", str(tmp_path / "pid")], ["say", "ready"], ["listen"])
    live.until_said(session, "ready")
    child = int((tmp_path / "pid").read_text())
    live.kill(live.host_of(session).host_pid)
    live.until_closed(session)

    until(lambda: not is_alive(child))


@pytest.mark.parametrize("way", ["cancel", "close", "kill"])
def test_a_session_that_the_agent_has_begun_outlives_its_own(live, tmp_path, way):
    begins = [sys.executable, "-m", "oulipoly_tui", "session", "new", "--runtime", "scripted", "--prompt", "hello"]
    session, _ = run(live, ["start", str(tmp_path / "id"), *begins], ["listen"])
    until((tmp_path / "id").exists)
    begun = (tmp_path / "id").read_text().strip()
    if way == "kill":
        live.kill(live.host_of(session).host_pid)
    else:
        live.live.order(session, orders.read_order(way, {}), starts=False)

    live.until_closed(session)
    assert "completed" == live.live.send(begun, "and then?", waits=True).status
    assert 1 == live.live.find(begun).generation


def until(is_so):
    deadline = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_turn_of_which_nothing_is_heard_says_so(live):
    script = json.dumps([["approve"], ["listen"]])
    session, turn = live.begin_turn(script, runtime=live.scripted(), options=SessionOptions(notice_s=0.2))
    request = live.request(session)
    asked = live.live.last_number(session)
    with live.attached(session, asked) as client:
        assert () == tuple(client.wait(0.3))  # it is for us to speak
    live.live.answer(request.request_id, "approve")
    live.until(session, lambda event: "0.4 s" in getattr(event, "text", ""), after=asked)
    live.live.order(session, orders.Interrupt(), starts=False)
    live.live.wait(session, turn)

    told = [one.event for one in live.live.events(session) if isinstance(one.event, Notice | RequestResolved)]
    while isinstance(told[0], Notice):  # where the CLI was slow to ask
        del told[0]
    assert ["", "silent", "silent"] == [getattr(event, "code", "") for event in told[:3]]  # more until it was stopped
    assert "0.2 s" in told[1].text


def test_silence_is_counted_from_the_beginning_of_a_turn(live):
    script = json.dumps([["say", "yes"]])
    session, turn = live.begin_turn(script, runtime=live.scripted(), options=SessionOptions(notice_s=2.0))
    live.live.wait(session, turn)
    time.sleep(2.1)  # nobody wants anything of it
    assert "completed" == live.live.send(session, script, waits=True).status

    assert not [one for one in live.live.events(session) if isinstance(one.event, Notice)]


def test_it_never_says_that_it_is_ready(live):
    session = live.begin(runtime=live.scripted("silent", startup_timeout_ms=300))

    failed = end(live, session, SessionFailed)
    assert ("timed_out", True) == (failed.reason, "0 s" not in failed.message)
    live.until_closed(session)
    assert ("closed", failed.message) == (live.live.status(session).status, live.live.find(session).status_reason)
    live.scripted()
    assert "completed" == live.live.send(session, "1", waits=True).status
    assert "" == live.live.find(session).status_reason


def test_it_ends_at_once(live):
    live.scripted("gone")
    try:  # whether we reach its host before that has ended is chance
        session, turn = live.begin_turn("hello", runtime="scripted")
        said = live.live.wait(session, turn).message
    except RunnerError as error:
        said = error.message

    assert "no network" in said


def test_nobody_uses_it(live):
    session = live.begin(runtime=live.scripted(idle_session_ttl_secs=1))

    assert "idle" == end(live, session).reason
    assert "closed" == live.live.status(session).status
    assert "completed" == live.live.send(session, "1", waits=True).status


def test_it_does_not_stop_when_it_is_told_to(live):
    session, turn = run(live, ["listen"], mood="never-stops")
    wait_started(live, session)
    live.live.order(session, orders.Interrupt(), starts=False)

    live.live.order(session, orders.Cancel(), starts=False)
    assert "cancelled" == end(live, session).reason
    assert "interrupted" == live.live.wait(session, turn).status


def test_a_closed_session_sends_nothing_more(live):
    session, turn = run(live, ["listen"], mood="ends-its-turn")
    wait_started(live, session)
    waiting = live.live.send(session, "later").turn_id
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)

    assert [waiting] == [one.message_id for one in live.live.status(session).queue]
    assert 1 == len(live.texts())
    live.scripted()
    assert "completed" == live.live.send(session, "again", waits=True).status
    assert ["later", "again"] == live.texts()[1:]
    assert turn not in [one.turn_id for one in live.live.left_turns()]


def test_a_client_leaves_no_thread(live):
    before = threading.enumerate()
    session, _turn = run(live, ["say", "hi"], ["exit", 0])
    live.until_closed(session)

    deadline = time.monotonic() + 60
    while not set(threading.enumerate()) <= set(before):
        assert time.monotonic() < deadline
        time.sleep(0.01)
