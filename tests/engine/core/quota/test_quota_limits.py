"""The contract's limits of learning, of freshness and of pauses, each at its mark; and what nothing said stands for."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.quota import backoff, burn, staleness
from oulipoly_engine.core.quota.burn import (
    PoolRates,
    RateSource,
    learn,
    pool_rates,
    project,
    rate_of,
)
from oulipoly_engine.core.quota.usage_table import IN_FLIGHT, NO_USAGE_API, NO_WINDOWS
from oulipoly_engine.core.quota.window_cycles import EndedCycle, find_ended_cycles, near
from oulipoly_engine.core.quota.window_matching import match_windows
from oulipoly_engine.core.quota.windows import QuotaState, Window, count_live, mark_holds

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def find_learned_rate(window):
    return rate_of(window, None, PoolRates({}))[0]


def window(used=0.2, hours=5.0, position=0, **more):
    return Window(position, used, NOW + timedelta(hours=hours), **more)


def quota(*windows, refreshed_at=NOW - HOUR, **more):
    return QuotaState("a", windows, refreshed_at=refreshed_at, **more)


def learned(used, turns, **before):
    return learn(quota(window(0.0, **before)), [window(used)], turns, NOW).windows[0]


def test_contract_s_numbers_are_these():
    assert (20, 0.99, 0.1, 1 / 60) == (burn.MIN_TURNS, burn.LEARNING_CEILING, burn.MAX_RATE, burn.MIN_HOURS)
    assert (300, 86_400, 30.0, 3600.0) == (
        staleness.MIN_TTL_S,
        staleness.MAX_TTL_S,
        staleness.ROUTING_TTL_S,
        staleness.TOPOLOGY_COOLDOWN_S,
    )
    assert (30.0, 900.0, 120.0, 21_600.0) == (
        backoff.FIRST_S,
        backoff.LONGEST_S,
        backoff.RATE_LIMITED_FIRST_S,
        backoff.RETRY_AFTER_LONGEST_S,
    )


def test_names_that_others_read_are_these():
    assert ["own", "pool", "duration", "none"] == [source.value for source in RateSource]
    assert ("(no usage api)", "(no windows)", "(in flight)") == (NO_USAGE_API, NO_WINDOWS, IN_FLIGHT)


@pytest.mark.parametrize(
    ("used", "turns", "rate"),
    [
        (0.2, 20, 0.01),
        (0.2, 19, None),
        (0.98, 20, 0.049),
        (0.99, 20, None),
    ],
    ids=["twenty turns", "nineteen", "below the ceiling", "at the ceiling"],
)
def test_lesson_needs_twenty_turns_and_a_reading_below_99_percent(used, turns, rate):
    assert (None if rate is None else pytest.approx(rate)) == find_learned_rate(learned(used, turns))


@pytest.mark.parametrize(
    ("pending", "rate"), [(1.9, 0.1), (1.91, None)], ids=["a tenth of the window for each turn", "more"]
)
def test_rate_above_a_tenth_is_no_lesson(pending, rate):
    after = learned(0.1, 20, pending_delta=pending)

    assert (None if rate is None else pytest.approx(rate)) == find_learned_rate(after)


@pytest.mark.parametrize("used", [0.1, 0.0], ids=["more used", "as much used as before"])
def test_what_teaches_nothing_yet_is_kept_for_the_next_reading(used):
    after = learned(used, 5, pending_delta=0.05, pending_turns=7)

    assert (pytest.approx(0.05 + used), 12) == (after.pending_delta, after.pending_turns)


def test_new_window_has_nothing_pending_whatever_the_script_s_value_says():
    (after,) = learn(QuotaState("a"), [window(pending_delta=0.5, pending_turns=9)], 30, NOW).windows

    assert (0.0, 0) == (after.pending_delta, after.pending_turns)


def test_peak_of_live_windows_only_rises():
    peaks = [
        learn(quota(peak_live_windows=peak), [window(), window(position=1)], 0, NOW).peak_live_windows
        for peak in (1, 3)
    ]

    assert [2, 3] == peaks


@pytest.mark.parametrize(
    ("used", "turns", "expected"), [(0.5, 10, 0.6), (0.995, 10, 1.095), (-1.0, 10, 0.0), (0.0, 0, 0.0)]
)
def test_projection_may_pass_all_and_never_falls_below_nothing(used, turns, expected):
    assert pytest.approx(expected) == project(used, turns, 0.01)


@pytest.mark.parametrize(
    ("delta", "turns"),
    [(0.0, 20), (0.1, 0), (-0.1, 20), (0.1, -20), (-0.1, -20), (None, 20), (0.1, None)],
)
def test_half_a_lesson_is_neither_used_nor_lent(delta, turns):
    odd = window(last_delta=delta, last_delta_turns=turns)

    assert find_learned_rate(odd) is None
    assert PoolRates({}) == pool_rates([quota(odd)])
    assert (None, RateSource.NONE) == rate_of(odd, NOW, PoolRates({}))


def test_smallest_lesson_counts():
    small = window(last_delta=1e-9, last_delta_turns=1)

    assert 1e-9 == find_learned_rate(small) == pool_rates([quota(small)]).longest_rate
    assert (1e-9, RateSource.OWN) == rate_of(small, NOW, PoolRates({}))


def test_pool_without_a_lesson_knows_no_length():
    assert (None, timedelta(0)) == (PoolRates({}).longest_rate, PoolRates({}).longest)


def test_lessons_of_accounts_that_were_never_refreshed_are_pooled_and_have_no_length():
    lesson = window(last_delta=0.2, last_delta_turns=20)
    rates = pool_rates([quota(lesson, refreshed_at=None)])

    assert ({0: 0.01}, None) == (rates.by_kind, rates.longest_rate)


def test_half_a_lesson_does_not_hide_those_behind_it():
    lesson = window(position=1, last_delta=0.2, last_delta_turns=20)

    assert {1: 0.01} == pool_rates([quota(window(), lesson)]).by_kind


def test_longest_window_lends_in_proportion_to_the_lengths():
    rates = PoolRates({}, 0.001, 10 * HOUR)

    assert (pytest.approx(0.002), RateSource.DURATION) == rate_of(window(hours=5), NOW, rates)


@pytest.mark.parametrize(
    ("label", "kind", "name"), [(None, 3, "window-3"), ("weekly", "weekly", "weekly"), ("", "", "")]
)
def test_window_is_known_by_its_label_or_its_place(label, kind, name):
    found = window(position=3, label=label)

    assert (kind, name) == (found.kind, found.name)


def test_nothing_is_known_of_an_account_never_read():
    state = QuotaState("a")

    assert ((), None, None, None, 0, 0, None) == (
        state.windows,
        state.refreshed_at,
        state.last_empty_refresh_at,
        state.exhausted_at,
        state.calls_since_refresh,
        state.peak_live_windows,
        state.last_topology_probe_at,
    )


def test_window_has_learned_nothing_at_first():
    fresh = window()

    assert (None, None, None, 0.0, 0) == (
        fresh.last_delta,
        fresh.last_delta_turns,
        fresh.label,
        fresh.pending_delta,
        fresh.pending_turns,
    )


def test_window_is_live_until_its_reset():
    assert 1 == count_live([window(hours=0), window(hours=-1), window(hours=1 / 3600)], NOW)


@pytest.mark.parametrize(
    ("windows", "marked", "holds"),
    [
        ([], True, True),
        ([window(hours=1)], True, True),
        ([window(hours=-1), window(hours=1)], True, True),
        ([window(hours=-1)], True, False),
        ([window(hours=0)], True, False),
        ([window(hours=1)], False, False),
        ([], False, False),
    ],
    ids=["no windows", "live", "one live", "past", "this instant", "not marked", "nothing"],
)
def test_mark_holds_until_every_window_has_reset(windows, marked, holds):
    assert holds == mark_holds(quota(*windows, exhausted_at=NOW if marked else None), NOW)


@pytest.mark.parametrize(
    ("seconds_left", "ttl_s"),
    [(1499, 300), (1504, 300), (1505, 301), (431_999, 86_399), (432_000, 86_400), (900_000, 86_400), (-9, 300)],
)
def test_reading_lasts_a_whole_fifth_of_the_time_left(seconds_left, ttl_s):
    assert ttl_s == staleness.dynamic_ttl_s([window(hours=seconds_left / 3600)], NOW)


@pytest.mark.parametrize(("age_s", "stale"), [(-60, False), (-60.001, True)], ids=["a minute", "more"])
def test_reading_of_the_future_is_believed_for_a_minute(age_s, stale):
    read = quota(window(), refreshed_at=NOW - timedelta(seconds=age_s))

    assert [stale, stale] == [staleness.is_stale(read, NOW), staleness.is_routing_stale(read, NOW)]


@pytest.mark.parametrize(("age_s", "stale"), [(30, False), (30.001, True)])
def test_routing_s_time_is_half_a_minute_where_none_is_given(age_s, stale):
    assert stale == staleness.is_routing_stale(quota(window(), refreshed_at=NOW - timedelta(seconds=age_s)), NOW)


@pytest.mark.parametrize(
    "read", [quota(refreshed_at=NOW), quota(window(), refreshed_at=None)], ids=["no windows", "no time"]
)
def test_half_a_reading_is_stale(read):
    assert [True, True] == [staleness.is_stale(read, NOW), staleness.is_routing_stale(read, NOW)]


@pytest.mark.parametrize(("later_s", "due"), [(60, False), (61, True)], ids=["a minute", "more"])
def test_probe_of_the_future_is_believed_for_a_minute(later_s, due):
    probed = quota(window(), last_topology_probe_at=NOW + timedelta(seconds=later_s))

    assert due == staleness.topology_probe_due(probed, 2, NOW, has_source=True)


@pytest.mark.parametrize(("length_h", "minutes"), [(5, 15), (6, 18), (168, 504), (0, 15)])
def test_near_the_reset_is_a_twentieth_of_the_length_and_a_quarter_hour_at_least(length_h, minutes):
    assert timedelta(minutes=minutes) == near(length_h * HOUR)


@pytest.mark.parametrize(
    ("name", "unused", "is_exact"),
    [("weekly", 0.1, True), ("window-1", 0.1, False), ("weekly-window-1", 0.0, True), ("weekly", -0.1, True)],
    ids=["label", "place", "spent", "overspent"],
)
def test_reading_an_hour_before_the_reset_is_exact_for_a_week(name, unused, is_exact):
    assert is_exact == EndedCycle(name, NOW, unused, NOW - HOUR).is_exact


def ended(before_hours, after_hours, *, refreshed_at=NOW - 5 * HOUR):
    prior = quota(window(0.25, before_hours), refreshed_at=refreshed_at)
    return find_ended_cycles(prior, [window(0.0, after_hours)], NOW)


@pytest.mark.parametrize(
    ("before_hours", "after_hours", "count"),
    [(0, 5, 1), (0.001, 5, 0), (-1, -1 + 1 / 60, 0), (-1, -1 + 1.1 / 60, 1), (-5, 5, 0), (-4.999, 5, 1)],
    ids=["resets now", "not yet", "wobbled a minute", "more", "read at its reset", "read before"],
)
def test_cycle_ends_when_its_reset_passed_and_another_came(before_hours, after_hours, count):
    assert count == len(ended(before_hours, after_hours))


def test_ended_cycle_says_what_was_left_and_when_it_was_read():
    expected = EndedCycle("window-0", NOW - HOUR, pytest.approx(0.75), NOW - 5 * HOUR)

    assert (expected,) == ended(-1, 5)


def test_new_window_does_not_hide_the_cycles_behind_it():
    prior = quota(window(0.25, -1, label="5h"), refreshed_at=NOW - 5 * HOUR)
    shown = [window(0.1, 9, label="opus"), window(0.0, 4, 1, label="5h")]

    assert ["5h"] == [cycle.window for cycle in find_ended_cycles(prior, shown, NOW)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([window(hours=1), window(hours=9, position=1)], [window(hours=9), window(hours=1, position=1)], (1, 0)),
        ([window(hours=5), window(hours=5, position=1)], [window(hours=5, position=1)], (1,)),
        ([window(hours=1, label="a")], [window(hours=1, label="b")], (None,)),
        ([window(hours=1, label="a")], [window(hours=1)], (0,)),
        ([window(hours=1, position=1), window(hours=9)], [window(hours=50, position=1)], (0,)),
        ([window(hours=1)], [window(hours=50, position=1)], (None,)),
    ],
    ids=["resets swapped", "place and reset", "other label", "label gone", "place alone", "nothing alike"],
)
def test_window_is_followed_by_what_it_shares_with_an_earlier_one(old, new, expected):
    assert expected == match_windows(old, new)


@pytest.mark.parametrize(("asked", "seconds"), [(1, 1), (21_600, 21_600), (21_601, 21_600)])
def test_vendor_s_pause_is_obeyed_up_to_six_hours(asked, seconds):
    assert timedelta(seconds=seconds) == backoff.backoff_until(NOW, 9, retry_after_s=asked) - NOW
