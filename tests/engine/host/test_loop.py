"""A host's loop calls what is due, and forgets what it is told to."""

import os
import signal
import socket
import subprocess
import threading

import pytest

from oulipoly_engine.host.loop import READ, WRITE, Loop


@pytest.fixture
def ends():
    """Two ends of a socket; the first is watched."""
    pair = socket.socketpair()
    yield pair
    for end in pair:
        end.close()


def test_last_word_on_a_source_counts(ends):
    heard = []
    with Loop() as loop:
        loop.watch(ends[0], READ, lambda: heard.append("read"))
        loop.turn(0)
        loop.watch(ends[0], READ | WRITE, lambda: heard.append("both"))
        loop.turn(0)
        loop.watch(ends[0], 0, lambda: heard.append("never"))
        loop.turn(0)

    assert ["both"] == heard


def test_source_that_was_closed_is_forgotten(ends):
    with Loop() as loop:
        loop.watch(ends[0], READ, lambda: None)
        ends[0].close()
        loop.forget(ends[0])
        loop.forget(ends[0])
        loop.turn(0)


def test_action_may_find_nothing_to_do_and_any_other_error_leaves(ends):
    def raise_error(error):
        raise error

    with Loop() as loop:
        loop.watch(ends[0], WRITE, lambda: raise_error(BlockingIOError()))
        loop.turn(0)
        loop.watch(ends[0], WRITE, lambda: raise_error(ValueError("bug")))
        with pytest.raises(ValueError, match="bug"):
            loop.turn(0)


def test_signals_and_other_threads_end_a_wait():
    heard = []
    kept = {number: signal.getsignal(number) for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP)}
    descriptor = signal.set_wakeup_fd(-1)
    try:
        with Loop() as loop:
            loop.take_signals(ignored=(signal.SIGHUP,), on_term=lambda *_: heard.append("term"))
            child = subprocess.run(["/bin/sh", "-c", "kill -HUP $$"], check=False)
            for number in (signal.SIGHUP, signal.SIGTERM):
                os.kill(os.getpid(), number)
            loop.turn(10)
            thread = threading.Thread(target=loop.wake)
            thread.start()
            loop.turn(10)
            thread.join()
    finally:
        signal.set_wakeup_fd(descriptor)
        for number, handler in kept.items():
            signal.signal(number, handler)

    assert -signal.SIGHUP == child.returncode  # it does not inherit what the loop ignores
    assert ["term"] == heard
