"""What is told of a live session: the same to everybody, in the same order, whenever they come."""

import json
from threading import Thread

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import (
    ItemDelta,
    ItemEnded,
    ItemStarted,
    RequestOpened,
    SessionClosed,
    SessionOpened,
    TurnEnded,
    TurnStarted,
)


def is_delta(numbered):
    return isinstance(numbered.event, ItemDelta)


def test_two_turns_in_one_process(live):
    session, first = live.begin_turn("1 + 1")
    replies = [live.live.wait(session, first), live.live.send(session, "2 + 2", waits=True)]

    assert [("completed", "1 + 1 = 2"), ("completed", "2 + 2 = 4")] == [(one.status, one.reply) for one in replies]
    events = [numbered.event for numbered in live.live.events(session)]
    assert 1 == sum(isinstance(event, SessionOpened) for event in events)
    told = [event.turn_id for event in events if isinstance(event, TurnStarted | TurnEnded)]
    assert [first, first, replies[1].turn_id, replies[1].turn_id] == told


def test_what_is_told_is_what_is_kept_from_every_cursor(live):
    session, turn = live.begin_turn("list 3 ideas [[approve:ls]] [[plan:a|b]] [[think:hm]]")
    told = []
    follower = Thread(target=lambda: told.extend(live.open_engine().live.follow(session)))
    follower.start()
    live.live.answer(live.request(session).request_id, "approve")
    live.live.wait(session, turn)
    whole = live.live.events(session, limit=1000)

    replays = {cursor: [] for cursor in range(len(whole) + 1)}
    for cursor, replay in replays.items():
        with live.attached(session, cursor) as client:
            while len(replay) < len(whole) - cursor:
                replay += client.wait(10.0)
    live.live.order(session, orders.Close(), starts=False)
    follower.join()

    assert list(range(1, len(whole) + 1)) == [numbered.seq for numbered in whole]
    for cursor, replay in replays.items():
        assert list(whole[cursor:]) == replay
    kept = live.live.events(session, limit=1000)
    first = {}
    for numbered in told:  # an item that was open comes once more, with its text so far
        if not is_delta(numbered):
            first.setdefault(numbered.seq, numbered)
    assert list(kept) == list(first.values())
    assert isinstance(kept[-1].event, SessionClosed)
    assert list(kept) == list(live.live.follow(session))


def test_two_clients_see_the_same(live):
    session = live.begin()
    with live.attached(session, 0) as one, live.attached(session, 0, live.open_engine()) as other:
        live.live.send(session, "hello", waits=True)
        seen = [take_until_end(client) for client in (one, other)]

    assert seen[0] == seen[1]
    assert any(map(is_delta, seen[0]))


def take_until_end(client):
    seen = []
    while not any(isinstance(numbered.event, TurnEnded) for numbered in seen):
        seen += client.wait(10.0)
    return seen


def test_items_that_are_open_come_with_their_text_so_far(live, tmp_path):
    live.scripted()
    script = [["half", "so ", "far"], ["wait", str(tmp_path / "go")], ["say", "end"]]
    session, turn = live.begin_turn(json.dumps(script), runtime="scripted")
    live.until_said(session, "far")

    with live.attached(session, len(live.live.events(session))) as client:
        seen = []
        while len(seen) < 2:
            seen += client.wait(10.0)
        (tmp_path / "go").touch()
        seen += take_until_end(client)

    open_items = [numbered.event.item for numbered in seen[:2]]
    assert [("running", "so "), ("running", "far")] == [(item.status, item.text) for item in open_items]
    assert "completed" == live.live.wait(session, turn).status


def test_deltas_are_left_out_for_who_wants_none(live):
    session = live.begin()
    with live.live.connect(session) as client:
        client.follow(0, deltas=False)
        live.live.send(session, "hello [[flood:1000]]", waits=True)
        seen = take_until_end(client)

    assert list(live.live.events(session, limit=1000)) == seen


def test_a_flood_loses_deltas_at_most(live):
    session = live.begin()
    with live.attached(session, 0) as client:
        result = live.live.send(session, "x [[flood:50000]]", waits=True)
        seen = take_until_end(client)  # it has read nothing until now

    (whole,) = (
        one.event.item.text
        for one in seen
        if isinstance(one.event, ItemEnded) and one.event.item.kind == "agent_message"
    )
    deltas = "".join(numbered.event.text for numbered in seen if is_delta(numbered))
    assert " ".join(map(str, range(50_000))) == whole.strip() == result.reply.strip()
    assert whole.endswith(deltas[-1000:])
    assert list(live.live.events(session, limit=1000)) == [one for one in seen if not is_delta(one)]


def test_items_begin_and_end_once(live):
    session = live.begin("hello [[run:ls]] [[edit:new.txt]] [[think:hm]]", profile="full_access")
    live.until(session, lambda event: isinstance(event, TurnEnded))
    events = [numbered.event for numbered in live.live.events(session, limit=1000)]

    begun = [event.item.id for event in events if isinstance(event, ItemStarted)]
    ended = [event.item.id for event in events if isinstance(event, ItemEnded)]
    assert len(set(begun)) == len(begun) >= 4
    assert sorted(begun) == sorted(ended)
    assert not any(isinstance(event, RequestOpened) for event in events)
