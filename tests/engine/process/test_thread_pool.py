import subprocess
import sys
import threading
from contextlib import closing

import pytest

from oulipoly_engine.process.thread_pool import run_in_threads


def nothing():
    """Cancel what needs no cancelling."""


def unexpected():
    pytest.fail("cancelled")


def test_every_item_is_done_once():
    found = run_in_threads(lambda item: item * item, range(100), at_most=7, cancel=unexpected)

    assert [item * item for item in range(100)] == sorted(found)


def test_no_items_give_nothing():
    assert [] == list(run_in_threads(str, (), at_most=4, cancel=unexpected))


def test_work_runs_side_by_side_and_comes_as_it_ends():
    second_is_done = threading.Event()

    def work(item):
        if item == "second":
            return item
        assert second_is_done.wait(60)
        return item

    found = run_in_threads(work, ("first", "second"), at_most=2, cancel=unexpected)
    first = next(found)
    second_is_done.set()

    assert ["second", "first"] == [first, *found]


def test_no_more_than_asked_for_run_at_once():
    running, most, lock = [], [], threading.Lock()
    together = threading.Barrier(3, timeout=60)

    def work(item):
        with lock:
            running.append(item)
            most.append(len(running))
        together.wait()
        with lock:
            running.remove(item)
        together.wait()

    list(run_in_threads(work, range(9), at_most=3, cancel=unexpected))

    assert 3 == max(most)


def test_an_error_of_the_work_is_raised_here_and_ends_the_rest():
    begun, has_other, cancelled = [], threading.Event(), threading.Event()

    def work(item):
        begun.append(item)
        if item:
            has_other.set()
        assert (cancelled if item else has_other).wait(60)
        raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        list(run_in_threads(work, range(50), at_most=2, cancel=cancelled.set))

    assert [0, 1] == sorted(begun)[:2]
    assert len(begun) <= 3


def test_a_consumer_that_stops_early_cancels_and_waits():
    cancelled, ended, together = threading.Event(), [], threading.Barrier(3, timeout=60)

    def work(item):
        together.wait()  # what has not begun is left
        if item:
            assert cancelled.wait(60)
        ended.append(item)
        return item

    with closing(run_in_threads(work, range(3), at_most=3, cancel=cancelled.set)) as found:
        assert 0 == next(found)

    assert [0, 1, 2] == sorted(ended)


def test_the_last_of_many_gets_the_whole_patience():
    cancelled, ended, together = threading.Event(), [], threading.Barrier(16, timeout=60)

    def work(item):
        together.wait()
        if item == 15:
            assert cancelled.wait(60)
            threading.Event().wait(0.6)  # longer than a sixteenth of the patience: an ending that takes its time
            ended.append(item)
        return item

    with closing(run_in_threads(work, range(16), at_most=16, cancel=cancelled.set)) as found:
        assert 15 != next(found)

    assert [15] == ended


def test_an_interrupt_while_a_thread_starts_waits_for_what_it_has_begun(monkeypatch):
    cancelled, begun, ended = threading.Event(), threading.Event(), []
    started = threading.Thread.start

    def interrupted(thread):
        started(thread)
        assert begun.wait(60)
        raise KeyboardInterrupt

    def work(item):
        begun.set()
        assert cancelled.wait(60)
        ended.append(item)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(run_in_threads(work, range(3), at_most=3, cancel=cancelled.set))

    assert [0] == ended


def test_an_interrupt_before_a_thread_starts_is_told_as_it_is(monkeypatch):
    def interrupted(thread):
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(run_in_threads(unexpected, range(3), at_most=3, cancel=nothing))


def test_what_nobody_waits_for_is_not_begun():
    cancelled, begun = threading.Event(), []

    def work(item):
        begun.append(item)
        assert item == 0 or cancelled.wait(60)
        return item

    with closing(run_in_threads(work, range(20), at_most=1, cancel=cancelled.set)) as found:
        next(found)

    assert len(begun) <= 2


def test_threads_do_not_keep_the_program_from_ending():
    kinds = list(run_in_threads(lambda _: threading.current_thread().daemon, range(2), at_most=2, cancel=nothing))

    assert [True, True] == kinds


def test_a_signal_that_is_noted_just_before_the_wait_ends_it():
    # In a program of its own: an interrupt that went astray would end whoever runs the tests.
    script = """
import ctypes, signal, threading, time
from oulipoly_engine.process.thread_pool import run_in_threads

signal.signal(signal.SIGINT, signal.default_int_handler)
ended = threading.Event()

def work(_item):
    time.sleep(0.1)  # the consumer is in its wait by now
    # As a signal does that comes between the interpreter's last look and the wait: noted, but nothing is woken.
    ctypes.pythonapi.PyErr_SetInterruptEx(signal.SIGINT)
    print("the work was told to end" if ended.wait(60) else "nothing ended the work", flush=True)

try:
    list(run_in_threads(work, [1], at_most=1, cancel=ended.set))
except KeyboardInterrupt:
    print("interrupted")
"""

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert (["the work was told to end", "interrupted"], "") == (done.stdout.splitlines(), done.stderr)
