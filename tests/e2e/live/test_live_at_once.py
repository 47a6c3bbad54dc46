"""Several processes and several sessions at once: one host for each session, nothing told twice."""

import json
from concurrent.futures import ThreadPoolExecutor

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import SessionOpened


def test_two_processes_that_send_at_once_start_one_host(live, commands):
    session = live.begin()
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)

    both = [commands.start(["session", "send", session, text, "--wait", "--json"]) for text in ("1 + 1", "2 + 2")]
    said = [process.communicate() for process in both]

    assert [0, 0] == [process.returncode for process in both], said
    assert ["1 + 1 = 2", "2 + 2 = 4"] == [json.loads(out)["reply"] for out, _ in said]
    assert 2 == live.live.find(session).generation
    events = [one.event for one in live.live.events(session, limit=1000)]
    assert 1 == sum(isinstance(event, SessionOpened) for event in events[events_of_first(events) :])
    assert ["completed"] * 2 == [turn.status for turn in live.live.turns(session)]
    numbers = [one.seq for one in live.live.events(session, limit=1000)]
    assert list(range(1, len(numbers) + 1)) == numbers


def events_of_first(events):
    """Return how many events the first process has told."""
    return next(place for place, event in enumerate(events, 1) if type(event).__name__ == "SessionClosed")


def test_many_in_one_process_that_send_at_once(live):
    live.scripted()
    session = live.begin(runtime="scripted")
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda number: live.live.send(session, str(number), waits=True), range(4)))

    assert ["completed"] * 4 == [result.status for result in results]
    assert list("0123") == sorted(live.texts())
    assert 1 == len({one["pid"] for one in live.heard("turn/start")})


def test_eight_sessions_at_once(live):
    live.scripted()
    script = json.dumps([["approve"], ["say", "done"]])
    with ThreadPoolExecutor(8) as pool:
        begun = list(pool.map(lambda _: live.begin_turn(script, runtime="scripted"), range(8)))
        requests = list(pool.map(lambda one: live.request(one[0]), begun))
        assert 8 == len(live.live.requests())
        list(pool.map(lambda request: live.live.answer(request.request_id, "approve"), requests))
        results = list(pool.map(lambda one: live.live.wait(*one), begun))

    assert ["done"] * 8 == [result.reply for result in results]
    assert 8 == len({one.session_id for one in live.live.hosts()})
    assert {session for session, _ in begun} == {one.session.session_id for one in live.live.list_sessions()}
