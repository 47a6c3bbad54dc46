"""What is told of a turn that is waited for and does not simply end: killed, asked for, lost, taken back."""

import json
import os
import signal
import threading

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import RequestOpened, SessionClosed, TurnStarted
from oulipoly_engine.core.live.runtime_status import Ready
from oulipoly_engine.errors import RequestRefused

READY = {"scripted": Ready()}


def listening(live, *actions):
    """Begin a turn that waits for us; returns the ids of session and turn."""
    session, turn = live.begin_turn(json.dumps([*actions, ["listen"]]), runtime=live.scripted())
    live.until(session, lambda event: isinstance(event, TurnStarted))
    return session, turn


def kill(live, session, *, host=False):
    process = live.host_of(session)
    live.kill(process.host_pid if host else process.pid)
    live.until_closed(session)


def test_a_turn_whose_cli_was_killed_is_blocked_and_told_as_left_by_every_way(live):
    session, turn = listening(live)
    kill(live, session)
    result = live.live.wait(session, turn)
    closed = live.until_closed(session)[-1]

    assert ("blocked", "process_lost", "the CLI was killed by signal 9") == (
        result.status,
        result.code,
        result.message,
    )
    assert (SessionClosed, turn) == (type(closed), closed.left_turn)
    assert ("recoverable", turn) == (live.live.status(session).status, live.live.status(session).turn_id)
    assert [turn] == [left.turn_id for left in live.live.left_turns()]


def test_a_turn_goes_on_once_its_session_is_open_again(live):
    session, turn = listening(live)
    kill(live, session, host=True)
    resumed = live.live.resume_turn(turn, READY)

    assert resumed.status in ("starting", "running", "completed")
    assert "completed" == live.live.wait(session, resumed.turn_id).status


def test_a_turn_that_cannot_go_on_yet_is_left_as_it_was(live):
    session, turn = listening(live)
    kill(live, session, host=True)
    live.scripted("out")
    with pytest.raises(RequestRefused, match="does not go on"):
        live.live.resume_turn(turn, READY)

    assert [turn] == [left.turn_id for left in live.live.left_turns()]
    assert () == live.live.status(session).queue


def test_a_lost_sessions_turn_is_left_no_more(live):
    session, turn = listening(live)
    kill(live, session, host=True)
    live.scripted("lost")
    for _ in range(2):
        with pytest.raises(RequestRefused, match="session fork"):
            live.live.resume_turn(turn, READY)

    assert ("fenced", None, ()) == (
        live.live.status(session).status,
        live.live.status(session).turn_id,
        live.live.status(session).queue,
    )
    assert () == live.live.left_turns()


@pytest.mark.parametrize(
    ("mood", "actions", "code", "status", "step"),
    [
        ("", [["approve"]], 75, "waiting_approval", "requests show cli_req"),
        ("", [["kill"]], 75, "blocked", "turn resume"),
        ("", [["end", "failed"]], 1, "failed", "session send"),
        ("", [["end", "interrupted"]], 130, "interrupted", "session send"),
        ("out", [], 75, "queued", "runtime login scripted"),
    ],
)
def test_a_script_is_told_how_a_turn_stands_and_what_comes_next(live, capfd, mood, actions, code, status, step):
    live.scripted(mood)
    words = ["--runtime", "scripted", "--prompt", json.dumps(actions), "--cwd", str(live.demo.project)]
    exit_code = main(["session", "new", *words, "--wait", "--json"])
    said = capfd.readouterr()
    told = json.loads(said.out)

    assert (code, status) == (exit_code, told["status"])
    assert f"agents {step}" in told["next"]
    assert ("it asks" in said.err) == (status == "waiting_approval")


def test_a_message_is_taken_back_from_a_host_that_ends_meanwhile(live):
    session, _ = listening(live)
    message = live.live.send(session, "never").turn_id
    host = live.host_of(session)
    os.kill(host.host_pid, signal.SIGSTOP)
    left = []
    order = orders.ChangeQueue("remove", message)
    taking = threading.Thread(target=lambda: left.append(live.live.change_queue(session, order)))
    taking.start()
    live.kill(host.host_pid)
    taking.join(60.0)

    assert [()] == left


def test_a_script_that_comes_while_something_is_asked_hears_of_it_at_once(live, capfd):
    session, _ = live.begin_turn(json.dumps([["approve"]]), runtime=live.scripted())
    live.until(session, lambda event: isinstance(event, RequestOpened))
    code = main(["session", "send", session, "and then?", "--wait", "--json"])
    said = capfd.readouterr()
    told = json.loads(said.out)

    assert (75, "waiting_approval") == (code, told["status"])
    assert "agents requests show cli_req" in told["next"]
    assert "it asks" in said.err


def test_a_turn_whose_host_was_killed_says_why_it_is_blocked(live):
    session, turn = listening(live)
    kill(live, session, host=True)

    assert "its process was lost" in live.live.wait(session, turn).message
