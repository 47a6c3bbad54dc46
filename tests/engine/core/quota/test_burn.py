"""Learning burn rates and lending them."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.quota.burn import RateSource, learn, pool_rates, rate_of
from oulipoly_engine.core.quota.windows import QuotaState, Window

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def window(used=0.2, hours=168.0, position=0, delta=None, turns=None, label=None):
    return Window(position, used, NOW + timedelta(hours=hours), delta, turns, label)


def quota(*windows, name="a", refreshed_hours_ago=1.0, **more):
    return QuotaState(name, windows, refreshed_at=NOW - timedelta(hours=refreshed_hours_ago), **more)


# The cascade


def test_own_learning_comes_first():
    own = window(delta=0.2, turns=20)

    assert (0.01, RateSource.OWN) == rate_of(own, NOW, pool_rates([quota(own), quota(window(delta=0.9, turns=20))]))


def test_pool_rate_weighs_siblings_by_turns():
    pool = [quota(window()), quota(window(delta=0.01, turns=20)), quota(window(delta=0.05, turns=30))]

    assert (pytest.approx(0.0012), RateSource.POOL) == rate_of(pool[0].windows[0], NOW, pool_rates(pool))


def test_pool_rate_comes_from_the_same_position_only():
    pool = [quota(window()), quota(window(hours=2, position=1, delta=0.01, turns=20))]

    assert (None, RateSource.NONE) == rate_of(pool[0].windows[0], NOW, pool_rates(pool))


def test_labelled_windows_are_matched_by_label_and_not_by_position():
    weekly = quota(window(label="weekly", delta=0.01, turns=20), window(position=1, label="5h", delta=0.2, turns=20))
    alone = window(label="5h")

    assert (pytest.approx(0.01), RateSource.POOL) == rate_of(alone, NOW, pool_rates([weekly, quota(alone)]))


def test_longest_learned_window_lends_its_rate_by_duration():
    refreshed_at = NOW - timedelta(hours=1)
    pool = [
        quota(window(hours=99, position=5, delta=0.02, turns=20)),
        quota(window(hours=49, position=6, delta=0.5, turns=20)),
        quota(window(hours=9)),
    ]

    assert (pytest.approx(0.01), RateSource.DURATION) == rate_of(pool[2].windows[0], refreshed_at, pool_rates(pool))


def test_shorter_learned_window_lends_nothing():
    pool = [quota(window(hours=5, position=1, delta=0.02, turns=20)), quota(window(hours=9))]

    assert (None, RateSource.NONE) == rate_of(pool[1].windows[0], NOW, pool_rates(pool))


def test_equally_long_learned_window_lends_nothing():
    pool = [quota(window(hours=9, position=1, delta=0.02, turns=20)), quota(window(hours=9))]

    assert (None, RateSource.NONE) == rate_of(pool[1].windows[0], pool[1].refreshed_at, pool_rates(pool))


def test_first_of_equally_long_windows_lends():
    pool = [
        quota(window(hours=99, position=5, delta=0.02, turns=20)),
        quota(window(hours=99, position=6, delta=0.5, turns=20)),
    ]

    assert 0.001 == pool_rates(pool).longest_rate


def test_account_never_refreshed_borrows_nothing_by_duration():
    pool = [quota(window(hours=99, position=5, delta=0.02, turns=20))]

    assert (None, RateSource.NONE) == rate_of(window(hours=9), None, pool_rates(pool))


def test_borrowing_window_has_a_floor_of_one_minute():
    pool = [quota(window(hours=9, position=5, delta=0.02, turns=20))]
    rate, _ = rate_of(window(hours=-1.0), NOW, pool_rates(pool))

    assert 0.001 * 10 * 60 == pytest.approx(rate)


# Learning


def test_reading_after_enough_turns_teaches_the_step():
    after = learn(quota(window(0.1)), [window(0.35)], 20, NOW)

    assert (pytest.approx(0.25), 20) == (after.windows[0].last_delta, after.windows[0].last_delta_turns)


@pytest.mark.parametrize(
    ("used", "turns"),
    [(0.12, 19), (0.05, 50), (0.1, 50), (0.99, 50), (0.3, 0)],
    ids=["too few turns", "rolled over", "no step", "at the ceiling", "no turns"],
)
def test_reading_that_teaches_nothing_keeps_the_earlier_lesson(used, turns):
    after = learn(quota(window(0.1, delta=0.02, turns=30)), [window(used)], turns, NOW)

    assert (used, 0.02, 30) == (after.windows[0].used, after.windows[0].last_delta, after.windows[0].last_delta_turns)


def test_step_too_small_to_be_shared_by_its_turns_teaches_nothing():
    after = learn(quota(window(0.0)), [window(5e-324)], 20, NOW)

    assert after.windows[0].last_delta is None


def test_unlabelled_window_is_followed_by_its_reset():
    prior = quota(window(0.5, hours=5), window(0.1, hours=160, position=1))
    after = learn(prior, [window(0.3, hours=160)], 20, NOW)

    assert pytest.approx(0.2) == after.windows[0].last_delta


def test_new_window_starts_without_a_lesson():
    after = learn(quota(window(0.1)), [window(0.4), window(0.9, position=1, delta=0.5, turns=50)], 30, NOW)

    assert (None, None) == (after.windows[1].last_delta, after.windows[1].last_delta_turns)


def test_vanished_window_is_dropped_and_the_peak_kept():
    after = learn(quota(window(0.1), window(0.4, position=1), peak_live_windows=2), [window(0.1)], 30, NOW)

    assert (1, 2) == (len(after.windows), after.peak_live_windows)


def test_our_own_calls_stand_in_for_unknown_turns():
    after = learn(quota(window(0.1), calls_since_refresh=25), [window(0.2)], None, NOW)

    assert 25 == after.windows[0].last_delta_turns


def test_good_reading_clears_mark_and_counter():
    prior = quota(window(0.1), calls_since_refresh=25, exhausted_at=NOW - timedelta(hours=1))
    after = learn(prior, [window(0.2)], 0, NOW)

    assert (None, 0, NOW) == (after.exhausted_at, after.calls_since_refresh, after.refreshed_at)


def test_empty_reading_keeps_windows_mark_and_age():
    prior = quota(window(0.1), calls_since_refresh=25, exhausted_at=NOW - timedelta(hours=1))
    after = learn(prior, [], 30, NOW)

    assert NOW == after.last_empty_refresh_at
    assert (prior.windows, prior.exhausted_at, prior.refreshed_at, 25) == (
        after.windows,
        after.exhausted_at,
        after.refreshed_at,
        after.calls_since_refresh,
    )


def test_first_contact_that_is_empty_counts_as_a_refresh():
    after = learn(QuotaState("a"), [], 0, NOW)

    assert (NOW, NOW, ()) == (after.refreshed_at, after.last_empty_refresh_at, after.windows)


# Windows that swap places


def test_labelled_window_is_followed_to_its_new_position():
    prior = quota(window(0.5, label="weekly"), window(0.1, position=1, label="5h"))
    after = learn(prior, [window(0.3, label="5h")], 20, NOW)

    assert pytest.approx(0.2) == after.windows[0].last_delta


def test_window_of_another_label_is_no_continuation():
    after = learn(quota(window(0.1, label="weekly", delta=0.02, turns=30)), [window(0.3, label="5h")], 20, NOW)

    assert after.windows[0].last_delta is None


def test_label_that_appears_or_goes_leaves_the_position_to_decide():
    labelled, plain = window(0.3, label="weekly"), window(0.3)
    lessons = [
        learn(quota(window(0.1)), [labelled], 20, NOW).windows[0].last_delta,
        learn(quota(window(0.1, label="weekly")), [plain], 20, NOW).windows[0].last_delta,
    ]

    assert [pytest.approx(0.2)] * 2 == lessons


def test_same_label_twice_is_told_apart_by_position():
    prior = quota(window(0.1, label="weekly"), window(0.5, position=1, label="weekly"))
    after = learn(prior, [window(0.2, label="weekly"), window(0.8, position=1, label="weekly")], 20, NOW)

    assert [pytest.approx(0.1), pytest.approx(0.3)] == [window.last_delta for window in after.windows]


def test_small_steps_between_frequent_readings_add_up_to_a_lesson():
    state = QuotaState("a", windows=(Window(0, 0.10, NOW + timedelta(hours=5)),), refreshed_at=NOW)
    for step in range(1, 5):
        reading = (Window(0, 0.10 + 0.01 * step, NOW + timedelta(hours=5)),)
        state = learn(state, reading, 6, NOW + timedelta(seconds=30 * step))

    window = state.windows[0]
    assert (pytest.approx(0.04), 24) == (window.last_delta, window.last_delta_turns)
    assert (0.0, 0) == (window.pending_delta, window.pending_turns)


def test_a_reset_ends_what_was_adding_up():
    before = Window(0, 0.50, NOW + timedelta(hours=1), pending_delta=0.1, pending_turns=19)
    after = learn(
        QuotaState("a", windows=(before,), refreshed_at=NOW), (Window(0, 0.0, NOW + timedelta(hours=6)),), 5, NOW
    )

    assert (None, 0.0, 0) == (
        after.windows[0].last_delta,
        after.windows[0].pending_delta,
        after.windows[0].pending_turns,
    )
