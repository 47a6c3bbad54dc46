"""When readings are too old, and when a window seems to hide."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.quota.staleness import (
    READING_FLOOR_S,
    count_expected_windows,
    dynamic_ttl_s,
    is_reading_due,
    is_routing_stale,
    is_shown_as_old,
    is_stale,
    reading_interval_s,
    topology_probe_due,
)
from oulipoly_engine.core.quota.windows import QuotaState, Window

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def windows(*hours):
    return tuple(Window(place, 0.2, NOW + timedelta(hours=left)) for place, left in enumerate(hours))


def quota(*hours, age_s=0.0, **more):
    return QuotaState("a", windows(*hours), refreshed_at=NOW - timedelta(seconds=age_s), **more)


@pytest.mark.parametrize(
    ("hours", "expected"),
    [((5, 168), 3600), ((168,), 86_400), ((0.01,), 300), ((-5, 168), 300), ((), 86_400)],
    ids=["a fifth", "a day at most", "five minutes at least", "past reset", "no windows"],
)
def test_reading_lasts_a_fifth_of_the_time_to_the_nearest_reset(hours, expected):
    assert expected == dynamic_ttl_s(windows(*hours), NOW)


@pytest.mark.parametrize(
    ("state", "stale"),
    [
        (None, True),
        (QuotaState("a"), True),
        (QuotaState("a", windows(5)), True),
        (quota(age_s=1), True),
        (quota(5, age_s=3599), False),
        (quota(5, age_s=3600), True),
        (quota(5, age_s=-30), False),
        (quota(5, age_s=-3600), True),
    ],
    ids=["no row", "nothing read", "no time", "no windows", "young", "old", "other process's clock", "clock went back"],
)
def test_displays_refresh_what_outlived_its_time(state, stale):
    assert stale is is_stale(state, NOW)


@pytest.mark.parametrize(
    ("state", "ttl_s", "stale"),
    [
        (None, 30, True),
        (quota(age_s=1), 30, True),
        (quota(5, age_s=30), 30, False),
        (quota(5, age_s=31), 30, True),
        (quota(5, age_s=31), 120, False),
        (quota(5, age_s=-3600), 30, True),
    ],
    ids=["no row", "no windows", "at the limit", "over", "longer limit", "clock went back"],
)
def test_routing_refreshes_after_its_own_short_time(state, ttl_s, stale):
    assert stale is is_routing_stale(state, NOW, ttl_s)


def test_expected_windows_are_the_most_that_any_account_shows_or_showed():
    assert [3, 2, 0] == [
        count_expected_windows([quota(5, 9), quota(5, peak_live_windows=3)], NOW),
        count_expected_windows([quota(5, 9), quota(5, -1, -2)], NOW),
        count_expected_windows([], NOW),
    ]


@pytest.mark.parametrize(
    ("state", "expected", "has_source", "due"),
    [
        (quota(5), 2, True, True),
        (quota(5), 2, False, False),
        (quota(5), 1, True, False),
        (quota(-5), 2, True, False),
        (quota(5, last_topology_probe_at=NOW - timedelta(seconds=3599)), 2, True, False),
        (quota(5, last_topology_probe_at=NOW - timedelta(seconds=3600)), 2, True, True),
        (quota(5, last_topology_probe_at=NOW + timedelta(hours=9)), 2, True, True),
    ],
    ids=["one missing", "no source", "complete", "nothing live", "just probed", "rested", "clock went back"],
)
def test_account_that_shows_too_few_windows_is_probed_once_an_hour(state, expected, has_source, due):
    assert due is topology_probe_due(state, expected, NOW, has_source=has_source)


def used(share, *, hours=100.0):
    return (Window(0, share, NOW + timedelta(hours=hours)),)


@given(st.floats(0, 0.99), st.floats(0, 0.99), st.booleans())
def test_the_nearer_to_a_limit_the_sooner_an_account_is_read_again(one, other, is_busy):
    less, more = sorted((one, other))
    interval = reading_interval_s(used(more), NOW, is_busy=is_busy)

    assert READING_FLOOR_S <= interval <= reading_interval_s(used(less), NOW, is_busy=is_busy) <= 1200
    assert interval >= reading_interval_s(used(more), NOW, is_busy=True)


@given(st.floats(0, 59.9), st.booleans(), st.booleans(), st.floats(0, 1))
def test_nobody_is_read_more_often_than_once_in_the_floor(age_s, is_busy, is_failing, share):
    state = QuotaState("a", used(share), refreshed_at=NOW - timedelta(seconds=age_s))

    assert not is_reading_due(state, NOW, is_busy=is_busy, is_failing=is_failing, used_at=NOW)
    assert not is_reading_due(QuotaState("a"), NOW, attempted_at=NOW - timedelta(seconds=age_s), is_failing=is_failing)


@pytest.mark.parametrize(
    ("age_s", "share", "more", "due"),
    [
        (70, 0.1, {}, False),
        (1100, 0.1, {}, False),
        (1200, 0.1, {}, True),
        (70, 0.1, {"used_at": NOW - timedelta(seconds=10)}, True),
        (70, 0.1, {"used_at": NOW - timedelta(seconds=80)}, False),
        (70, 0.1, {"is_failing": True}, True),
        (70, 0.99, {"is_busy": True}, True),
        (70, 1.0, {"is_busy": True}, False),
        (1200, 0.1, {"attempted_at": NOW - timedelta(seconds=70)}, False),
        (-3600, 0.1, {}, True),
        (-3600, 0.1, {"attempted_at": NOW}, False),
    ],
    ids=[
        "young",
        "not yet",
        "old",
        "a run has ended since",
        "a run had ended before",
        "failed",
        "nearly spent at work",
        "spent",
        "just tried",
        "clock went back",
        "clock went back, just tried",
    ],
)
def test_account_is_due_by_what_is_left_and_what_was_done(age_s, share, more, due):
    state = QuotaState("a", used(share), refreshed_at=NOW - timedelta(seconds=age_s))

    assert due is is_reading_due(state, NOW, **more)


def test_account_is_due_once_a_window_has_reset_and_where_nothing_was_read():
    state = QuotaState("a", used(0.1, hours=-0.01), refreshed_at=NOW - timedelta(seconds=100))

    assert is_reading_due(state, NOW)
    assert is_reading_due(QuotaState("a"), NOW)


def test_account_is_read_again_before_it_would_be_shown_as_old():
    windows = used(0.1, hours=1)
    state = QuotaState("a", windows, refreshed_at=NOW - timedelta(seconds=dynamic_ttl_s(windows, NOW) - 60))

    assert is_reading_due(state, NOW)
    assert not is_shown_as_old(state, NOW)


def test_reading_of_more_than_an_hour_is_shown_as_old_whatever_its_windows():
    assert not is_shown_as_old(quota(168, age_s=3600), NOW)
    assert is_shown_as_old(quota(168, age_s=3601), NOW)
