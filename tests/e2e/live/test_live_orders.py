"""Orders to live sessions: interrupt, compact, review, rename, another model, close; and how sessions go on."""

import json

import msgspec
import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import (
    ItemEnded,
    NameChanged,
    SessionClosed,
    SessionFailed,
    SessionOpened,
    SettingsChanged,
    TurnEnded,
    TurnStarted,
)
from oulipoly_engine.errors import AccountExhausted, RunnerError
from oulipoly_engine.facade.live.sessions import NewSession


def kinds(live, session):
    return [(turn.kind, turn.status) for turn in live.live.turns(session)]


def order(live, session, verb, starts=True, **data):
    return live.live.order(session, orders.read_order(verb, data), starts=starts)


def test_interrupt_ends_the_turn_and_the_next_message_runs(live):
    session, turn = live.begin_turn("hello [[stall:600]]")
    live.until(session, lambda event: isinstance(event, TurnStarted))
    order(live, session, "interrupt", starts=False)

    assert "interrupted" == live.live.wait(session, turn).status
    assert "1 + 1 = 2" == live.live.send(session, "1 + 1", waits=True).reply
    assert 1 == sum(isinstance(one.event, SessionOpened) for one in live.live.events(session))
    with pytest.raises(RunnerError, match="no turn runs"):
        order(live, session, "interrupt", starts=False)


def test_compact_and_review_are_turns_of_their_own(live):
    session, turn = live.begin_turn("hello")
    live.live.wait(session, turn)
    for verb, data in (("compact", {}), ("review", {"kind": "custom", "value": "the names"})):
        told = order(live, session, verb, **data)
        assert "completed" == live.live.wait(session, told["turn_id"]).status

    assert [("user", "completed"), ("compact", "completed"), ("review", "completed")] == kinds(live, session)
    items = {one.event.item.kind for one in live.live.events(session) if isinstance(one.event, ItemEnded)}
    assert {"compaction", "review"} <= items


@pytest.mark.parametrize("verb", ["compact", "review"])
def test_a_closed_session_does_them_once_it_is_open(live, verb):
    session, turn = live.begin_turn("hello")
    live.live.wait(session, turn)
    order(live, session, "close", starts=False)
    live.until_closed(session)
    told = order(live, session, verb)

    assert "completed" == live.live.wait(session, told["turn_id"]).status
    assert [("user", "completed"), (verb, "completed")] == kinds(live, session)


def test_an_order_whose_session_cannot_be_opened_is_refused_with_the_reason(live):
    session, turn = live.begin_turn("1", runtime=live.scripted())
    live.live.wait(session, turn)
    order(live, session, "close", starts=False)
    live.until_closed(session)
    live.scripted("another")

    with pytest.raises(RunnerError, match="session fork"):
        order(live, session, "compact")
    assert [("user", "completed")] == kinds(live, session)


def test_an_order_that_the_cli_refuses_in_its_answer_is_refused_and_no_turn(live):
    session, turn = live.begin_turn("1", runtime=live.scripted("never-compacts"))
    live.live.wait(session, turn)

    with pytest.raises(RunnerError, match="compact was refused by the CLI: nothing to compact"):
        order(live, session, "compact")
    assert [("user", "completed")] == kinds(live, session)


@pytest.mark.parametrize("verb", ["compact", "review"])
def test_they_want_a_session_without_a_running_turn(live, verb):
    session, turn = live.begin_turn("hello [[stall:600]]")
    live.until(session, lambda event: isinstance(event, TurnStarted))

    with pytest.raises(RunnerError, match="a turn runs"):
        order(live, session, verb)
    assert [("user", "running")] == kinds(live, session)
    order(live, session, "interrupt", starts=False)
    assert "interrupted" == live.live.wait(session, turn).status


def test_a_session_has_a_name_and_may_get_another_model(live):
    session, turn = live.begin_turn("hello")
    live.live.wait(session, turn)
    order(live, session, "rename", text="The turtle")
    order(live, session, "set_model", model="demo-opus", effort="high")
    live.live.send(session, "hello", waits=True)

    status = live.live.status(session)
    assert ("The turtle", "demo-opus") == (status.session.title, status.session.opening.model)
    events = [one.event for one in live.live.events(session)]
    assert "The turtle" in [event.name for event in events if isinstance(event, NameChanged)]
    assert any(isinstance(event, SettingsChanged) for event in events)
    order(live, session, "close", starts=False)
    live.until_closed(session)
    live.live.send(session, "hello", waits=True)
    opened = [one.event for one in live.live.events(session) if isinstance(one.event, SessionOpened)]
    assert "demo-opus-1" == opened[-1].model
    with pytest.raises(RunnerError):
        order(live, session, "rename", text="x" * 257)


def test_a_new_session_begins_one_thread_and_stays_bound_to_it(live):
    session, turn = live.begin_turn("1", runtime=live.scripted())
    live.live.wait(session, turn)
    (began,) = live.heard("thread/start")
    (bound,) = live.rows("SELECT * FROM live_sessions")
    order(live, session, "close", starts=False)
    live.until_closed(session)
    live.live.send(session, "2", waits=True)

    assert str(live.demo.project) == began["params"]["cwd"] == bound["workspace"]
    assert ("active", "scripted", "codex") == (bound["status"], bound["runtime_id"], bound["runtime_kind"])
    assert [bound["native_id"]] == [one["params"]["threadId"] for one in live.heard("thread/resume")]
    assert [began] == live.heard("thread/start")
    (now,) = live.rows("SELECT * FROM live_sessions")
    kept = ("created_at", "native_id", "runtime_id", "workspace", "account")
    assert [bound[name] for name in kept] == [now[name] for name in kept]


def test_close_ends_the_process_and_the_next_message_begins_another(live):
    session, turn = live.begin_turn("my name is Ann")
    live.live.wait(session, turn)
    native = live.live.find(session).native_id
    order(live, session, "close", starts=False)
    events = live.until_closed(session)

    assert ("closed", 0) == (events[-1].reason, events[-1].exit_code)
    assert "closed" == live.live.status(session).status
    assert {} == live.processes()
    assert "completed" == live.live.send(session, "hello", waits=True).status
    found = live.live.find(session)
    assert (native, 2) == (found.native_id, found.generation)
    closed, *_ = (one.event for one in live.live.events(session, limit=1000) if isinstance(one.event, SessionClosed))
    assert "closed" == closed.reason
    numbers = [one.seq for one in live.live.events(session, limit=1000)]
    assert list(range(1, len(numbers) + 1)) == numbers


def test_a_process_is_replaced_when_its_runtime_is_configured_otherwise(live):
    session, turn = live.begin_turn("1", runtime=live.scripted())
    live.live.wait(session, turn)
    live.live.send(session, "2", waits=True)
    assert 1 == live.live.find(session).generation  # the same options, the same process
    live.scripted(stderr_ring_lines=100)
    busy = live.live.send(session, json.dumps([["listen"]])).turn_id
    live.until(session, lambda event: isinstance(event, TurnStarted) and event.turn_id == busy)
    live.scripted(stderr_ring_lines=101)
    waiting = live.live.send(session, "3").turn_id  # a turn runs: it is not ended for that
    assert 2 == live.live.find(session).generation
    order(live, session, "interrupt", starts=False)
    assert ["interrupted", "completed"] == [live.live.wait(session, one).status for one in (busy, waiting)]
    live.live.send(session, "4", waits=True)

    assert 3 == live.live.find(session).generation
    assert ["closed"] * 2 == [
        one.event.reason for one in live.live.events(session, limit=1000) if isinstance(one.event, SessionClosed)
    ]
    assert 3 == len({one["pid"] for one in live.heard("turn/start")})
    assert 1 == len(live.heard("thread/start"))


def test_a_session_that_was_used_for_nothing_begins_anew(live):
    session = live.begin()
    live.until(session, lambda event: isinstance(event, SessionOpened))
    order(live, session, "close", starts=False)
    live.until_closed(session)

    assert "completed" == live.live.send(session, "hello", waits=True).status


def test_what_has_no_process_says_so(live):
    session = live.begin()
    order(live, session, "close", starts=False)
    live.until_closed(session)

    for verb in ("interrupt", "close", "cancel"):
        with pytest.raises(RunnerError, match="no process"):
            order(live, session, verb, starts=False)
    with pytest.raises(RunnerError, match="no order"):
        order(live, session, "burn")


def test_another_thread_than_the_bound_one_fences_the_session(live):
    session, turn = live.begin_turn("1", runtime=live.scripted())
    live.live.wait(session, turn)
    bound = live.live.find(session)
    order(live, session, "close", starts=False)
    live.until_closed(session)
    live.scripted("another")

    with pytest.raises(RunnerError, match="session fork"):
        live.live.send(session, "2", waits=True)
    events = live.until_closed(session)
    assert "thread_mismatch" == failure_of(events).reason
    found = live.live.find(session)
    kept = ("native_id", "runtime_id", "runtime_kind", "workspace", "account", "created_at")
    assert "fenced" == found.status
    assert [getattr(bound, name) for name in kept] == [getattr(found, name) for name in kept]
    with pytest.raises(RunnerError, match="session fork"):
        live.live.send(session, "3")
    assert ["1"] == live.texts()


def test_a_lost_thread_fences_the_session_and_a_fork_goes_on(live):
    session, turn = live.begin_turn("my name is Ann", runtime=live.scripted())
    live.live.wait(session, turn)
    order(live, session, "close", starts=False)
    live.until_closed(session)
    live.scripted("lost")
    refusals = set()
    for options in ({}, {"waits": True}, {}):
        with pytest.raises(RunnerError, match="session fork") as refusal:
            live.live.send(session, "2", **options)
        refusals.add(refusal.value.message)

    assert (1, ()) == (len(refusals), live.live.status(session).queue)
    assert "thread_lost" == failure_of(live.until_closed(session)).reason
    assert ("fenced", True) == (live.live.status(session).status, bool(live.live.find(session).status_reason))
    live.scripted()
    fork = live.live.fork(session)
    assert "preface" in fork.why
    assert "completed" == live.live.send(fork.session.session_id, "and?", waits=True).status
    assert "my name is Ann" in live.texts()[-1]
    assert live.texts()[-1].endswith("and?")


def failure_of(events):
    return next(event for event in events if isinstance(event, SessionFailed))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"kind": "claude"}, "speaks claude"),
        ({"enabled": False}, "switched off"),
        ({"program": "/nowhere/codex"}, "nowhere"),
    ],
)
def test_a_session_goes_on_nowhere_else(live, change, match):
    session, turn = live.begin_turn("1", runtime=live.scripted())
    live.live.wait(session, turn)
    order(live, session, "close", starts=False)
    live.until_closed(session)
    before = live.rows("SELECT * FROM live_sessions")
    live.scripted(**change)

    with pytest.raises(RunnerError, match=match):
        live.live.send(session, "2")
    assert before == live.rows("SELECT * FROM live_sessions")
    live.scripted()
    assert "completed" == live.live.send(session, "3", waits=True).status
    assert ["1", "3"] == live.texts()


def test_an_account_is_not_removed_while_a_live_session_of_it_is_open(live):
    session = live.begin()
    removals = live.engine.account_setup.removals
    with pytest.raises(RunnerError, match=f"session close {session}"):
        removals.plan("demo-codex1")
    order(live, session, "close", starts=False)
    live.until_closed(session)

    assert "demo-codex1" in removals.plan("demo-codex1").what


def test_a_session_whose_runtime_is_gone_says_so(live):
    session, turn = live.begin_turn("1", runtime=live.scripted())
    live.live.wait(session, turn)
    order(live, session, "close", starts=False)
    live.until_closed(session)
    live.scripted(name="another")
    (live.demo.config / "config.toml").write_text("")

    with pytest.raises(RunnerError, match="not configured any more"):
        live.live.send(session, "2")


@pytest.mark.parametrize(
    ("wish", "match"),
    [
        ({"runtime": " "}, "no CLI that can be driven"),
        ({"runtime": "nobody"}, "no CLI that can be driven"),
        ({"profile": "root"}, "permission profile"),
        ({"folder": "gone"}, "there is no folder"),
        ({"runtime": None, "model": "demo-codex", "account": "demo-claude1"}, "has no account"),
    ],
)
def test_a_session_that_cannot_be_is_not_begun(live, wish, match):
    if "folder" in wish:
        wish["folder"] = live.demo.project / wish["folder"]
    with pytest.raises(RunnerError, match=match):
        live.begin(**wish)

    assert () == live.live.list_sessions()


def test_a_session_whose_program_is_missing_leaves_nothing(live):
    session = live.begin()
    live.scripted(program="/nowhere/codex")
    with pytest.raises(RunnerError, match=r"nowhere.*correct `program` of \[runtimes.scripted\] in config.toml"):
        live.begin(runtime="scripted", prompt="hello")
    with pytest.raises(RunnerError, match="nowhere"):
        live.live.fork(session, runtime="scripted")

    assert [session] == [one.session.session_id for one in live.live.list_sessions()]


def test_a_logged_out_runtime_says_so(live):
    live.scripted("out")
    session, turn = live.begin_turn("1", runtime="scripted")

    assert "queued" == live.live.wait(session, turn).status
    failure = failure_of(live.until_closed(session))
    assert ("needs_auth", True) == (failure.reason, "`agents runtime login scripted`" in failure.message)
    live.scripted()
    live.live.send(session, "2", waits=True)
    assert ["1", "2"] == live.texts()


def written(verb, data):
    """Return an order as a program that is not ours might write it."""
    fields = [(name, type(value)) for name, value in data.items()]
    return msgspec.defstruct("Written", fields, bases=(orders.Order,), tag=verb, frozen=True)(**data)


def test_an_order_with_the_wrong_form_ends_nothing(live):
    session = live.begin(runtime=live.scripted())
    with live.live.connect(session) as client:
        for verb, data in (
            ("send", {}),
            ("answer", {"answers": 7}),
            ("answer", {"decision": "approve"}),
            ("queue", {"act": "move", "message_id": 7, "place": "x"}),
            ("review", {"kind": 7}),
            ("order", {}),
            ("", {}),
        ):
            with pytest.raises(RunnerError):
                client.order(written(verb, data))
    result = live.live.send(session, json.dumps([["say", "fine"]]), waits=True)

    assert ("completed", "fine") == (result.status, result.reply)
    assert any(isinstance(one.event, TurnEnded) for one in live.live.events(session))


def test_an_account_that_a_turn_has_used_up_revives_nothing_and_another_one_is_named(live):
    session, turn = live.begin_turn("hello [[quota]]")
    assert "failed" == live.live.wait(session, turn).status
    order(live, session, "close", starts=False)
    live.until_closed(session)

    with pytest.raises(AccountExhausted, match=rf"session fork {session} --to "):
        live.live.send(session, "go on")
    assert [turn] == [one.turn_id for one in live.live.turns(session)]


def test_a_model_or_effort_that_the_runtime_does_not_have_is_refused_with_near_names(live):
    live.engine.runtimes.refresh(("demo-codex1",))
    (known, *_) = live.engine.runtimes.models("demo-codex1")
    session, turn = live.begin_turn("hello")
    live.live.wait(session, turn)
    before = live.live.find(session).opening

    for model, effort, match in (
        ("", "", "name a model"),
        (f"{known.id}x", "", f"did you mean {known.id}.*custom_models"),
        (known.id, "bogus", "no effort 'bogus'"),
    ):
        with pytest.raises(RunnerError, match=match):
            live.live.set_model(session, model, effort)
    for model, effort, match in (
        (f"{known.id}x", "", f"did you mean {known.id}.*custom_models"),
        (known.id, "bogus", "no effort 'bogus'"),
    ):
        with pytest.raises(RunnerError, match=match):
            live.begin(cli_model=model, effort=effort)
    assert before == live.live.find(session).opening
    assert live.live.set_model(session, known.id, known.efforts[0])


def test_a_model_that_the_cli_may_know_though_it_does_not_list_it_is_for_the_cli_to_judge(live):
    live.engine.runtimes.refresh(("demo-codex1",))
    session = live.begin(runtime="demo-codex1")

    assert live.live.set_model(session, "gpt-4.9")
    assert "gpt-4.9" == live.live.find(session).opening.model
    begun = live.begin(runtime="demo-codex1", cli_model="gpt-4.9")
    assert "gpt-4.9" == live.live.find(begun).opening.model


def test_a_runtime_that_was_never_asked_for_its_models_is_asked_before_one_is_taken(live):
    session = live.begin(runtime="demo-codex1")

    with pytest.raises(RunnerError, match="demo-codex1 tells of no model 'nope'"):
        live.live.set_model(session, "nope")
    with pytest.raises(RunnerError, match="demo-codex2 tells of no model 'nope'"):
        live.begin(runtime="demo-codex2", cli_model="nope")


def test_a_model_whose_name_is_a_key_is_refused_without_it(live):
    key = "sk-" + "ant-api03-7QxCanaryOfAnApiKey42"
    session = live.begin(runtime=live.scripted())
    for attempt in (
        lambda: live.live.set_model(session, key),
        lambda: live.begin(runtime="scripted", cli_model=key),
        lambda: live.begin(runtime="scripted", effort=key),
    ):
        with pytest.raises(RunnerError, match="looks like a secret") as error:
            attempt()
        assert key not in str(error.value)


def test_a_model_that_the_cli_refuses_is_not_kept(live):
    with (live.demo.config / "config.toml").open("a") as config:
        config.write('\n[runtimes.demo-claude1]\ncustom_models = ["no-such-model"]\n')
    session, turn = live.begin_turn("hello", runtime="demo-claude1")
    live.live.wait(session, turn)
    before = live.live.find(session).opening.model

    with pytest.raises(RunnerError, match="refused by the CLI"):
        live.live.set_model(session, "no-such-model")
    assert before == live.live.find(session).opening.model
    live.engine.sessions.transcripts.glance()
    assert {"message"} == {entry.kind for entry in live.engine.sessions.branches.tree(session, "all").entries}


def test_a_default_is_not_said_to_have_been_named(live):  # the demo world has a `default_provider`
    begun = live.live.begin(NewSession(live.root))
    named = live.live.begin(NewSession(live.root, account="demo-claude2"))

    assert ("demo-claude2", "it is the default", "it was named") == (begun.session.account, begun.why, named.why)
