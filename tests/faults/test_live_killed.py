"""Live sessions whose CLI, host or client is killed: no turn is lost or doubled, no request left, no process left."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from oulipoly_engine.core.live.events import RequestOpened, SessionOpened, TurnEnded, TurnStarted
from oulipoly_engine.core.live.recovery import Blocked, Recoverable
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.host.link import HostGone, HostUnreachable

WIRES = Path(__file__).resolve().parents[1] / "fixtures" / "wires"
PROMPT = "hello [[plan:a|b]] [[approve:ls]] [[think:one two three]] [[edit:new.txt]] [[run:make]]"
FINAL = {"completed", "failed", "interrupted", "blocked"}


def statuses(live):
    runtimes = live.engine.runtimes
    known = {one.runtime.id: one.status for one in runtimes.summaries()}
    left = sorted({turn.runtime_id for turn in live.live.left_turns()} & known.keys())
    return known | ({one.runtime.id: one.status for one in runtimes.refresh(left)} if left else {})


def watch(live, session, killed):
    """Answer what a session asks, and call `killed` with the number of each event; returns when its host is gone."""
    deadline = time.monotonic() + 100.0
    try:
        with live.attached(session, 0) as client:
            while True:
                assert time.monotonic() < deadline, live.live.events(session)[-10:]
                for numbered in client.wait(10.0):
                    if killed(numbered):
                        return
                    answer(live, numbered.event)
    except (HostGone, HostUnreachable):
        return


def answer(live, event):
    if isinstance(event, RequestOpened) and event.kind != "other":
        answers = {question.id: ("yes",) for question in event.prompt.questions}
        try:
            live.live.answer(event.request_id, "answer" if answers else "approve", answers=answers)
        except (RunnerError, HostGone):  # it was killed meanwhile
            return


def until(condition, within_s=20.0):
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def assert_sound(live, session, sent):
    """Every message that was taken is one turn or waits; turns are final or recoverable; nothing is left open."""
    until(lambda: live.host_of(session) is None and not live.processes())
    assert () == live.live.requests()
    turns = live.live.turns(session)
    waiting = [message.message_id for message in live.live.status(session).queue]
    known = [turn.turn_id for turn in turns] + waiting
    assert len(set(known)) == len(known)
    assert set(sent) <= set(known)
    plans = live.live.recover(statuses(live)) if any(turn.status not in FINAL for turn in turns) else ()
    assert {turn.turn_id for turn in turns if turn.status not in FINAL} == {plan.turn.turn_id for plan in plans}
    assert all(isinstance(plan, Recoverable) for plan in plans), plans
    numbers = [one.seq for one in live.live.events(session, limit=10_000)]
    assert list(range(1, len(numbers) + 1)) == numbers
    return plans


def go_on(live, session, plans):
    """Have the turn that was left go on, or send the next message; both end well."""
    if plans:
        turn = live.live.resume_turn(plans[0].turn.turn_id, statuses(live)).turn_id
    else:
        turn = live.live.send(session, "and now?").turn_id
    watch(live, session, lambda one: is_end_of(one, [turn]))
    assert "completed" == live.live.wait(session, turn).status
    assert {"completed", "interrupted"} >= {one.status for one in live.live.turns(session)}
    assert () == live.live.left_turns()


VICTIMS = [
    pytest.param(("pid",), id="cli"),
    pytest.param(("host_pid",), id="host"),
    pytest.param(("host_pid", "pid"), id="both"),
]


@pytest.mark.parametrize("victims", VICTIMS)
def test_cli_and_host_are_killed_in_a_turn(live, kills, victims):
    session, turn = live.begin_turn(PROMPT)
    watch(live, session, lambda one: isinstance(one.event, TurnEnded))
    most = len(live.live.events(session, limit=1000))
    live.live.order(session, "close", starts=False)
    live.until_closed(session)

    for share in kills.shares(less=2):
        number = len(live.live.events(session, limit=10_000)) + 1 + int(share * most)
        turn = live.live.send(session, PROMPT.replace("new.txt", f"{share}.txt")).turn_id
        watch(live, session, Killer(live, session, victims, number))
        go_on(live, session, assert_sound(live, session, [turn]))
        live.live.order(session, "close", starts=False)
        live.until_closed(session)


class Killer:
    """Kills processes of a session's when an event comes; it may come too late."""

    def __init__(self, live, session, victims, number):
        self._live, self._session, self._victims, self._number = live, session, victims, number

    def __call__(self, numbered):
        if numbered.seq >= self._number or isinstance(numbered.event, TurnEnded):
            host = self._live.host_of(self._session)
            if host is not None:
                for victim in self._victims:
                    self._live.kill(getattr(host, victim))
                return True
        return False


def test_client_is_killed_while_it_sends(live, kills):
    session = live.begin()
    command = [sys.executable, "-m", "oulipoly_tui", "session", "send", session, "--wait"]
    began = time.monotonic()
    subprocess.run([*command, "first"], check=True, stdout=subprocess.DEVNULL)
    lasts = time.monotonic() - began

    texts = []
    for share in kills.shares(less=2):
        text = f"number {share}"
        texts.append(text)
        client = subprocess.Popen([*command, text], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(share * lasts)  # a moment of its work, by chance
        client.kill()
        client.wait()
    last = live.live.send(session, "last", waits=True)

    turns = live.live.turns(session)
    inputs = [turn.input for turn in turns]
    assert ("completed", "last") == (last.status, inputs[-1])
    assert len(set(inputs)) == len(inputs)
    assert set(inputs) <= {"first", *texts, "last"}
    assert {"completed"} == {turn.status for turn in turns}
    assert 1 == sum(isinstance(one.event, SessionOpened) for one in live.live.events(session, limit=10_000))
    live.live.order(session, "close", starts=False)
    assert_sound(live, session, [turn.turn_id for turn in turns])


def is_end_of(numbered, turns):
    return isinstance(numbered.event, TurnEnded) and numbered.event.turn_id in turns


def end(live, session):
    with suppress(RunnerError, HostGone):  # it has ended
        live.live.order(session, "close", starts=False)
    live.until_closed(session)


WIRED = [
    pytest.param("codex", "codex-0.169.0-approvals", id="codex"),
    pytest.param("claude", "claude-2.1.197-approvals", id="claude"),
    pytest.param("acp", "opencode-1.18.33-acp-permissions", id="opencode"),
    pytest.param("acp", "gemini-0.61.0-acp", id="gemini"),
]


def read_wire(name):
    """Return a recording up to the turn that its client interrupted, which ours lets go on."""
    lines = (WIRES / f"{name}.jsonl").read_text().splitlines()
    records = [one for one in map(json.loads, lines) if isinstance(one["msg"], dict)]
    methods = [one["msg"].get("method") for one in records]
    if "session/cancel" not in methods:
        return records
    before = methods[: methods.index("session/cancel")]
    return records[: len(before) - 1 - before[::-1].index("session/prompt")]


@pytest.mark.parametrize(("kind", "name"), WIRED)
def test_cli_dies_behind_a_line_of_a_recorded_wire(live, kills, tmp_path, kind, name):
    records = read_wire(name)
    wire = tmp_path / "wire.jsonl"
    wire.write_text("".join(json.dumps(one) + "\n" for one in records))
    told = [one["msg"] for one in records if one["dir"].startswith("client->")]
    turns = sum(not {"turn/start", "user", "session/prompt"}.isdisjoint(map(str, message.values())) for message in told)
    for share in kills.shares(less=2):
        last = 1 + int(share * len(records))
        live.replayed(kind, wire, last)
        session = live.begin(runtime=kind)
        sent = []
        for number in range(turns):
            try:
                sent.append(live.live.send(session, f"message {number}").turn_id)
            except RunnerError:  # it dies before it is ready
                break
            if live.host_of(session) is None:
                break
        # The CLI may die while we still send, so that another one does the rest: it is killed as well or does all.
        watch(live, session, lambda one, turn=sent[-1:]: is_end_of(one, turn))
        end(live, session)
        live.replayed(kind, wire, 0)  # whole from now on, also where it is asked how it is
        plans = assert_sound(live, session, sent)
        if plans:
            again = live.live.resume_turn(plans[0].turn.turn_id, statuses(live)).turn_id
            watch(live, session, lambda one, turn=again: is_end_of(one, [turn]))
            assert live.live.wait(session, again).status in FINAL
            assert "interrupted" == live.live.turns(session)[[*sent].index(plans[0].turn.turn_id)].status
        end(live, session)


def test_a_turn_whose_runtime_does_not_work_is_blocked_and_goes_on_later(live):
    session, turn = live.begin_turn(json.dumps([["listen"]]), runtime=live.scripted())
    live.until(session, lambda event: isinstance(event, TurnStarted))
    live.kill(live.host_of(session).host_pid)
    until(lambda: not live.processes())

    for change, reason in (
        ({"program": "/nowhere/codex"}, "cli_runtime_missing_binary"),
        ({"mood": "out"}, "cli_runtime_needs_auth"),
        ({"enabled": False}, "cli_runtime_disabled"),
        ({"mood": "gone"}, "cli_runtime_error"),
        ({"interpreter": "/nowhere/python"}, "cli_runtime_spawn_failed"),
        (None, "cli_runtime_missing"),
    ):
        if change is None:
            (live.demo.config / "config.toml").write_text("")
        else:
            live.scripted(**change)
        (plan,) = live.live.recover(statuses(live))
        assert (Blocked, reason, f"turn.resume:{turn}") == (type(plan), plan.reason_class, plan.resume_command)
        assert (2, True) == (len(plan.resume_requirements), plan.can_resume_same_turn)
        with pytest.raises(RunnerError, match="resume this turn"):
            live.live.resume_turn(turn, statuses(live))
    live.scripted("out")
    early = live.live.send(session, "too early", waits=True)
    until(lambda: live.host_of(session) is None)
    assert ("queued", [turn]) == (early.status, [left.turn_id for left in live.live.left_turns()])

    live.scripted()
    again = live.live.resume_turn(turn[:8], statuses(live))
    assert ["completed"] * 2 == [live.live.wait(session, one.turn_id).status for one in (again, early)]
    ends = [(one.kind, one.status) for one in live.live.turns(session)]
    assert [("user", "interrupted"), ("recovery", "completed"), ("user", "completed")] == ends
