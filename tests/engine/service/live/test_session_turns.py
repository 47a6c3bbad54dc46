"""What a session keeps and tells of the messages it takes: all of them, at once, and no secret of any."""

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.retry import Policy
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.sessions.compaction import Rules
from oulipoly_engine.drivers.base import Capabilities, Driver, Opening
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.service.extensions.session_hooks import HookAnswer
from oulipoly_engine.service.live import session_context
from oulipoly_engine.service.live.turn.turn_run import Process
from oulipoly_engine.service.live.turns import SessionTurns
from oulipoly_engine.store.base.connections import Connections
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_events, live_queue, live_sessions, unsent_texts
from oulipoly_engine.store.outbox import events as outbox

KEY = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7"


class QuietDriver(Driver):
    """A driver whose CLI says what a test has it say."""

    kind = "claude"

    def __init__(self):
        super().__init__(Opening("/", "new"))
        self.capabilities = Capabilities(steer=True, rename=True)
        self.sent = []
        self.answered = []

    @classmethod
    def words(cls, opening):
        return ()

    def begin(self):
        pass

    def receive(self, line):
        pass

    def send(self, turn_id, text):
        self.sent.append(text)

    def answer(self, native_id, resolution):
        self.answered.append(native_id)

    def steer(self, message_id, text):
        self.sent.append(text)

    def rename(self, name):
        self.sent.append(name)

    def compact(self, turn_id):
        self.sent.append("compact")

    def interrupt(self):
        pass

    def closed(self):
        pass

    def say(self, *events):
        self._say(*events)


class StillClock(SystemClock):
    """A clock whose seconds pass when a test says so."""

    seconds = 0.0

    def monotonic(self):
        return self.seconds


class Talk:
    """One session with its store, its driver and what was told of it."""

    def __init__(self, folder):
        self.folder, self.driver, self.told, self.clock = folder, QuietDriver(), [], StillClock()
        self.store = open_store(folder / "state.db")
        now = SystemClock().now()
        self.session = LiveSession("s1", "/", "r", "claude", "m", now, now, native_id="n1")
        live_sessions.insert(self.store, self.session)
        self.turns = self.begin_process()

    def begin_process(self, hooks=None):
        process = Process(1, "u1", "claude", "m", 1)
        policy = Policy(attempts=2, jitter=0)
        turns = SessionTurns(
            self.store, self.session, self.driver, process, self.clock, self.told.append, retry=policy, hooks=hooks
        )
        turns.take_over()
        return turns

    def say(self, *events):
        self.driver.say(*events)
        self.turns.take()
        self.turns.tell()

    def send(self, text):
        told = self.turns.order(orders.Send(text), "somebody")
        self.turns.take()
        self.turns.tell()
        return told["turn_id"]

    def pass_time(self, seconds):
        self.clock.seconds += seconds
        left = self.turns.retry_when_due(self.clock.monotonic())
        self.turns.take()
        self.turns.tell()
        return left

    def of(self, kind):
        return [one.event for one in self.told if isinstance(one.event, kind)]

    def messages(self):
        events = [one.event for one in live_events.after(self.store, "s1", 0)]
        return [one.item.text for one in events if isinstance(one, ev.ItemEnded) and one.item.kind == "user_message"]

    def bytes_of_state_file(self):
        return b"".join(path.read_bytes() for path in self.folder.glob("state.db*") if path.is_file())

    def unsent(self):
        return list(self.folder.glob("state.db-unsent/*"))


class SlowHooks:
    """Extensions that answer when a test says so."""

    def asks(self, hook):
        return hook == "before_tool"

    def ask(self, hook, facts, then):
        self.answer = then


@pytest.fixture
def talk(tmp_path):
    talk = Talk(tmp_path)
    yield talk
    talk.store.close()


def test_a_message_is_told_as_it_is_taken_and_once(talk):
    talk.say(ev.SessionOpened("n1"))
    turn_id = talk.send("mend the parser")

    assert ["mend the parser"] == talk.messages()

    talk.say(ev.TurnStarted(), ev.ItemEnded(ev.Item("theirs", "user_message", "completed", "mend the parser")))
    talk.say(ev.ItemEnded(ev.Item("other", "user_message", "completed", "and its tests")))

    assert ["mend the parser", "and its tests"] == talk.messages()
    assert "mend the parser" == talk.turns.status()["turn_input"]
    assert turn_id == talk.turns.status()["turn_id"]


def test_a_message_is_written_with_the_begin_of_its_turn_or_not_at_all(talk):
    talk.say(ev.SessionOpened("n1"))
    talk.driver.send = lambda turn_id, text: talk.driver.say(ev.TurnStarted())
    statements = []
    talk.store._connections.mine().set_trace_callback(statements.append)
    turn_id = talk.send("mend the parser")

    assert 1 == statements.count("COMMIT")
    assert ["running"] == [turn.status for turn in live_sessions.open_turns(talk.store)]
    assert {turn_id} == {one.event.turn_id for one in talk.told if isinstance(one.event, ev.TurnStarted)}


def test_no_way_in_leaves_a_secret_in_the_state_file_and_the_cli_gets_each(talk):
    first, queued, steered, name = (f"{word} API_KEY={KEY}" for word in ("first", "queued", "steered", "name"))
    talk.send(first)  # it waits until the CLI is ready

    assert KEY.encode() not in talk.bytes_of_state_file()

    asked = ev.Prompt(f"run curl -H 'x: {KEY}'", command=f"echo {KEY}", questions=(ev.Question("q", f"is it {KEY}?"),))
    output = ev.Item("c", "command", "completed", text=f"API_KEY={KEY}", title=f"echo {KEY}")
    talk.say(ev.SessionOpened("n1"))
    talk.say(ev.TurnStarted(), ev.RequestOpened("n", "command_approval", asked), ev.ItemEnded(output))
    talk.send(queued)
    talk.turns.order(orders.Steer(steered), "somebody")
    talk.turns.order(orders.Rename(name), "somebody")
    talk.say(ev.Notice(f"refused: {KEY}"), ev.TurnEnded("failed", f"no access with {KEY}", reply=f"use {KEY}"))
    talk.turns.close(ev.SessionClosed("exited", f"the CLI ended: {KEY}", 1), ends_turn=False)

    assert [first, steered, name, queued] == talk.driver.sent
    assert KEY.encode() not in talk.bytes_of_state_file()
    assert [] == [one for one in talk.told if KEY in str(one)]
    assert "first API_KEY=[redacted]" in talk.messages()


def test_a_secret_outlasts_a_process_that_is_killed_and_no_longer_than_its_message(talk):
    (kept, taken_back) = (talk.send(f"{word} API_KEY={KEY}") for word in ("kept", "taken back"))
    assert 2 == len(talk.unsent())
    (talk.folder / "state.db-unsent" / "left").write_text("of a process that was killed")

    talk.turns = talk.begin_process()
    assert 2 == len(talk.unsent())
    live_queue.change(talk.store, taken_back, "revoke")
    live_queue.edit(talk.store, kept, "kept too: API_KEY=[redacted]")
    talk.say(ev.SessionOpened("n1"))

    assert [f"kept too: API_KEY={KEY}"] == talk.driver.sent
    talk.say(ev.TurnStarted())
    assert [] == talk.unsent()


def steered(talk):
    """Return what was told of messages for the running turn: text, state, turn."""
    items = [
        one.event for one in talk.told if getattr(getattr(one.event, "item", None), "native_kind", "") == ev.STEERS
    ]
    return [(event.item.text, event.item.untaken or event.item.status, event.turn_id) for event in items]


@pytest.fixture
def running(talk):
    """A turn that runs, whose CLI has said again what it was sent."""
    talk.say(ev.SessionOpened("n1"))
    turn = talk.send("go")
    talk.say(ev.TurnStarted(), ev.ItemEnded(ev.Item("echo-1", "user_message", "completed", "go")))
    return turn


def test_a_message_is_kept_with_its_turn_and_told_once_the_cli_can_have_it(talk):
    talk.say(ev.SessionOpened("n1"))
    told = len(talk.told)

    talk.turns.order(orders.Send("go"), "somebody")
    talk.turns.take()

    assert (["go"], told) == (talk.messages(), len(talk.told))


def steer(talk, text):
    told = talk.turns.order(orders.Steer(text), "somebody")
    talk.turns.take()
    talk.turns.tell()
    return told["message_id"]


def test_a_message_for_the_running_turn_is_told_at_once_and_once(talk, running):
    message = steer(talk, "left")
    assert [("left", "not taken yet", running)] == steered(talk)

    talk.say(ev.ItemEnded(ev.Item("echo-2", "user_message", "completed", "left")), ev.SteerSettled(message, "accepted"))
    talk.say(ev.ItemEnded(ev.Item("own", "user_message", "completed", "of the CLI itself")))

    assert ("left", "completed", running) == steered(talk)[-1]
    assert ["go", "left", "of the CLI itself"] == talk.messages()


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([], "not taken yet"),
        ([ev.ItemEnded(ev.Item("echo-2", "user_message", "completed", "left"))], "completed"),
        ([ev.TurnEnded("completed")], "completed"),
        ([ev.TurnEnded("interrupted")], "perhaps not taken"),
    ],
    ids=["accepted", "said again", "turn completed", "turn interrupted"],
)
def test_a_cli_that_says_again_what_its_turn_has_read_is_believed_then_alone(talk, running, monkeypatch, events, state):
    monkeypatch.setattr(talk.driver, "says_steers_again", True)
    message = steer(talk, "left")
    talk.say(ev.SteerSettled(message, "accepted"), *events)

    assert ("left", state, running) == steered(talk)[-1]
    assert 1 == talk.driver.sent.count("left")


def test_a_message_that_its_turn_has_not_taken_is_told_as_such(talk, running):
    message = steer(talk, "left")
    talk.say(ev.TurnEnded("interrupted"), ev.SteerSettled(message, "refused", "the turn had ended"))

    assert ("left", "not taken", running) == steered(talk)[-1]
    assert ["go", "left"] == talk.driver.sent[:1] + talk.driver.sent[2:]  # now it is a turn


def test_a_message_whose_process_is_lost_is_told_by_the_next_one(talk, running):
    steer(talk, "left")
    talk.turns = talk.begin_process()

    assert ("left", "perhaps not taken", running) == steered(talk)[-1]


def test_an_order_that_the_cli_refuses_in_its_answer_leaves_no_turn_and_the_next_one_goes_on(talk):
    talk.say(ev.SessionOpened("n1"))
    talk.turns.order(orders.Compact(), "somebody")
    talk.send("go on")
    talk.say(ev.OrderFailed("compact", "nothing to compact"))
    assert ["go on"] == [turn.input for turn in live_sessions.turns_of(talk.store, "s1")]

    talk.say(ev.TurnStarted(), ev.TurnEnded("completed"))
    ordered = talk.turns.order(orders.Compact(), "somebody")["turn_id"]
    talk.say(ev.TurnStarted(), ev.TurnEnded("completed"))
    assert ["compact", "go on", "compact"] == talk.driver.sent
    assert (ordered, "completed") == [(turn.turn_id, turn.status) for turn in live_sessions.turns_of(talk.store, "s1")][
        -1
    ]


def test_a_text_that_is_cut_off_is_kept_to_its_last_word(talk):
    talk.say(ev.SessionOpened("n1"))
    talk.send("go")
    talk.say(ev.TurnStarted(), ev.ItemStarted(ev.Item("a", "agent_message")))
    talk.say(ev.ItemDelta("a", "the last wo"))
    talk.say(ev.ItemDelta("a", f"rd {KEY[:9]}"), ev.ItemDelta("a", KEY[9:]))
    talk.turns.close(ev.SessionClosed("killed", "", 9), ends_turn=True)

    (ended,) = [
        one.event for one in talk.told if isinstance(one.event, ev.ItemEnded) and one.event.item.status == "interrupted"
    ]
    assert "the last word [redacted]" == ended.item.text


def test_from_a_message_to_its_cli_no_statement_is_put_into_sql_anew(talk, monkeypatch):
    written, write = [], Connections.get_sql_context
    talk.say(ev.SessionOpened("n1"))
    talk.send("the first one pays")
    talk.say(ev.TurnStarted("n"), ev.TurnEnded("completed"))
    monkeypatch.setattr(Connections, "get_sql_context", lambda self: written.append(self) or write(self))
    talk.send("hello")
    talk.say(ev.TurnStarted("n"))

    assert [] == written


def test_a_context_that_fills_up_is_told_once_and_at_the_threshold_it_is_to_be_compacted(talk):
    talk.say(ev.SessionOpened("n1"))
    for tokens in (7000, 7300, 7400, 5000, 8000, 9000):
        talk.send("go on")
        talk.say(ev.TurnStarted(), ev.UsageUpdated(ev.Usage(context=tokens, window=10_000)), ev.TurnEnded("completed"))

    notices = [numbered.event.text for numbered in talk.told if isinstance(numbered.event, ev.Notice)]
    assert ["about 73% of the context", "about 80% of the context"] == [text.partition(" is ")[0] for text in notices]
    assert "due" == live_sessions.find(talk.store, "s1")[0].opening.compaction


def fill(talk, tokens=8000):
    talk.say(ev.SessionOpened("n1"))
    talk.send("go on")
    talk.say(ev.TurnStarted(), ev.UsageUpdated(ev.Usage(context=tokens, window=10_000)), ev.TurnEnded("completed"))


def codes(talk):
    return [numbered.event.code for numbered in talk.told if isinstance(numbered.event, ev.Notice)]


def test_no_message_runs_before_the_compaction_that_is_due_and_every_step_of_it_is_told(talk):
    fill(talk)
    talk.send("next")
    assert (["go on"], True) == (talk.driver.sent, talk.turns.needs_compaction)

    talk.turns.begin_compaction("automatic")
    talk.turns.note_compaction(orders.NoteCompaction(1, 3))
    assert not talk.turns.needs_compaction
    talk.turns.end_compaction(orders.EndCompaction(failure="no model", is_automatic=True))
    talk.say()

    assert ["go on", "next"] == talk.driver.sent
    assert ["compaction_due", "compacting", "compaction_progress", "compaction_failed"] == codes(talk)
    assert "paused" == live_sessions.find(talk.store, "s1")[0].opening.compaction


def test_where_nobody_compacts_in_time_the_message_goes_and_a_person_alone_tries_again(talk):
    fill(talk)
    talk.send("next")
    talk.turns.drop_compaction("nobody came", "fail", "compaction_failed")

    assert ["go on", "next"] == talk.driver.sent
    talk.say(ev.TurnStarted(), ev.TurnEnded("completed"))
    with pytest.raises(RequestRefused, match="no compaction is due"):
        talk.turns.begin_compaction("automatic")
    talk.turns.begin_compaction("manual")


@pytest.mark.parametrize(
    ("code", "message", "state"),
    [
        ("contextWindowExceeded", "", "due"),
        ("", "API Error: prompt is too long: 210000 tokens > 200000 maximum", "due"),
        ("server_error", "the context of this was lost", "idle"),
    ],
)
def test_a_turn_whose_context_was_too_long_has_the_session_compacted_before_the_next(talk, code, message, state):
    talk.say(ev.SessionOpened("n1"))
    talk.send("go on")
    talk.say(ev.TurnStarted(), ev.TurnEnded("failed", message, code))

    assert state == live_sessions.find(talk.store, "s1")[0].opening.compaction
    if state == "due":
        talk.turns.begin_compaction("automatic")
        talk.say()
        assert "(overflow)" in talk.told[-1].event.text

        talk.turns.drop_compaction("it was interrupted")
        talk.send("go on")
        talk.say(ev.TurnStarted(), ev.TurnEnded("failed", message, code))  # then it does not pass by itself
        assert "due" == live_sessions.find(talk.store, "s1")[0].opening.compaction


@pytest.mark.parametrize("rules", [Rules(is_enabled=False, window=1), Rules(window=0)], ids=["off", "no window"])
def test_the_session_is_not_read_where_nothing_would_come_of_it(talk, monkeypatch, rules):
    monkeypatch.setattr(session_context, "guess_context", None)
    talk.turns._context.rules = rules
    talk.say(ev.SessionOpened("n1"))
    talk.send("go on")
    talk.say(ev.TurnStarted(), ev.TurnEnded("completed"))

    assert [] == codes(talk)


def test_readers_of_the_outbox_are_told_with_what_has_happened(talk):
    outbox.register(talk.store, "hooks")
    talk.say(ev.SessionOpened("n1", "opus", "2.1"))
    talk.say(ev.SessionOpened("n1", "opus", "2.1"))  # as claude says before each turn
    turn_id = talk.send(f"use API_KEY={KEY}")
    run = ev.Item("i1", "command", "completed", "output", title="ls", native_kind="Bash", exit_code=0)
    talk.say(ev.TurnStarted(), ev.ItemEnded(run), ev.ItemEnded(ev.Item("i2", "agent_message", "completed", "done")))
    talk.say(ev.TurnEnded("failed", "no network", "network"))

    told = outbox.read_after(talk.store, "hooks")
    assert ["session_started", "message_sent", "tool_used", "message_received", "error"] == [one.topic for one in told]
    assert ("s1", "r", "use API_KEY=[redacted]") == (
        told[0].session_id,
        told[0].body["runtime"],
        told[1].body["text"],
    )
    assert {turn_id} == {one.body["turn_id"] for one in told[1:]}


NETWORK = ev.TurnEnded("failed", "API Error: Unable to connect to API (ECONNREFUSED)", "unknown")


def statuses(talk):
    return [turn.status for turn in live_sessions.turns_of(talk.store, "s1")]


def test_a_turn_that_fails_before_anything_came_is_sent_again(talk):
    talk.say(ev.SessionOpened("n1"))
    turn_id = talk.send(f"use API_KEY={KEY}")
    talk.say(ev.TurnStarted("native-1"), NETWORK)

    (waiting,) = talk.of(ev.TurnRetrying)
    assert (turn_id, 1, 2, 1000, "network") == (
        waiting.turn_id,
        waiting.attempt,
        waiting.attempts,
        waiting.delay_ms,
        waiting.cause,
    )
    assert (["starting"], 1.0) == (statuses(talk), talk.turns.retry_when_due(talk.clock.monotonic()))
    assert 1 == len(talk.unsent())  # whoever kills the host loses no secret of the message
    assert KEY.encode() not in talk.bytes_of_state_file()

    talk.pass_time(1)
    again = ev.ItemEnded(ev.Item("theirs", "user_message", "completed", "use it"))
    talk.say(ev.TurnStarted("native-2"), again, ev.ItemEnded(ev.Item("a", "agent_message", "completed", "done")))
    talk.say(ev.TurnEnded("completed"))

    assert [f"use API_KEY={KEY}"] * 2 == talk.driver.sent
    assert (1, ["completed"]) == (len(talk.messages()), statuses(talk))
    assert ["done"] == [end.reply for end in talk.of(ev.TurnEnded)]


def test_a_turn_fails_once_it_was_tried_as_often_as_is_allowed(talk):
    talk.say(ev.SessionOpened("n1"))
    talk.send("go")
    for pause in (1, 2, 0):
        talk.say(ev.TurnStarted(), NETWORK)
        talk.pass_time(pause)

    assert ([1, 2], ["failed"]) == ([one.attempt for one in talk.of(ev.TurnRetrying)], statuses(talk))
    assert 3 == len(talk.driver.sent)


@pytest.mark.parametrize(
    "effect",
    [
        ev.ItemDelta("a", "The first words"),
        ev.ItemStarted(ev.Item("c", "command", title="rm -r build")),
        ev.ItemEnded(ev.Item("f", "file_change", "completed")),
        ev.RequestOpened("1", "command_approval", ev.Prompt("ls")),
        ev.TurnRetrying("Reconnecting... 1/5"),  # the CLI does it by itself
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_turn_of_which_something_came_is_not_sent_again(talk, effect):
    talk.say(ev.SessionOpened("n1"))
    talk.send("go")
    talk.say(ev.TurnStarted(), effect, NETWORK)

    assert (["failed"], ["go"]) == (statuses(talk), talk.driver.sent)


@pytest.mark.parametrize("code", ["usage_limit", "unauthorized", "invalid_request"])
def test_what_does_not_pass_by_itself_is_not_sent_again(talk, code):
    talk.say(ev.SessionOpened("n1"))
    talk.send("go")
    talk.say(ev.TurnStarted(), ev.TurnEnded("failed", "no", code))

    assert ["failed"] == statuses(talk)


def test_an_interrupt_ends_the_wait_and_the_next_message_goes(talk):
    talk.say(ev.SessionOpened("n1"))
    talk.send("go")
    talk.say(ev.TurnStarted(), NETWORK)
    talk.send("next")  # it waits as for any turn
    answer = talk.turns.order(orders.Steer("and now"), "somebody")
    talk.turns.order(orders.Interrupt(), "somebody")

    assert not answer["steered"]
    assert ["go", "next"] == talk.driver.sent
    assert "interrupted" == statuses(talk)[0]
    assert talk.pass_time(60) is None


def test_a_process_that_ends_leaves_a_turn_that_waits_to_be_gone_on_with(talk):
    talk.say(ev.SessionOpened("n1"))
    turn_id = talk.send(f"use API_KEY={KEY}")
    talk.say(ev.TurnStarted("native"), NETWORK)
    talk.turns.close(ev.SessionClosed("killed"), ends_turn=False)

    assert [turn_id] == [one.left_turn for one in talk.of(ev.SessionClosed)]
    assert live_sessions.has_begun(talk.store, "s1", are_named=True)  # its CLI has a session of that id
    (left,) = live_sessions.open_turns(talk.store)
    assert f"use API_KEY={KEY}" == unsent_texts.read(talk.store, turn_id, left.input)


@pytest.mark.parametrize("error", [{}, {"message": "no"}], ids=["allowed", "refused"])
def test_a_request_that_its_cli_takes_back_while_extensions_are_asked_is_nobody_s(talk, error):
    hooks = SlowHooks()
    talk.turns = talk.begin_process(hooks)
    talk.say(ev.SessionOpened("n1"))
    talk.send("go")
    talk.say(ev.TurnStarted(), ev.RequestOpened("r1", "command_approval", ev.Prompt("run ls")))
    talk.say(ev.RequestResolved("r1"))
    hooks.answer(HookAnswer(error=error))
    talk.turns.take()

    assert (False, []) == (talk.turns.requests.are_open, talk.driver.answered)
