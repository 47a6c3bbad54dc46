"""The demo's `codex app-server`, driven over its pipes as a live session drives it."""

import json
import os
import select
import signal
import subprocess
import sys
import time

import pytest

from oulipoly_demo.quota.meter import Meter
from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import (
    DiffUpdated,
    ItemDelta,
    ItemEnded,
    ItemStarted,
    NameChanged,
    Notice,
    QuotaSeen,
    Raw,
    RequestOpened,
    RequestResolved,
    SessionFailed,
    SessionOpened,
    SteerSettled,
    TurnEnded,
    TurnRetrying,
    TurnStarted,
    UsageUpdated,
)
from oulipoly_engine.core.live.lines import LineSplitter
from oulipoly_engine.drivers.base import Opening, Resolution, ReviewTarget
from oulipoly_engine.drivers.codex import CodexDriver

PROGRAM = (sys.executable, "-m", "oulipoly_demo.clis.agent_cli", "codex")
PATIENCE_S = 20


class Session:
    """The driver and the demo's process at two ends of a pair of pipes."""

    def __init__(self, opening, home, **environment):
        self.driver, self.events, self._turns = CodexDriver(opening), [], 0
        variables = {"DEMO_CODEX_HOME": str(home), "DEMO_ACCOUNT": "demo-codex1", "DEMO_PACE": "0"}
        self.process = subprocess.Popen(
            [*PROGRAM, *CodexDriver.words(opening)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=opening.cwd,
            env={**os.environ, **variables, **environment},
        )
        self._splitter = LineSplitter(CodexDriver.longest_line)
        self.driver.begin()

    def until(self, *kinds):
        """Go on until an event of one of these kinds comes; returns it."""
        seen, end = len(self.events), time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            self.take()
            found = next((event for event in self.events[seen:] if isinstance(event, kinds)), None)
            if found is not None:
                return found
            if not self._read():
                self.take()
                raise AssertionError(f"it has ended: {self.events[seen:]}")
        raise AssertionError(f"none of {kinds} in {self.events[seen:]}")

    def _read(self):
        wait = self.driver.tick(time.monotonic())
        ready, _, _ = select.select([self.process.stdout], [], [], min(1.0, 1.0 if wait is None else wait))
        raw = os.read(self.process.stdout.fileno(), 1 << 16) if ready else None
        for line in self._splitter.feed(raw or b""):
            self.driver.receive(line)
        if raw == b"":
            self.driver.closed()
        return raw != b""

    def take(self):
        output = self.driver.take()
        self.events += output.events
        if output.data:
            self.process.stdin.write(output.data)
            self.process.stdin.flush()

    def send(self, text):
        self._turns += 1
        self.driver.send(f"turn-{self._turns}", text)

    def run(self, text):
        """Let a turn run to its end."""
        self.send(text)
        return self.until(TurnEnded)

    def answer(self, request, decision, **answers):
        given = {key: (value,) for key, value in answers.items()}
        self.driver.answer(request.native_id, Resolution(decision, answers=given))

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def items(self, kind):
        return [event.item for event in self.of(ItemEnded) if event.item.kind == kind]

    def leave(self):
        """End stdin; returns the exit code."""
        self.process.stdin.close()
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def account(tmp_path):
    return tmp_path / "codex-home"


@pytest.fixture
def start(folder, account):
    """Return what starts a session, and end them all at last."""
    sessions = []

    def run(environment=None, **opening):
        whole = Opening(cwd=str(folder), new_id="", **opening)
        sessions.append(Session(whole, account, **(environment or {})))
        return sessions[-1]

    yield run
    for session in sessions:
        session.process.kill()
        session.process.wait()
        session.process.stdin.close()
        session.process.stdout.close()


@pytest.fixture
def session(start):
    session = start()
    session.opened = session.until(SessionOpened)
    return session


def read_rollout(account, thread_id):
    path = next((account / "sessions").glob(f"**/rollout-*-{thread_id}.jsonl"))
    return [json.loads(line) for line in path.read_text().splitlines()]


def messages_of(account, thread_id):
    return [
        record["payload"]["content"][0]["text"]
        for record in read_rollout(account, thread_id)
        if record["payload"].get("type") == "message" and not record["payload"]["content"][0]["text"].startswith("<")
    ]


def test_session_tells_login_models_and_permissions(session):
    opened = session.opened

    assert "demo-codex1@demo.invalid (pro)" == opened.account
    assert "untrusted, workspace-write" == opened.policy
    assert ["demo-gpt-1", "demo-opus-1", "demo-haiku-1"] == [model.id for model in opened.models]
    assert opened.version.endswith("-demo")


def test_two_turns_in_one_process_are_one_rollout(session, account):
    first, second = session.run("hello"), session.run("what did I say before?")

    assert ("completed", "completed") == (first.status, second.status)
    assert "hello" in second.reply
    assert 4 == len(messages_of(account, session.opened.native_id))
    assert second.reply == "".join(event.text for event in session.of(ItemDelta)).removeprefix(first.reply)
    assert 0 == session.leave()


def test_turns_cost_tokens_and_quota(session, account):
    session.run("hello")

    usage, quota = session.of(UsageUpdated)[-1].usage, session.of(QuotaSeen)[-1]
    assert usage.output > 0
    assert ["5h-burst", "weekly"] == [name for name, _, _ in quota.windows]
    assert quota.windows[0][1] > 0
    assert all(tier.spent > 0 for tier in Meter(account, "codex").read(time.time()))


@pytest.mark.parametrize(("decision", "status"), [("approve", "completed"), ("deny", "declined")])
def test_command_is_done_if_it_is_allowed(session, decision, status):
    session.send("go [[approve:rm -r build]]")
    request = session.until(RequestOpened)
    session.answer(request, decision)
    ended = session.until(TurnEnded)

    assert ("command_approval", "rm -r build") == (request.kind, request.prompt.title)
    assert [status] == [item.status for item in session.items("command")]
    assert "completed" == ended.status


def test_cancelled_command_ends_the_turn(session):
    session.send("go [[approve:ls]]")
    session.answer(session.until(RequestOpened), "cancel")

    assert "interrupted" == session.until(TurnEnded).status


def test_command_allowed_for_the_session_is_asked_once(session):
    session.send("go [[approve:ls]]")
    session.answer(session.until(RequestOpened), "approve_for_session")
    session.until(TurnEnded)
    session.run("again [[approve:ls]]")

    assert 1 == len(session.of(RequestOpened))


@pytest.mark.parametrize(("decision", "is_written"), [("approve", True), ("deny", False)])
def test_file_is_changed_if_it_is_allowed(session, folder, decision, is_written):
    session.send("go [[edit:notes.txt]]")
    request = session.until(RequestOpened)
    session.answer(request, decision)
    session.until(TurnEnded)

    ((path, text),) = ((change.path, change.diff) for change in request.prompt.changes)
    assert str(folder / "notes.txt") == path
    assert ["+A line that a demo agent has added."] == [
        line for line in text.splitlines() if line[:2] not in ("++", "@@")
    ]
    assert is_written == (folder / "notes.txt").exists()
    assert is_written == bool(session.of(DiffUpdated))


def test_file_outside_the_folder_is_left_alone(start, tmp_path):
    session = start(profile="full_access")
    session.until(SessionOpened)
    session.run("go [[edit:../outside.txt]]")

    assert ["failed"] == [item.status for item in session.items("file_change")]
    assert not (tmp_path / "outside.txt").exists()


@pytest.mark.parametrize(("profile", "asked"), [("full_access", 0), ("auto_accept_edits", 1), ("supervised", 2)])
def test_profile_decides_what_is_asked(start, profile, asked):
    session = start(profile=profile)
    session.until(SessionOpened)
    session.send("go [[approve:ls]] [[edit:a.txt]]")
    while isinstance(event := session.until(RequestOpened, TurnEnded), RequestOpened):
        session.answer(event, "approve")

    assert asked == len(session.of(RequestOpened))


def test_question_is_answered(session):
    session.send("go [[ask:Which colour?|Red|Blue]]")
    request = session.until(RequestOpened)
    session.answer(request, "answer", q1="Red")

    question = request.prompt.questions[0]
    assert ("Which colour?", ("Red", "Blue")) == (question.text, tuple(label for label, _ in question.options))
    assert "completed" == session.until(TurnEnded).status


def test_plan_and_thoughts_are_shown(session):
    session.run("go [[plan:look|do it]] [[think:hm, let me see]]")

    plans = [event.item.steps for event in session.of(ItemStarted) if event.item.kind == "plan"]
    assert (("look", "in_progress"), ("do it", "pending")) == plans[0]
    assert ["hm, let me see"] == [item.text for item in session.items("reasoning")]


def test_interrupt_ends_a_turn_that_waits(session):
    session.send("go [[run:make]] [[stall:60]]")
    session.until(ItemEnded)
    session.driver.interrupt()
    ended = session.until(TurnEnded)

    assert "interrupted" == ended.status
    assert "completed" == session.run("and now?").status


def test_interrupt_before_the_turn_has_begun_waits_for_it(session):
    session.send("go [[stall:60]]")
    session.driver.interrupt()

    assert "interrupted" == session.until(TurnEnded).status


def test_interrupt_closes_an_open_request(session):
    session.send("go [[approve:ls]]")
    request = session.until(RequestOpened)
    session.driver.interrupt()
    session.until(TurnEnded)
    session.answer(request, "approve")
    session.run("next")

    assert [request.native_id] == [event.native_id for event in session.of(RequestResolved)]


def test_steer_is_taken_into_the_running_turn(session, account):
    session.send("count to ten [[stall:0.3]]")
    session.until(TurnStarted)
    session.driver.steer("m1", "a haiku about steering")
    ended = session.until(TurnEnded)

    assert ["accepted"] == [event.outcome for event in session.of(SteerSettled)]
    assert 1 == len(session.of(TurnEnded))
    assert "steering" in ended.reply
    assert "a haiku about steering" in messages_of(account, session.opened.native_id)


def test_steer_cuts_a_text_that_streams(start):
    session = start({"DEMO_PACE": "0.05"})
    session.until(SessionOpened)
    session.send("list 9 ideas for a very long walk in the rain")
    session.until(ItemDelta)
    session.driver.steer("m1", "stop that")
    session.until(TurnEnded)

    assert ["interrupted", "completed"] == [item.status for item in session.items("agent_message")]


def test_session_goes_on_after_it_was_killed(session, start, account):
    session.run("remember the turtle")
    session.send("go [[stall:60]]")
    session.until(TurnStarted)
    session.process.send_signal(signal.SIGKILL)
    session.process.wait()

    again = start(resume=session.opened.native_id)
    opened = again.until(SessionOpened)
    ended = again.run("what did I say before?")

    assert session.opened.native_id == opened.native_id
    assert "turtle" in ended.reply
    assert 1 == len(list((account / "sessions").glob("**/*.jsonl")))


def test_session_that_is_open_elsewhere_is_not_resumed(session, start):
    session.run("hello")

    failed = start(resume=session.opened.native_id).until(SessionFailed)

    assert failures.ACTIVE_WRITER == failed.reason


def test_unknown_session_is_lost(start):
    failed = start(resume="01900000-0000-7000-8000-000000000000").until(SessionFailed)

    assert failures.THREAD_LOST == failed.reason


def test_fork_has_the_past_up_to_its_turn(session, start):
    session.run("the first thing is a turtle")
    session.run("the second thing is a hare")
    last = session.of(TurnStarted)[0].native_turn_id

    forked = start(resume=session.opened.native_id, fork=True, fork_at=last)
    opened = forked.until(SessionOpened)
    ended = forked.run("what did I say before?")

    assert session.opened.native_id != opened.native_id
    assert "turtle" in ended.reply
    assert "hare" not in ended.reply
    assert "completed" == session.run("still here?").status


@pytest.mark.parametrize(
    ("directive", "code", "is_retried"),
    [("quota", "usage_limit", False), ("401", "unauthorized", True), ("429", "rate_limit", True)],
)
def test_failures_have_codes(session, directive, code, is_retried):
    ended = session.run(f"go [[{directive}]]")

    assert ("failed", code) == (ended.status, ended.code)
    assert is_retried == bool(session.of(TurnRetrying))
    assert 1 == len(session.of(TurnEnded))


def test_spent_account_refuses(session, account):
    Meter(account, "codex").set_used(100, "short", time.time())

    assert "usage_limit" == session.run("hello").code


def test_review_and_compaction_are_turns_of_their_own(session):
    session.run("hello")
    session.driver.review("review", ReviewTarget())
    reviewed = session.until(TurnEnded)
    session.driver.compact("compact")
    compacted = session.until(TurnEnded)

    assert ("review", "completed") == (reviewed.turn_id, reviewed.status)
    assert "No findings" in reviewed.reply
    assert ("compact", "completed") == (compacted.turn_id, compacted.status)
    assert 1 == len(session.items("compaction"))
    assert "completed" == session.run("and now?").status


def test_review_is_interrupted(start):
    session = start({"DEMO_PACE": "5"})
    session.until(SessionOpened)
    session.driver.review("review", ReviewTarget())
    session.until(TurnStarted)
    session.driver.interrupt()
    ended = session.until(TurnEnded)

    assert ("review", "interrupted") == (ended.turn_id, ended.status)


def test_name_and_model_are_changed(session):
    session.driver.rename("A name")
    named = session.until(NameChanged)
    session.driver.set_model("demo-opus-1")
    session.run("hello")

    assert "A name" == named.name
    assert [] == session.of(SessionFailed)


def test_flood_and_huge_lines_come_whole(session):
    flooded, huge = session.run("go [[flood:5000]]"), session.run("go [[big:3000000]]")

    assert "".join(f"{number} " for number in range(5000)) == flooded.reply
    assert 3_000_000 == len(huge.reply)


def test_lost_connection_is_made_again(session):
    ended = session.run("go [[retry]]")

    assert "completed" == ended.status
    assert 1 == len(session.of(TurnRetrying))


def test_death_in_a_turn_closes_its_items(session):
    session.send("go [[approve:ls]] [[die]]")
    session.answer(session.until(RequestOpened), "approve")
    with pytest.raises(AssertionError, match="it has ended"):
        session.until(TurnEnded)

    started = {event.item.id for event in session.of(ItemStarted)}
    assert started == {event.item.id for event in session.of(ItemEnded)}
    assert -signal.SIGKILL == session.process.wait(PATIENCE_S)


def test_version_of_tomorrow_is_lived_with(start):
    session = start({"DEMO_DRIFT": "1"})
    opened = session.until(SessionOpened)
    ended = session.run("hello")

    assert "9.0.0" == opened.version
    assert "completed" == ended.status
    assert ["other"] == [event.kind for event in session.of(RequestOpened)]
    assert ["hologram"] == [item.native_kind for item in session.items("other")]
    assert "thread/hologram/updated" in [event.method for event in session.of(Raw)]
    assert [] == [event for event in session.of(Notice) if event.level == "error"]


def test_missing_login_is_told(start, account):
    account.mkdir()
    (account / "logged-out").touch()

    assert failures.NEEDS_AUTH == start().until(SessionFailed).reason


def test_garbage_is_left_unanswered(session):
    session.process.stdin.write(b"not json\n[1,2]\n\n" + b'{"id":9999,"result":{"decision":"accept"}}\n')
    session.process.stdin.flush()

    assert "completed" == session.run("hello").status


@pytest.mark.parametrize("stop", ["eof", "term"])
def test_process_ends_by_itself_in_a_turn(session, stop):
    session.send("go [[stall:60]]")
    session.until(TurnStarted)
    if stop == "term":
        session.process.terminate()

    assert 0 == session.leave()


def test_probe_leaves_nothing_behind(start, account):
    session = start(is_probe=True)
    opened = session.until(SessionOpened)

    assert "" == opened.native_id
    assert not (account / "sessions").exists()
