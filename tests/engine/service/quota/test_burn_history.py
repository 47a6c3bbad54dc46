"""A window's past, cut into its cycles, with what is expected of it."""

from datetime import timedelta

import pytest

from oulipoly_engine.core.quota.windows import Window
from oulipoly_engine.service.quota.burn_history import read_burn_history
from oulipoly_engine.store.quota import readings

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def history(quota):
    """Return what appends readings of one window: (hours ago, used, hours to the reset) each."""

    def append(*points, label="5h"):
        with quota.store.write():
            for ago, used, left in points:
                at = quota.clock.now() - ago * HOUR
                window = Window(0, used, at + left * HOUR, label=label)
                readings.append(quota.store, "a", [window], at, source="script")

    return append


def found(quota, window="5h", back=DAY, steps=500):
    return read_burn_history(quota.store, "a", window, quota.clock.now(), back, 3 * HOUR, steps)


def test_cycles_are_cut_at_their_resets(quota, history):
    history((12, 0.2, 4), (10, 0.6, 2), (7, 0.1, 4), (5, 0.3, 2), (1, 0.05, 4))

    cycles = found(quota).cycles

    assert [[0.2, 0.6], [0.1, 0.3], [0.05]] == [[point.used for point in cycle.points] for cycle in cycles]
    assert {5 * HOUR} == {cycle.resets_at - cycle.begin for cycle in cycles}


def test_an_idle_window_whose_reset_moves_along_stays_one_cycle(quota, history):
    history((3, 0.0, 5), (2, 0.0, 5), (1, 0.0, 5))

    assert 1 == len(found(quota).cycles)


def test_what_was_given_back_begins_a_cycle_without_a_reset(quota, history):
    history((2, 0.7, 4), (1, 0.2, 4))

    assert 2 == len(found(quota).cycles)


def test_a_window_without_a_label_is_as_long_as_was_seen(quota, history):
    history((20, 0.1, 150), (1, 0.2, 131), label=None)

    assert timedelta(hours=168) == found(quota, "window-0").length


def test_an_unknown_window_has_no_past_and_no_forecast(quota):
    nothing = found(quota, "weekly")

    assert ((), None, None) == (nothing.cycles, nothing.forecast, nothing.score)


def test_what_was_left_at_a_reset_stands_with_its_cycle(quota):
    quota.answers("a", quota.windows(30, label="5h"), quota.windows(5, hours=10, label="5h"))
    quota.refresh("a")
    quota.clock.advance(6 * 3600)
    quota.refresh("a")

    begun, running = found(quota).cycles
    assert (pytest.approx(0.7), False, None) == (begun.ended.unused, begun.ended.is_exact, running.ended)


def test_a_long_range_is_thinned_to_the_steps_that_can_be_drawn(quota, history):
    history(*((hour / 10, 0.01, 4) for hour in range(200, 0, -1)))

    assert 51 >= sum(len(cycle.points) for cycle in found(quota, steps=50).cycles) > 30
