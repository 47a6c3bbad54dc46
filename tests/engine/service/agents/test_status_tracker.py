"""Who is told how an agent stands (vectors 3 to 7)."""

import threading

import pytest

from oulipoly_engine.core.agents.states import Standing
from oulipoly_engine.errors import AgentStateInvalid
from oulipoly_engine.service.agents.tracker import StatusTracker, SubscriptionClosed, WaitCancelled


def test_new_agent_is_pulling_and_leaving_a_failure_takes_its_reason_away():
    tracker = StatusTracker()
    seen = [tracker.standing]
    for standing in (Standing("ready"), Standing("failed", "pull"), Standing("starting")):
        tracker.force(standing)
        seen.append(tracker.standing)

    assert seen == [Standing("pulling"), Standing("ready"), Standing("failed", "pull"), Standing("starting")]


def test_what_the_table_does_not_have_is_refused():
    with pytest.raises(AgentStateInvalid):
        StatusTracker().apply("work")


def test_listener_hears_until_it_cancels():
    tracker = StatusTracker(Standing("starting"))
    subscription = tracker.subscribe()
    tracker.apply("answer")
    tracker.apply("stop")
    subscription.cancel()
    tracker.apply("remove")
    subscription.cancel()

    assert subscription.drain() == ("ready", "stopped")
    assert subscription.is_closed


def test_slow_listener_loses_changes_and_holds_nobody_up():
    tracker = StatusTracker()
    subscription = tracker.subscribe()
    for _ in range(50):
        tracker.force(Standing("ready"))
    subscription.cancel()

    assert len(subscription.drain()) == 15


@pytest.mark.parametrize(
    ("standing", "unless", "changed"),
    [
        (Standing("failed", "crashed"), ("failed",), False),
        (Standing("ready"), ("failed",), True),
        (Standing("removed"), ("removed",), False),
        (Standing("failed", "crashed"), ("removed",), True),
    ],
)
def test_exit_changes_only_what_it_may(standing, unless, changed):
    tracker = StatusTracker(standing)

    assert tracker.set_unless("stopped", unless) == changed
    assert tracker.standing == (Standing("stopped") if changed else standing)


def test_wait_looks_first_hears_later_changes_and_can_be_called_off():
    tracker = StatusTracker(Standing("ready"))
    at_once = tracker.wait_for(("ready", "stopped"), 0)
    thread = threading.Thread(target=tracker.apply, args=("stop",))
    thread.start()
    later = tracker.wait_for(("stopped",), 10)
    thread.join()
    cancelled = threading.Event()
    cancelled.set()

    assert (at_once, later) == ("ready", "stopped")
    with pytest.raises(WaitCancelled):
        tracker.wait_for(("ready",), 10, cancelled)
    with pytest.raises(WaitCancelled):
        tracker.wait_for(("ready",), 0)


def test_wait_for_a_subscription_that_was_ended_says_so():
    tracker = StatusTracker()
    subscription = tracker.subscribe()
    tracker.subscribe = lambda: subscription
    subscription.cancel()

    with pytest.raises(SubscriptionClosed):
        tracker.wait_for(("ready",), 10)


def test_listeners_that_come_and_go_while_it_changes_break_nothing():
    tracker = StatusTracker()
    failures = []

    def change():
        for _ in range(150):
            tracker.force(Standing("ready"))

    def listen():
        try:
            for _ in range(50):
                tracker.subscribe().cancel()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for work in (change, listen, listen)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
