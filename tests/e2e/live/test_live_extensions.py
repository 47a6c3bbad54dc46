"""Extensions in a live session: messages changed and taken, tools refused, compactions kept off, observers told."""

import json
import time

import pytest

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live import orders
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.live.beginning import NewSession

CODE = """
import json, time
from oulipoly_engine.extension_api import Handled, Refused, Transform

class extension:
    def __init__(self):
        self.commands = {"say": lambda words: f"said {words}", "ask": lambda words: Transform(words)}
    def on_load(self, context):
        self.context = context
        context.emit("began", {"what": "me"})
    def input(self, text, session):
        if text == "ping":
            return Handled("pong")
        if text == "hang":
            time.sleep(60)
        if text.startswith("big "):
            return Transform(text[4:].upper())
    def before_tool(self, title, detail):
        if "rm" in detail:
            raise Refused("no rm")
    def before_compaction(self, reason):
        raise Refused(f"not now: {reason}")
    def before_fork(self): raise Refused("no forks")
    def before_tree(self): raise Refused("no way back")
    def before_switch(self): raise Refused("no other")
    def message_sent(self, event): self.note(event); raise ValueError("observers fail open")
    def message_received(self, event): self.note(event)
    def session_started(self, event): self.note(event)
    def session_ended(self, event): self.note(event)
    def settings_changed(self, event): self.note(event)
    def event(self, event): self.note(event)
    def tool_used(self, event): self.note(event)
    def error(self, event): self.note(event)
    def note(self, event):
        print(json.dumps({"topic": event["topic"], "text": event.get("text") or event.get("name", "")}))
"""
HOOKS = [
    *("input", "before_tool", "before_compaction", "before_fork", "before_tree", "before_switch", "message_sent"),
    *("message_received", "session_started", "session_ended", "settings_changed", "event", "tool_used", "error"),
]


@pytest.fixture
def extended(live):
    """A demo world with an extension that hooks into everything, and is allowed."""
    place = live.demo.config / "extensions" / "all"
    place.mkdir(parents=True)
    commands = '[[commands]]\nname = "say"\n[[commands]]\nname = "ask"\n[[commands]]\nname = "help"\n'
    (place / "extension.toml").write_text(f'name = "all"\nhooks = {json.dumps(HOOKS)}\n{commands}')
    (place / "extension.py").write_text(CODE)
    config = live.demo.config / "config.toml"
    config.write_text(f"extension_timeout_seconds = 0.5\n{config.read_text()}")
    live.engine.extensions.allow(live.engine.extensions.find("all"))
    live.scripted()
    yield live
    live.engine.extensions.close()


def script(*actions):
    return json.dumps([*actions])


def heard_by_extension(live, topic, within_s=20.0):
    """Wait until the extension has printed that it was told of a topic; returns the texts."""
    log = live.engine.paths.extension_logs / "all.log"
    deadline = time.monotonic() + within_s
    while True:
        lines = log.read_text().splitlines() if log.exists() else []
        told = [json.loads(line.partition(" ")[2]) for line in lines if line.partition(" ")[2].startswith("{")]
        texts = [each["text"] for each in told if each["topic"] == topic]
        if texts:
            return texts
        assert time.monotonic() < deadline, lines
        time.sleep(0.02)


def test_a_message_is_changed_taken_or_sent_as_it_is(extended):
    session = extended.begin("big hello", runtime="scripted")
    extended.until_said(session, "HELLO")
    with pytest.raises(RunnerError, match="all: pong"):
        extended.live.send(session, "ping")
    extended.live.send(session, "plain", waits=True)

    assert ["HELLO", "plain"] == extended.texts()
    notices = [each.event.text for each in extended.live.events(session) if isinstance(each.event, ev.Notice)]
    assert "all: pong" in notices


def test_a_message_that_hangs_in_an_extension_is_not_sent_and_the_session_goes_on(extended):
    session = extended.begin("first", runtime="scripted")
    extended.until_said(session, "first")
    with pytest.raises(RunnerError, match=r"'all' has failed.*longer than 0.5 s"):
        extended.live.send(session, "hang")

    assert "completed" == extended.live.send(session, "after", waits=True).status


def test_messages_that_wait_pass_extensions_too_with_a_process_and_without(extended, tmp_path):
    def begin(prompt):
        wish = NewSession(extended.demo.project, runtime="scripted", prompt=prompt, starts=False)
        return extended.live.begin(wish).session.session_id

    with pytest.raises(RunnerError, match="all: pong"):
        begin("ping")
    kept = begin("big one")
    (running, _) = extended.begin_turn(script(["wait", str(tmp_path / "go")]), runtime="scripted")
    extended.live.send(running, "big one")
    for session in (kept, running):
        (message,) = extended.live.queue(session)
        assert "ONE" == message.text
        with pytest.raises(RunnerError, match="all: pong"):
            extended.live.change_queue(session, orders.ChangeQueue("edit", message.message_id, "ping"))
        order = orders.ChangeQueue("edit", message.message_id, "big two")
        assert ["TWO"] == [each.text for each in extended.live.change_queue(session, order)]


def test_a_tool_is_refused_before_a_person_is_asked(extended):
    session, turn = extended.begin_turn(script(["approve_command", "rm -rf x"], ["say", "on"]), runtime="scripted")
    result = extended.live.wait(session, turn)

    assert "completed" == result.status
    assert () == extended.live.requests()
    notices = [each.event.text for each in extended.live.events(session) if isinstance(each.event, ev.Notice)]
    assert "the extension 'all' refuses it: no rm" in notices
    session = extended.begin(script(["approve_command", "ls"], ["say", "on"]), runtime="scripted")
    assert "pending" == extended.request(session).status


def test_guards_keep_a_session_as_it_is(extended):
    session = extended.begin("first", runtime="scripted")
    extended.until_said(session, "first")
    for act, why in (
        (lambda: extended.live.order(session, orders.Compact(), starts=True), "not now: manual"),
        (lambda: extended.live.fork(session), "no forks"),
        (lambda: extended.engine.sessions.branches.branch(session, ""), "no way back"),
    ):
        with pytest.raises(RunnerError, match=f"'all' refuses it: {why}"):
            act()

    assert 1 == len(extended.live.list_sessions())


def test_observers_hear_what_happens_and_cost_the_turn_nothing_where_they_fail(extended):
    session = extended.begin(script(["approve_command", "ls"], ["say", "answer"]), runtime="scripted")
    request = extended.request(session)
    extended.live.answer(request.request_id, "approve")
    extended.until_said(session, "answer")

    assert "answer" in heard_by_extension(extended, "message_received")
    assert 1 == len(heard_by_extension(extended, "message_sent"))
    assert heard_by_extension(extended, "session_started")
    assert ["all:began"] == heard_by_extension(extended, "event")
    extended.live.order(session, orders.Close(), starts=False)
    extended.until_closed(session)
    assert heard_by_extension(extended, "session_ended")
    assert 1 == extended.engine.extensions.find("all").standing.failures  # of `message_sent`
    assert [] == extended.rows("SELECT name FROM event_readers")


def test_a_slash_command_of_an_extension_is_found_by_its_short_name_and_under_its_own(extended):
    session = extended.begin("first", runtime="scripted")
    extended.until_said(session, "first")
    slash = extended.engine.slash

    def run(line):
        return slash.run(session, slash.judge(session, line))

    assert ("said it",) == run("/say it").lines
    assert ("said it",) == run("/all:say it").lines
    assert run("/ask now").turn_id
    extended.until_said(session, "now")
    assert "/all:help" in "\n".join(run("/help").lines)


def test_a_right_to_run_that_is_revoked_counts_in_a_session_that_runs(extended):
    session = extended.begin("big first", runtime="scripted")
    extended.until_said(session, "FIRST")
    (grant,) = [each for each in extended.engine.grants.list() if each.kind == "extension"]
    extended.engine.grants.revoke(grant.grant_id)

    extended.live.send(session, "big second", waits=True)
    assert "big second" == extended.texts()[-1]


def test_one_that_is_switched_off_is_not_called_in_a_session_that_runs(extended):
    session = extended.begin("big first", runtime="scripted")
    extended.until_said(session, "FIRST")
    with extended.live.connect(session) as client:  # as the app has it: no new process is begun for the next message
        extended.open_engine().extensions.disable("all")
        turn = client.order(orders.Send("big second"))["turn_id"]
    extended.live.wait(session, turn)

    assert "big second" == extended.texts()[-1]


def test_a_host_that_is_killed_leaves_a_session_that_goes_on_with_its_extensions(extended):
    session = extended.begin("big first", runtime="scripted")
    extended.until_said(session, "FIRST")
    extended.kill(extended.host_of(session).host_pid)
    extended.until_closed(session)

    assert "completed" == extended.live.send(session, "big second", waits=True).status
    assert "SECOND" == extended.texts()[-1]
