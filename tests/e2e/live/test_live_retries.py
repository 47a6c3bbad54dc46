"""A turn whose CLI fails before anything came: tried again in view, stopped by whoever wants, lost by no kill."""

import json
import re
import sys

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import ItemEnded, TurnRetrying
from oulipoly_engine.core.live.runtime_status import Ready


def script(*actions):
    return json.dumps([*actions])


def settings(live, **values):
    """Write settings before all tables."""
    path = live.demo.config / "config.toml"
    path.write_text("".join(f"{name} = {value}\n" for name, value in values.items()) + path.read_text())


@pytest.fixture
def chat(live, capfd, monkeypatch):
    """Run `chat` in this process, in the demo's project."""
    monkeypatch.chdir(live.demo.project)
    settings(live, retry_base_ms=30)
    live.scripted()

    def run(*words):
        with (live.demo.config / "config.toml").open() as nothing:
            nothing.read()
            monkeypatch.setattr(sys, "stdin", nothing)
            code = main(["chat", "-p", "scripted", *words])
        return code, *capfd.readouterr()

    return run


def waiting(live, *actions):
    """Begin a turn that waits to be tried again; returns the ids of session and turn."""
    settings(live, retry_base_ms=600_000, retry_cap_ms=600_000)
    session, turn = live.begin_turn(script(*actions), runtime=live.scripted())
    live.until(session, lambda event: isinstance(event, TurnRetrying))
    return session, turn


def test_a_chat_shows_each_retry_and_then_the_answer(live, chat):
    message = script(["fail", 2], ["say", "hello"])
    code, out, err = chat(message)

    assert (0, "hello\n") == (code, out)
    assert ["1", "2"] == re.findall(r"\[Retry (\d)/3 in \S+ s: network\. Ctrl-C: stop\]", err)
    assert [message] * 3 == live.texts()
    (session,) = (status.session for status in live.live.list_sessions())
    assert ["completed"] == [turn.status for turn in live.live.turns(session.session_id)]


def test_events_of_a_chat_tell_what_is_waited_for(live, chat):
    code, out, _ = chat("--mode", "json", script(["fail", 1, 429, "slow down, retry after 20ms"], ["say", "hello"]))
    lines = [json.loads(line) for line in out.splitlines()]

    (retry,) = (line for line in lines if line["type"] == "turn_retrying")
    assert 0 == code
    assert (1, 3, 20, "rate_limit", True) == tuple(
        retry[key] for key in ("attempt", "attempts", "delay_ms", "cause", "is_asked")
    )


def test_a_turn_that_always_fails_fails(live, chat):
    code, out, err = chat("--print", script(["fail", 9], ["say", "hello"]))

    assert (1, "", 3) == (code, out, err.count("Retry"))
    assert 4 == len(live.texts())


def test_an_interrupt_ends_the_wait_at_once(live):
    session, turn = waiting(live, ["fail", 1], ["say", "late"])
    live.live.order(session, orders.Interrupt(), starts=False)
    result = live.live.wait(session, turn)

    assert ("interrupted", 1) == (result.status, len(live.texts()))
    assert not live.live.status(session).busy


def test_a_kill_of_the_host_leaves_a_turn_that_goes_on_with_its_message(live):
    session, turn = waiting(live, ["fail", 1], ["say", "hello"])
    live.kill(live.host_of(session).host_pid)
    live.until_closed(session)
    (left,) = live.live.left_turns()
    resumed = live.live.resume_turn(turn, {"scripted": Ready()})

    assert (turn, "starting") == (left.turn_id, left.status)
    assert "completed" == live.live.wait(session, resumed.turn_id).status
    assert script(["fail", 1], ["say", "hello"]) in live.texts()[-1]


@pytest.mark.parametrize("runtime", ["demo-claude1", "demo-codex1"])
def test_each_cli_takes_the_message_again(live, runtime):
    settings(live, retry_base_ms=20)
    session, turn = live.begin_turn("[[network:2]] hello", runtime=runtime)
    result = live.live.wait(session, turn)
    events = [numbered.event for numbered in live.live.events(session)]

    assert ("completed", True) == (result.status, bool(result.reply))
    assert [1, 2] == [event.attempt for event in events if isinstance(event, TurnRetrying)]
    said = [event.item for event in events if isinstance(event, ItemEnded) and event.item.kind == "user_message"]
    assert 1 == len(said)
