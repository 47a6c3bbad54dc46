from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.quota.window_cycles import EndedCycle, find_ended_cycles
from oulipoly_engine.core.quota.windows import QuotaState, Window

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
READ = NOW - timedelta(hours=2)


def window(used=0.7, minutes=-60.0, position=0, label=None):
    return Window(position, used, NOW + timedelta(minutes=minutes), label=label)


def prior(*windows, refreshed_at=READ):
    return QuotaState("a", windows, refreshed_at=refreshed_at)


def test_a_reset_that_passed_between_two_readings_ends_a_cycle():
    before, after = window(label="5h"), window(0.1, 240, label="5h")

    assert (EndedCycle("5h", before.resets_at, pytest.approx(0.3), READ),) == find_ended_cycles(
        prior(before), (after,), NOW
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (window(0.7, 30), window(0.8, 30)),
        (window(0.7, 30), window(0.0, 300)),
        (window(0.7, -60), window(0.7, -59.5)),
        (window(0.7, -180), window(0.1, 240)),
        (window(0.7, -60, label="5h"), window(0.1, 240, label="weekly")),
    ],
    ids=["not yet over", "reset early by the vendor", "the same reset, wobbling", "over before it was read", "another"],
)
def test_no_cycle_has_ended(before, after):
    assert () == find_ended_cycles(prior(before), (after,), NOW)


def test_an_account_never_read_has_no_cycle():
    assert () == find_ended_cycles(prior(window(), refreshed_at=None), (window(0.1, 240),), NOW)


def test_a_window_that_hides_says_nothing():
    weekly = window(0.2, 5000, position=1)

    assert () == find_ended_cycles(prior(window(), weekly), (window(0.2, 5000),), NOW)


def test_a_window_that_moved_is_named_as_it_was():
    old = prior(window(0.4, label="5h"), window(0.2, 5000, position=1, label="weekly"))
    new = (window(0.2, 5000, label="weekly"), window(0.1, 240, position=1, label="5h"))

    assert ["5h"] == [cycle.window for cycle in find_ended_cycles(old, new, NOW)]


def test_more_than_all_used_leaves_nothing():
    assert [0.0] == [cycle.unused for cycle in find_ended_cycles(prior(window(1.2)), (window(0.1, 240),), NOW)]


@pytest.mark.parametrize(
    ("name", "minutes_before", "unused", "is_exact"),
    [
        ("5h", 15, 0.4, True),
        ("5h", 16, 0.4, False),
        ("weekly", 8 * 60, 0.4, True),
        ("weekly", 9 * 60, 0.4, False),
        ("weekly", 6 * 24 * 60, 0.0, True),
        ("window-0", 15, 0.4, True),
        ("window-0", 16, 0.4, False),
    ],
)
def test_a_reading_long_before_the_reset_says_only_how_much_was_left_at_most(name, minutes_before, unused, is_exact):
    ended = EndedCycle(name, NOW, unused, NOW - timedelta(minutes=minutes_before))

    assert is_exact == ended.is_exact
