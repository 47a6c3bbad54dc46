"""The history of readings: what is kept, what age takes, what a chart gets."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.quota.window_cycles import EndedCycle
from oulipoly_engine.core.quota.windows import Window
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import readings

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
RESET = NOW + timedelta(days=400)
EVER = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "state.db")
    yield opened
    opened.close()


def put(store, *given, account="a", label="w"):
    """Append readings of (instant, used, reset or None for a distant one)."""
    with store.write():
        for at, used, *reset in given:
            window = Window(0, used, reset[0] if reset else RESET, label=label)
            readings.append(store, account, [window], at, source="script")


def instants(store, account="a", window="w"):
    return [one.at for one in readings.history(store, account, window, EVER)]


def thin(store, account="a"):
    with store.write():
        return readings.thin(store, account, NOW)


def ago(**given):
    return NOW - timedelta(**given)


# Reading


def test_a_reading_comes_back_as_it_went_in(store):
    with store.write():
        windows = [Window(0, 0.25, RESET, label="weekly"), Window(1, 0.5, RESET)]
        readings.append(store, "a", windows, ago(minutes=1), source="script", turns=7, duration_ms=12)

    assert ("weekly", "window-1") == readings.windows_of(store, "a")
    assert (readings.Reading(ago(minutes=1), 0.25, RESET, 7),) == readings.history(store, "a", "weekly", EVER)
    assert [("script", 12)] * 2 == store.rows("SELECT source, duration_ms FROM readings")


def test_a_reading_of_the_same_instant_stays_as_it_was(store):
    put(store, (NOW, 0.1), (NOW, 0.9))

    assert [0.1] == [one.used for one in readings.history(store, "a", "w", EVER)]


def test_history_begins_where_asked_and_keeps_the_newest(store):
    put(store, *((ago(minutes=minute), minute / 100) for minute in (5, 4, 3, 2, 1)))
    since = readings.history(store, "a", "w", ago(minutes=4))
    newest = readings.history(store, "a", "w", EVER, limit=2)

    assert [0.04, 0.03, 0.02, 0.01] == [one.used for one in since]
    assert [0.02, 0.01] == [one.used for one in newest]


def test_windows_are_named_once_and_by_account(store):
    for label in ("weekly", "5h", "", "Ä"):
        put(store, (ago(minutes=1), 0.1), (NOW, 0.2), label=label or None)
    put(store, (NOW, 0.1), account="b", label="other")

    assert ("5h", "weekly", "window-0", "Ä") == readings.windows_of(store, "a")
    assert () == readings.windows_of(store, "nobody")


# Thinning


def test_two_days_keep_every_reading(store):
    put(store, *((ago(seconds=30 * step), 0.1) for step in range(200)), (ago(hours=47, minutes=59), 0.1))

    assert 0 == thin(store)
    assert 201 == len(instants(store))


def test_two_weeks_keep_the_last_reading_of_each_hour(store):
    given = [ago(days=5, hours=1) + timedelta(minutes=minute) for minute in (0, 20, 59, 60, 90, 119, 121)]
    put(store, *((at, 0.1) for at in given))

    assert 4 == thin(store)
    assert [given[2], given[5], given[6]] == instants(store)


def test_later_on_the_last_reading_of_each_day_is_kept(store):
    midnight = datetime(2026, 10, 1, tzinfo=UTC)
    given = [midnight + timedelta(hours=hour) for hour in (0, 9, 23, 24, 30, 47, 49)]
    put(store, *((at, 0.1) for at in given))

    assert 4 == thin(store)
    assert [given[2], given[5], given[6]] == instants(store)


@pytest.mark.parametrize("days", [5, 40])
def test_of_every_cycle_the_last_reading_is_kept(store, days):
    begin = ago(days=days).replace(hour=3, minute=0)
    reset, after = begin + timedelta(minutes=25), begin + timedelta(hours=5)
    given = [
        (begin + timedelta(minutes=5), 0.5, reset),
        (begin + timedelta(minutes=24), 0.9, reset + timedelta(seconds=3)),
        (begin + timedelta(minutes=26), 0.0, after),
        (begin + timedelta(minutes=50), 0.1, after - timedelta(seconds=3)),
    ]
    put(store, *given)
    thin(store)

    assert [given[1][0], given[3][0]] == instants(store)


def test_an_early_reset_by_the_vendor_keeps_what_was_before_it(store):
    begin = ago(days=5).replace(minute=0)
    given = [(begin + timedelta(minutes=5), 0.9), (begin + timedelta(minutes=9), 0.0, RESET + timedelta(days=7))]
    put(store, *given)
    thin(store)

    assert 2 == len(instants(store))


def test_an_idle_window_whose_reset_moves_along_is_thinned(store):
    begin = ago(days=5).replace(minute=0)
    moving = [begin + timedelta(minutes=5 * step) for step in range(12)]
    put(store, *((at, 0.0, at + timedelta(hours=5)) for at in moving))
    thin(store)

    assert [moving[-1]] == instants(store)


def test_thinning_leaves_other_accounts_and_windows_alone(store):
    given = [ago(days=5), ago(days=5) + timedelta(minutes=1)]
    for account, label in (("a", "w"), ("a", "x"), ("b", "w")):
        put(store, *((at, 0.1) for at in given), account=account, label=label)

    assert 2 == thin(store)
    assert [1, 1, 2] == [len(instants(store, *of)) for of in (("a", "w"), ("a", "x"), ("b", "w"))]


@settings(deadline=None)  # each example makes a state file
@given(st.lists(st.tuples(st.integers(0, 40 * 1440), st.integers(0, 3)), max_size=40, unique_by=lambda pair: pair[0]))
def test_thinning_twice_takes_nothing_more_and_keeps_the_ends(tmp_path_factory, minutes):
    store = open_store(tmp_path_factory.mktemp("thin") / "state.db")
    put(store, *((ago(minutes=minute), cycle / 10, RESET + timedelta(days=cycle)) for minute, cycle in minutes))
    before = instants(store)
    thin(store)
    after = instants(store)

    assert 0 == thin(store)
    assert before[-1:] == after[-1:]
    assert [at for at in before if at >= ago(days=2)] == [at for at in after if at >= ago(days=2)]
    assert {at.date() for at in before} == {at.date() for at in after}
    store.close()


# Charts


def test_a_chart_shows_the_last_reading_of_each_step(store):
    put(store, *((NOW + timedelta(minutes=minute), minute / 100) for minute in (0, 9, 10, 11, 31, 40)))
    points = readings.chart(store, "a", "w", NOW, NOW + timedelta(minutes=40), 4)

    assert [(9, 0.09), (11, 0.11), (31, 0.31), (40, 0.40)] == [
        ((point.at - NOW).total_seconds() / 60, point.used) for point in points
    ]
    assert {RESET} == {point.resets_at for point in points}


def test_a_chart_shows_nothing_beyond_its_ends(store):
    put(store, (ago(minutes=1), 0.1), (NOW, 0.2), (NOW + timedelta(minutes=1, milliseconds=1), 0.3))

    points = readings.chart(store, "a", "w", NOW, NOW + timedelta(minutes=1), 10)
    assert [0.2] == [point.used for point in points]


@settings(deadline=None)  # as above
@given(st.integers(0, 400), st.integers(0, 30))
def test_a_chart_has_no_more_points_than_asked_for(tmp_path_factory, length_ms, steps):
    store = open_store(tmp_path_factory.mktemp("chart") / "state.db")
    put(store, *((NOW + timedelta(milliseconds=ms), 0.1) for ms in range(0, length_ms + 1, 7)))
    points = readings.chart(store, "a", "w", NOW, NOW + timedelta(milliseconds=length_ms), steps)

    assert 1 <= len(points) <= steps + 1 + (steps == 0)
    store.close()


def test_a_chart_of_nothing_is_empty(store):
    assert () == readings.chart(store, "a", "w", NOW, NOW + timedelta(hours=1), 10)
    put(store, (NOW, 0.1))
    assert () == readings.chart(store, "a", "w", NOW + timedelta(hours=1), NOW, 10)


# Unused quota


def test_unused_quota_is_kept_once_a_reset_with_the_latest_word(store):
    early, late = NOW - timedelta(days=2), NOW - timedelta(days=1)
    with store.write():
        readings.record_unused(store, "a", [EndedCycle("w", late, 0.3, early), EndedCycle("w", early, 0.5, early)])
        readings.record_unused(store, "a", [EndedCycle("w", late, 0.2, late)])

    latest = EndedCycle("w", late, 0.2, late)
    assert (EndedCycle("w", early, 0.5, early), latest) == readings.find_unused_quota(store, "a", EVER)
    assert (latest,) == readings.find_unused_quota(store, "a", late)
    assert () == readings.find_unused_quota(store, "b", EVER)
