"""Events reach every listener, whatever one of them does."""

from datetime import UTC, datetime

import pytest

from oulipoly_engine.events import Listeners, StateChanged

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def test_listeners_are_told_in_the_order_in_which_they_came():
    told = []
    listeners = Listeners()
    listeners.subscribe(lambda event: told.append(("first", event)))
    listeners.subscribe(lambda event: told.append(("second", event)))

    listeners.publish(StateChanged(NOW))

    assert [("first", StateChanged(NOW)), ("second", StateChanged(NOW))] == told


def test_who_has_left_is_told_nothing_more():
    told = []
    listeners = Listeners()
    leave = listeners.subscribe(told.append)
    leave()

    listeners.publish(StateChanged(NOW))

    assert [] == told


def test_a_listener_that_fails_does_not_keep_the_news_from_the_next():
    told, failures = [], []
    listeners = Listeners(failures.append)
    listeners.subscribe(lambda event: 1 / 0)
    listeners.subscribe(told.append)

    listeners.publish(StateChanged(NOW))

    assert [StateChanged(NOW)] == told
    assert [ZeroDivisionError] == [type(failure) for failure in failures]


def test_a_failure_that_nobody_handles_is_not_swallowed():
    listeners = Listeners()
    listeners.subscribe(lambda event: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        listeners.publish(StateChanged(NOW))
