"""The same conversation through each protocol: codex's app-server, claude's stream-JSON, ACP."""

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import SessionOpened, TurnStarted
from oulipoly_engine.errors import RunnerError

ACCOUNTS = ["demo-codex1", "demo-claude2", "demo-claude3"]  # the last one speaks ACP


@pytest.fixture(params=ACCOUNTS)
def session(live, request):
    """A session through one of the protocols, with a turn."""
    session, turn = live.begin_turn("my name is Ann", runtime=request.param)
    assert "completed" == live.live.wait(session, turn).status
    return session


def test_turns_requests_interrupts_and_the_next_process(live, session):
    turn = live.live.send(session, "hello [[approve:ls]]").turn_id
    live.live.answer(live.request(session).request_id, "deny")
    assert "completed" == live.live.wait(session, turn).status
    again = live.live.send(session, "1 + 1 [[approve:make]]").turn_id
    live.live.answer(live.request(session).request_id, "approve")
    assert "1 + 1 = 2" == live.live.wait(session, again).reply
    slow = live.live.send(session, "hello [[stall:600]]").turn_id
    live.until(session, lambda event: isinstance(event, TurnStarted) and event.turn_id == slow)
    live.live.order(session, orders.Interrupt(), starts=False)
    assert "interrupted" == live.live.wait(session, slow).status

    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    assert "completed" == live.live.send(session, "2 + 2", waits=True).status
    assert 2 == sum(isinstance(one.event, SessionOpened) for one in live.live.events(session, limit=1000))
    assert 5 == len(live.live.turns(session))

    able = live.live.status(session).capabilities  # what is not offered cannot be ordered
    for verb, name in (("compact", "compaction"), ("review", "review")):
        if able[name]:
            told = live.live.order(session, orders.read_order(verb, {}), starts=True)
            assert "completed" == live.live.wait(session, told["turn_id"]).status
        else:
            before = live.live.turns(session), live.live.events(session, limit=1000)
            with pytest.raises(RunnerError, match="cannot"):
                live.live.order(session, orders.read_order(verb, {}), starts=True)
            # A refused order is no turn: neither kept, nor told to app, page and `follow`.
            assert before == (live.live.turns(session), live.live.events(session, limit=1000))


def test_a_killed_turn_goes_on(live, session):
    turn = live.live.send(session, "hello [[approve:ls]]").turn_id
    request = live.request(session)
    live.kill(live.host_of(session).pid)
    live.until_closed(session)

    assert "expired" == live.live.find_request(request.request_id).status
    assert [turn] == [left.turn_id for left in live.live.left_turns()]
    known = {one.runtime.id: one.status for one in live.engine.runtimes.summaries()}
    again = live.live.resume_turn(turn, known)
    assert "completed" == live.live.wait(session, again.turn_id).status
    assert ["completed", "interrupted", "completed"] == [one.status for one in live.live.turns(session)]
