"""Requests of live sessions: answered once, by whom, and never when it is too late."""

import json
from contextlib import closing

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import ItemEnded, RequestOpened, RequestResolved, TurnEnded
from oulipoly_engine.core.live.requests import RequestStale
from oulipoly_engine.errors import RequestRefused, RunnerError
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_requests


def resolved(live, session):
    events = [numbered.event for numbered in live.live.events(session, limit=1000)]
    return [(event.request_id, event.status) for event in events if isinstance(event, RequestResolved)]


def row(live, request):
    return live.live.find_request(request.request_id)


def scripted(live, *actions, **settings):
    live.scripted(**settings)
    session, turn = live.begin_turn(json.dumps(actions), runtime="scripted")
    return session, turn


def test_an_answer_reaches_the_cli_and_is_kept(live):
    session = live.begin(runtime=live.scripted())
    for decision, native, status, end in (
        ("approve", "accept", "answered", "completed"),
        ("Allow for_session", "acceptForSession", "answered", "completed"),
        ("deny", "decline", "answered", "completed"),
        ("cancel", "cancel", "cancelled", "interrupted"),
    ):
        turn = live.live.send(session, json.dumps([["approve"]])).turn_id
        request = live.request(session)

        assert status == live.live.answer(request.request_id, decision, reason="no")

        assert end == live.live.wait(session, turn).status
        assert {"decision": native} == [one["result"] for one in live.heard() if "result" in one][-1]
        assert (status, True) == (row(live, request).status, "@" in row(live, request).answered_by)
        assert (request.request_id, status) == resolved(live, session)[-1]
        with pytest.raises(RequestStale, match=status):
            live.live.answer(request.request_id, "approve")
    assert 4 == len(resolved(live, session))


def test_the_demo_asks_and_takes_no_for_an_answer(live):
    session, turn = live.begin_turn("hello [[approve:rm x]]")
    request = live.request(session)
    assert live.live.status(session).pending_approval
    assert ("command_approval", "rm x", session, turn) == (
        request.kind, request.prompt.title, request.session_id, request.turn_id
    )  # fmt: skip

    live.live.answer(request.request_id, "deny", reason="not now")

    assert "completed" == live.live.wait(session, turn).status
    items = [one.event.item for one in live.live.events(session) if isinstance(one.event, ItemEnded)]
    assert "declined" == next(item.status for item in items if item.kind == "command")
    assert not live.live.status(session).pending_approval
    assert () == live.live.requests()


def test_for_the_session_means_until_its_end(live):
    session, turn = live.begin_turn("hello [[approve:make]] [[approve:make]]")
    live.live.answer(live.request(session).request_id, "approve_for_session")

    assert "completed" == live.live.wait(session, turn).status  # it asks no second time


def test_every_question_wants_an_answer(live):
    session, turn = scripted(live, ["question", "first", "second"])
    request = live.request(session)

    for answers in ({"first": ("a",)}, {"first": ("a",), "third": ("b",), "second": ("c",)}, {}):
        with pytest.raises(RequestRefused, match="question"):
            live.live.answer(request.request_id, "answer", answers=answers)
        assert "pending" == row(live, request).status
    for decision in ("approve", "deny"):
        with pytest.raises(RequestRefused, match="question"):
            live.live.answer(request.request_id, decision)
    assert "answered" == live.live.answer(request.request_id, "answer", answers={"first": ("a", "b"), "second": ("c",)})

    assert "completed" == live.live.wait(session, turn).status
    (told,) = [one["result"] for one in live.heard() if "result" in one]
    assert {"answers": {"first": {"answers": ["a", "b"]}, "second": {"answers": ["c"]}}} == told


def test_secret_answers_are_kept_nowhere(live):
    session, turn = scripted(live, ["question", "secret-key"], debug_native_events=True)
    request = live.request(session)
    live.live.answer(request.request_id, "answer", answers={"secret-key": ("hunter2-CANARY",)})
    live.live.wait(session, turn)
    assert "hunter2-CANARY" in live.log.read_text()
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)

    assert any(path.name.endswith(".wire.jsonl") for path in live.demo.root.rglob("*"))
    for path in live.demo.root.rglob("*"):
        assert not path.is_file() or b"CANARY" not in path.read_bytes(), path


def test_a_question_can_be_left_unanswered(live):
    session, turn = scripted(live, ["question", "first"], ["listen"])

    assert "cancelled" == live.live.answer(live.request(session).request_id, "cancel")
    assert "interrupted" == live.live.wait(session, turn).status


def test_two_answers_at_once_from_two_processes(live, commands):
    session, turn = live.begin_turn("hello [[approve:ls]]")
    request = live.request(session)

    both = [commands.start(["requests", verb, request.request_id]) for verb in ("approve", "deny")]
    said = [process.communicate() for process in both]

    won = [process.returncode == 0 for process in both]
    assert [False, True] == sorted(won), said
    assert b"answered\n" == said[won.index(True)][0]
    assert f"answered already by {row(live, request).answered_by}" in said[won.index(False)][1].decode()
    assert ["approve", "deny"][won.index(True)] == row(live, request).decision
    assert 1 == len(resolved(live, session))
    assert "completed" == live.live.wait(session, turn).status


def test_a_request_that_somebody_else_has_settled_leaves_no_cli_waiting(live):
    session, turn = scripted(live, ["approve"])
    request = live.request(session)
    with closing(open_store(live.engine.paths.state_db)) as store:
        live_requests.settle(store, request.request_id, "expired", request.created_at)

    with pytest.raises(RunnerError, match="meanwhile"):
        live.live.order(session, orders.Answer(request_id=request.request_id, decision="approve"), starts=False)
    assert "interrupted" == live.live.wait(session, turn).status
    assert [(request.request_id, "expired")] == resolved(live, session)


def test_a_request_that_the_cli_takes_back_cannot_be_answered(live):
    session, turn = scripted(live, ["resolve"], ["listen"])
    event = live.until(session, lambda event: isinstance(event, RequestResolved))

    assert "cancelled" == event.status
    with pytest.raises(RequestStale, match="cancelled"):
        live.live.answer(event.request_id, "approve")
    assert [] == [one for one in live.heard() if "result" in one]
    assert turn == live.live.status(session).turn_id


def test_requests_end_with_their_turn(live):
    session, turn = scripted(live, ["approve"])
    request = live.request(session)
    live.live.order(session, orders.Interrupt(), starts=False)

    assert "interrupted" == live.live.wait(session, turn).status
    assert "cancelled" == row(live, request).status
    with pytest.raises(RequestStale, match="cancelled"):
        live.live.answer(request.request_id, "approve")


@pytest.mark.parametrize("way", ["close", "cancel"])
def test_requests_expire_with_their_process(live, way):
    session, turn = scripted(live, ["approve"])
    request = live.request(session)
    live.live.order(session, orders.read_order(way, {}), starts=False)
    live.until_closed(session)

    assert row(live, request).status in ("expired", "cancelled" if way == "cancel" else "expired")
    with pytest.raises(RequestStale):
        live.live.answer(request.request_id, "approve")
    assert "interrupted" == live.live.wait(session, turn).status


def test_requests_expire_when_their_cli_is_killed(live):
    session, _ = scripted(live, ["resolve"], ["approve"])
    request = live.request(session)
    live.kill(live.host_of(session).pid)
    live.until_closed(session)

    assert "expired" == row(live, request).status
    with pytest.raises(RequestStale, match="expired"):
        live.live.answer(request.request_id, "approve")


def test_requests_that_nobody_answers_expire(live):
    session, turn = scripted(live, ["approve"], answer_timeout_secs=1)
    request = live.until(session, lambda event: isinstance(event, RequestOpened))  # it may have expired already

    assert "interrupted" == live.live.wait(session, turn).status  # it hears `cancel`, without another message
    assert ("expired", "nobody answered in time") == (row(live, request).status, row(live, request).answered_by)
    assert [{"decision": "cancel"}] == [one["result"] for one in live.heard() if "result" in one]
    with pytest.raises(RequestStale, match="expired"):
        live.live.answer(request.request_id, "approve")


def test_what_cannot_be_answered_is_shown_at_once(live):
    session, turn = scripted(live, ["unknown"])

    opened = live.until(session, lambda event: isinstance(event, RequestOpened))
    assert ("other", True) == (opened.kind, bool(opened.prompt.note))
    assert "completed" == live.live.wait(session, turn).status
    assert [-32601] == [one["error"]["code"] for one in live.heard() if "error" in one]


def test_a_long_diff_is_cut_and_says_so(live):
    session, _ = scripted(live, ["edit", 5000])

    prompt = live.request(session).prompt
    assert (4096, "the diff is cut: 4096 of 5000 characters") == (len(prompt.changes[0].diff), prompt.note)


def test_unknown_and_ambiguous_requests_are_named(live):
    for identity in ("cli_req_x", ""):
        with pytest.raises(RunnerError, match="no request"):
            live.live.answer(identity, "approve")
    session, _ = scripted(live, ["resolve"], ["resolve"], ["listen"])
    seen = []
    live.until(session, lambda event: isinstance(event, RequestResolved) and len(seen.append(event) or seen) == 2)
    with pytest.raises(RunnerError, match="several"):
        live.live.answer("cli_req_", "approve")


def test_a_decision_that_is_none_is_refused(live):
    session, turn = scripted(live, ["approve"])
    request = live.request(session)

    for decision in ("", "perhaps", "answer"):
        with pytest.raises(RunnerError):
            live.live.answer(request.request_id, decision)
    assert "pending" == row(live, request).status
    assert turn == live.live.status(session).turn_id


def test_turns_end_tells_of_no_request(live):
    session, turn = live.begin_turn("1 + 1")

    assert isinstance(live.until(session, lambda event: isinstance(event, TurnEnded)), TurnEnded)
    assert [] == resolved(live, session)
    assert "completed" == live.live.wait(session, turn).status
