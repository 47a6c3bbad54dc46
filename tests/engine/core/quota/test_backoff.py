from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.quota.backoff import LONGEST_S, RETRY_AFTER_LONGEST_S, backoff_until

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def pause_s(count, **said):
    return (backoff_until(NOW, count, **said) - NOW).total_seconds()


@pytest.mark.parametrize(("count", "seconds"), [(1, 30), (2, 60), (5, 480), (6, 900), (10_000, LONGEST_S)])
def test_each_failure_doubles_the_pause_up_to_a_limit(count, seconds):
    assert seconds == pause_s(count)


@pytest.mark.parametrize(("count", "seconds"), [(1, 120), (2, 240), (4, 900)])
def test_too_many_requests_pauses_longer(count, seconds):
    assert seconds == pause_s(count, http_status=429)


@pytest.mark.parametrize("status", [401, 500, 503])
def test_other_refusals_pause_as_any_failure(status):
    assert 30 == pause_s(1, http_status=status)


@pytest.mark.parametrize("asked", [1, 45, 3600])
def test_what_the_vendor_asks_for_is_obeyed(asked):
    assert asked == pause_s(7, http_status=429, retry_after_s=asked)
    assert asked == pause_s(1, http_status=503, retry_after_s=asked)


def test_a_wild_wish_is_cut():
    assert RETRY_AFTER_LONGEST_S == pause_s(1, retry_after_s=9_999_999)


@pytest.mark.parametrize("asked", [0, -5])
def test_a_vendor_that_says_at_once_in_a_refusal_is_not_taken_at_its_word(asked):
    assert 120 == pause_s(1, http_status=429, retry_after_s=asked)
