"""When readings are too old, and when a window seems to hide."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.quota.staleness import (
    count_expected_windows,
    dynamic_ttl_s,
    is_routing_stale,
    is_stale,
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
