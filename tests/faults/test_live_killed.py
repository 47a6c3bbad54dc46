"""Live sessions whose CLI, host or client is killed: no turn is lost or doubled, no request left, no process left."""

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.entries import begin_of_ids, entry_of
from oulipoly_engine.core.live.events import RequestOpened, SessionOpened, TurnEnded, TurnStarted
from oulipoly_engine.core.live.recovery import Blocked, Recoverable
from oulipoly_engine.errors import RequestRefused, RunnerError
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


def until(condition, within_s=60.0):
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
    plans = [plan for plan in plans if plan.turn.session_id == session]
    assert {turn.turn_id for turn in turns if turn.status not in FINAL} == {plan.turn.turn_id for plan in plans}
    assert all(isinstance(plan, Recoverable) for plan in plans), plans
    events = live.live.events(session, limit=10_000)
    assert list(range(1, len(events) + 1)) == [one.seq for one in events]
    assert_entered(live, session, events)
    return plans


def assert_entered(live, session, events):
    """All that was said is an entry, once."""
    native_id = live.live.find(session).native_id
    told = (entry_of(session, native_id, one) for one in events if native_id)
    sql = "SELECT turn_id FROM session_turns WHERE turn_id GLOB ? ORDER BY turn_id"
    stored = live.rows(sql, f"{begin_of_ids(session)}*")
    assert [one.entry_id for one in told if one is not None] == [row["turn_id"] for row in stored]


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
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)

    for share in kills.shares(less=2):
        number = len(live.live.events(session, limit=10_000)) + 1 + int(share * most)
        turn = live.live.send(session, PROMPT.replace("new.txt", f"{share}.txt")).turn_id
        watch(live, session, Killer(live, session, victims, number))
        go_on(live, session, assert_sound(live, session, [turn]))
        live.live.order(session, orders.Close(), starts=False)
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


def test_client_is_killed_while_it_sends(live, kills, commands):
    session = live.begin()
    words = ["session", "send", session, "--wait"]
    began = time.monotonic()
    assert 0 == commands.start([*words, "first"]).wait()
    lasts = time.monotonic() - began

    texts = []
    for share in kills.shares(less=2):
        text = f"number {share}"
        texts.append(text)
        client = commands.start([*words, text])
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
    live.live.order(session, orders.Close(), starts=False)
    assert_sound(live, session, [turn.turn_id for turn in turns])


def is_end_of(numbered, turns):
    return isinstance(numbered.event, TurnEnded) and numbered.event.turn_id in turns


def end(live, session):
    with suppress(RunnerError, HostGone):  # it has ended
        live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)


# At each line of the recorded wires -----------------------------------------------------------------------------------
TURNS = {"turn/start", "user", "session/prompt"}
OPENED = {"thread/start", "thread/resume", "session/new", "session/load", "session/resume"}
KINDS = {"codex-0": "codex", "codex-app-server": "codex", "claude-2": "claude", "claude-stream": "claude"}
MAIN = ("codex-0.169.0-approvals", "claude-2.1.197-approvals", "opencode-1.18.33-acp-permissions", "gemini-0.61.0-acp")
DEATHS = ("cli", "host", "client", "all")
NOT_WIRES = {"codex-0.169.0-methods"}  # a list of methods
EVERY, SOME = 1, 25  # how many lines on the next kill is
EACH = [
    pytest.param(path.stem, death, stride, id=f"{path.stem}-{death}-{stride}", marks=[mark, pytest.mark.timeout(3600)])
    for path in sorted(WIRES.glob("*.jsonl"))
    for death in DEATHS
    for stride, mark in ((EVERY, pytest.mark.each_line), (SOME, pytest.mark.kills))
    if path.stem not in NOT_WIRES
]


def kind_of(name):
    """Return the kind of the runtime whose wire it is."""
    return next((kind for start, kind in KINDS.items() if name.startswith(start)), "acp")


def word_of(message):
    """Return what a client's message is about."""
    return message.get("method") or message.get("request", {}).get("subtype") or message.get("type", "")


def read_processes(name):
    """Return what each process of a recording and its clients said; each has its number in the recording."""
    processes = [[]]
    for number, text in enumerate((WIRES / f"{name}.jsonl").read_text().splitlines(), 1):
        record = json.loads(text)
        message, is_client = record["msg"], record["dir"].startswith("client->")
        if record["dir"] == "note" and str(message).startswith(("exit ", "stdout eof")):
            processes.append([])
        if (is_client or record["dir"].endswith("->client")) and "_raw" not in message:
            processes[-1].append({"is_client": is_client, "msg": message, "line": number})
    return [one for one in processes if any(word_of(record["msg"]) in TURNS for record in one)]


def read_scenes(name):
    """Return each turn of a recording, together with how its session had been opened, and with which steps of ours."""
    for process in read_processes(name):
        starts = [n for n, one in enumerate(process) if one["is_client"] and word_of(one["msg"]) in TURNS]
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], None], strict=True)):
            turn = process[start:end]
            answered = {id_of_answer(one["msg"]) for one in turn if one["is_client"]}
            for one in turn:
                one["is_answered"] = (one["msg"].get("id") or one["msg"].get("request_id", "none")) in answered
            yield {
                "opening": process[: starts[0]],
                "steps": steps_of(process[: starts[0]], session_of(process[starts[0]]["msg"])),
                "turn": turn,
                "session": session_of(process[starts[0]]["msg"]),
                "turn_session": session_of(turn[0]["msg"]),
                "is_first": not number,
            }


def id_of_answer(message):
    """Return the id of the request that a message of the client answers, None when it does not."""
    return message.get("response", {}).get("request_id") or ("method" not in message and message.get("id")) or None


def session_of(message):
    told = message.get("params", {})
    return told.get("threadId") or told.get("sessionId", "")


def steps_of(opening, session):
    """Return where a client greets, and where it opens the session: by its last attempt, or by the one that did."""
    steps, opened = {}, False
    for place, one in enumerate(opening):
        message = one["msg"]
        word = word_of(message)
        if one["is_client"] and word in OPENED and not opened:
            steps["open"] = place
            answers = [told["msg"] for told in opening if told["msg"].get("id") == message["id"]]
            opened = session in json.dumps([told for told in answers if "result" in told])
        elif one["is_client"] and word in ("initialize", "initialized"):
            steps.setdefault(word, place)
    return steps


def open_well(scene):
    """Return how a scene's session was opened, as if it had been a new one and no attempt had failed."""
    opening, session = scene["opening"], scene["session"]
    asked = opening[scene["steps"]["open"]]["msg"]["id"] if "open" in scene["steps"] else None
    for one in opening:
        message = one["msg"]
        if not one["is_client"] and "method" not in message and asked == message.get("id", "none"):
            result = {"sessionId": session, **message.get("result", {"thread": {"id": session}})}
            one = one | {"msg": {"id": message["id"], "result": result}}
        yield one


def lines_of(scene):
    """Return the numbers of the lines that the CLI says: the opening's in the first scene of a process, the turn's."""
    told = (scene["opening"] if scene["is_first"] else []) + scene["turn"]
    return [one["line"] for one in told if not one["is_client"]]


class Drill:
    """Processes of a session are killed behind a line that its CLI says: in each of its turns, or while it opens."""

    def __init__(self, live, commands, folder, kind):
        self.live, self.commands, self.kind = live, commands, kind
        self.scene, self.kill = folder / "scene.json", folder / "kill.json"
        live.replayed(kind, self.scene, self.kill)

    def run(self, scene, line, death):
        """Send a message while its turn's line kills; what is left goes on, and ends."""
        live, text = self.live, f"message of line {line}"
        is_open = any(one["line"] == line for one in scene["turn"])
        opening = {"opening": list(open_well(scene))} if is_open else {}
        self.scene.write_text(json.dumps(scene | opening))
        if is_open:
            session = live.begin(runtime=self.kind)
            self.send(session, text, line, death)
        else:
            session = self.open(line, death)
        assert not self.kill.exists(), "the line was not reached"
        end(live, session)
        plans = assert_sound(live, session, [])
        if not is_open:
            self.send(session, text)
        elif plans:
            self.resume(session, plans[0].turn.turn_id)
        end(live, session)
        assert_sound(live, session, [])
        turns = [one.input for one in live.live.turns(session) if one.kind == "user"]
        assert [text] == turns + [one.text for one in live.live.status(session).queue]

    def resume(self, session, turn):
        """Have a turn go on that was left; a recorded CLI that does not know its session says so."""
        again = ""
        with suppress(RequestRefused):
            again = self.live.live.resume_turn(turn, statuses(self.live)).turn_id
        if not again:  # which begins another one with what was said
            assert "fenced" == self.live.live.status(session).status
            return
        watch(self.live, session, lambda one: is_end_of(one, [again]))
        assert [again] == [one.turn_id for one in self.live.live.turns(session) if one.kind == "recovery"]

    def open(self, line, death):
        """Begin a session, which kills behind a line of how it opens; returns the session."""
        before = self.sessions()
        self.arm(line, death)
        with suppress(RunnerError, HostGone):
            self.live.begin(runtime=self.kind)
        (session,) = self.sessions() - before
        until(lambda: not self.kill.exists())
        return session

    def send(self, session, text, line=0, death=""):
        """Send a message, and go on until its turn has ended and the kill is done, or the host has gone."""
        if death in ("client", "all"):
            client = self.commands.start(["session", "send", session, text, "--wait"], cwd=self.live.demo.project)
            self.arm(line, death, client.pid)
            until(lambda: self.live.live.turns(session))
            self.watch(session)
            client.wait()
        else:
            if death:
                self.arm(line, death)
            with suppress(HostGone):  # before it had told that the message is taken
                self.live.live.send(session, text)
            self.watch(session)

    def watch(self, session):
        watch(self.live, session, lambda one: isinstance(one.event, TurnEnded) and not self.kill.exists())

    def sessions(self):
        return {one.session.session_id for one in self.live.live.list_sessions(10_000)}

    def arm(self, line, death, client=0):
        pids = {"cli": [0], "host": [1], "client": [client], "all": [client or 1, 1, 0]}[death]
        self.kill.write_text(json.dumps({"line": line, "pids": pids}))


@pytest.mark.parametrize(("name", "death", "stride"), EACH)
def test_processes_die_at_each_line_of_a_recorded_wire(live, commands, tmp_path, name, death, stride):
    drill = Drill(live, commands, tmp_path, kind_of(name))
    moments = [(scene, line) for scene in read_scenes(name) for line in lines_of(scene)]
    for scene, line in moments[::stride]:
        try:
            drill.run(scene, line, death)
        except BaseException as error:
            error.add_note(f"at line {line}")
            raise


@pytest.mark.parametrize("name", MAIN)
def test_processes_die_at_a_line_of_a_recorded_wire(live, commands, tmp_path, name):
    drill = Drill(live, commands, tmp_path, kind_of(name))
    scenes = list(read_scenes(name))
    for number, death in enumerate(DEATHS):
        scene = scenes[number * len(scenes) // len(DEATHS)]
        lines = lines_of(scene)
        drill.run(scene, lines[number * len(lines) // len(DEATHS)], death)


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
