"""The driver for any line-oriented CLI: when a turn is over, and what belongs to it."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.live import events
from oulipoly_engine.drivers.base import NotSupported, Opening, Resolution
from oulipoly_engine.drivers.plain import PlainDriver

# Examples of nested JSON take their time on a busy machine.
UNHURRIED = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])


def driver(**fields):
    one = PlainDriver(Opening(**{"cwd": "/w", "new_id": "n", **fields}))
    one.begin()
    one.take()
    return one


def replies(one):
    return [event.reply for event in one.take().events if isinstance(event, events.TurnEnded)]


def test_a_message_is_one_line_to_it():
    one = driver()
    one.send("t", "two\nlines")

    assert b"two lines\n" == one.take().data


def test_the_marker_line_ends_the_turn_and_is_no_part_of_it():
    one = driver(marker="<<done>>")
    one.send("t", "x")
    for line in (b"hello", b"world", b" <<done>> "):
        one.receive(line)

    assert ["hello\nworld"] == replies(one)


def test_with_a_marker_no_pause_ends_the_turn():
    one = driver(marker="<<done>>")
    one.send("t", "x")
    one.receive(b"hello")

    assert [None, None] == [one.tick(0.0), one.tick(100.0)]
    assert [] == replies(one)


def test_a_pause_after_output_ends_the_turn_and_one_before_it_does_not():
    one = driver()
    one.send("t", "x")
    before = one.tick(0.0), one.tick(60.0)
    one.receive(b"hello")
    waits = [round(one.tick(now), 3) for now in (60.0, 60.5)]
    one.receive(b"world")
    waits.append(round(one.tick(60.7), 3))

    assert (None, None) == before
    assert [0.8, 0.3, 0.8] == waits
    assert one.tick(61.6) is None
    assert ["hello\nworld"] == replies(one)


@pytest.mark.parametrize("prompt", [b"> ", b"me@host:~$ ", b">>> "])
def test_a_prompt_ends_the_turn_sooner(prompt):
    one = driver()
    one.send("t", "x")
    one.receive(b"hello")
    one.receive_partial(prompt)
    one.tick(1.0)
    one.tick(1.2)

    assert ["hello"] == replies(one)


def test_the_prompt_is_no_part_of_the_next_answer():
    one = driver()
    one.receive_partial(b"> ")
    one.send("t", "x")
    one.receive(b"> hello")
    one.receive_partial(b"> ")
    one.tick(1.0)
    one.tick(2.0)

    assert ["hello"] == replies(one)


def test_an_unfinished_line_belongs_to_the_answer_once():
    one = driver()
    one.send("t", "x")
    one.receive_partial(b"half")
    one.tick(1.0)
    one.tick(2.0)
    first = replies(one)
    one.receive(b"half a line")
    one.tick(3.0)
    one.tick(4.0)

    assert ["half"] == first
    assert ["a line"] == replies(one)


def test_what_it_prints_before_the_first_message_is_told_as_a_notice():
    one = driver()
    one.receive(b"Welcome")

    assert (events.Notice("Welcome", "info", "banner"),) == one.take().events


def test_what_comes_after_the_end_is_a_turn_of_its_own():
    one = driver()
    one.send("t", "x")
    one.receive(b"hello")
    one.tick(1.0)
    one.tick(2.0)
    one.receive(b"and more")
    one.tick(3.0)
    one.tick(4.0)

    assert ["hello", "and more"] == replies(one)


def test_it_can_do_nothing_else():
    one = driver()
    one.send("t", "x")

    assert not any(getattr(one.capabilities, name) for name in ("resume", "fork", "steer", "interrupt", "approvals"))
    with pytest.raises(NotSupported):
        one.interrupt()
    with pytest.raises(NotSupported):
        one.answer("1", Resolution("approve"))


def test_a_session_cannot_be_resumed():
    one = PlainDriver(Opening(cwd="/w", new_id="n", resume="old"))
    one.begin()

    assert ["thread_lost"] == [event.reason for event in one.take().events]


@UNHURRIED
@given(st.lists(st.tuples(st.sampled_from(["line", "partial", "tick", "send"]), st.binary()), max_size=20))
def test_items_open_and_close_within_their_turns(steps):
    one, now, is_running = driver(), 0.0, False
    said = []
    for what, data in steps:
        now += 1.0
        if what == "line":
            one.receive(data)
        elif what == "partial":
            one.receive_partial(data)
        elif what == "tick":
            one.tick(now)
            one.tick(now + 0.9)
        elif not is_running:
            one.send(f"t{now}", data.decode("latin-1"))
        said += one.take().events
        turns = [event for event in said if isinstance(event, events.TurnStarted | events.TurnEnded)]
        is_running = bool(turns) and isinstance(turns[-1], events.TurnStarted)
    one.closed()
    said += one.take().events

    started = [event.item.id for event in said if isinstance(event, events.ItemStarted)]
    assert sorted(started) == sorted(event.item.id for event in said if isinstance(event, events.ItemEnded))
    kinds = [type(event) for event in said if isinstance(event, events.TurnStarted | events.TurnEnded)]
    assert all(first is not second for first, second in pairwise(kinds))
