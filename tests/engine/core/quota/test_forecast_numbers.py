"""Forecasts in numbers, of cycles so simple that they can be computed by hand."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.quota.forecast import (
    Forecast,
    Reading,
    State,
    current_cycle,
    forecast,
    forecast_text,
    forecast_to_json,
    look_back_h,
    pace_over,
)

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def hourly(*uses, reset_in_h=2.0):
    """Readings an hour apart, the last one now."""
    begin = NOW - timedelta(hours=len(uses) - 1)
    reset = NOW + timedelta(hours=reset_in_h)
    return [Reading(begin + timedelta(hours=place), used, reset) for place, used in enumerate(uses)]


def one(minutes, used, reset_minutes=240.0):
    return Reading(NOW + timedelta(minutes=minutes), used, NOW + timedelta(minutes=reset_minutes))


def hours_until(instant):
    return None if instant is None else (instant - NOW).total_seconds() / 3600


# With 2 h to the reset the look-back is 1 h, so one standard deviation of the pace's own error is, after 2 h,
# 0.75 x pace x 2 x 2 / (2 + 1). Rounding adds 1 % for each length of the look-back. 80 % lie within 1.28 deviations.


def test_band_of_even_use_holds_the_pace_s_error_and_rounding():
    found = forecast(hourly(0.0, 0.1, 0.2), NOW)
    spread = 1.28 * 0.75 * 0.1 * 4 / 3 + 0.02

    assert (State.STEADY, pytest.approx(0.1), pytest.approx(0.4)) == (found.state, found.pace, found.used_at_reset)
    assert (pytest.approx(0.4 - spread), pytest.approx(0.4 + spread)) == (
        found.used_at_reset_low,
        found.used_at_reset_high,
    )


def test_band_of_uneven_use_holds_chance_as_well():
    found = forecast(hourly(0, 0, 0, 0, 0, 0, 0, 0, 0.08), NOW)
    per_hour = (7 * 0.01**2 + 0.07**2) / 7  # variance of the eight blocks of an hour
    spread = 1.28 * math.hypot(math.sqrt(per_hour * (2 + 4)), 0.75 * 0.08 * 4 / 3) + 0.02

    assert (pytest.approx(0.08), pytest.approx(0.24)) == (found.pace, found.used_at_reset)
    assert pytest.approx(0.24 + spread) == found.used_at_reset_high
    assert pytest.approx(max(0.08, 0.24 - spread)) == found.used_at_reset_low


def test_band_says_when_it_runs_dry_at_the_earliest_and_the_latest():
    found = forecast(hourly(0.0, 0.4, 0.8, reset_in_h=2), NOW)

    def demand(hours, sign):
        return 0.8 + 0.4 * hours + sign * (1.28 * 0.75 * 0.4 * hours * hours / (hours + 1) + 0.01 * hours)

    assert 0.5 == pytest.approx(hours_until(found.at))
    assert 1.0 == pytest.approx(demand(hours_until(found.earliest), 1))
    assert 1.0 == pytest.approx(demand(hours_until(found.latest), -1))


def test_window_may_run_dry_at_the_upper_end_of_its_band_alone():
    found = forecast(hourly(0.2, 0.45, 0.7, reset_in_h=1.1), NOW)

    assert (State.STEADY, None, None) == (found.state, found.at, found.latest)
    assert 0 < hours_until(found.earliest) < 1.1


def test_window_that_is_full_at_its_reset_runs_dry_there():
    found = forecast(hourly(0.0, 0.25, 0.5, reset_in_h=2), NOW)

    assert (State.RUNS_DRY, pytest.approx(2.0), None) == (found.state, hours_until(found.at), found.latest)


def test_forecast_carries_the_reading_that_it_starts_from():
    readings = [one(-100, 0.1), one(-40, 0.3)]
    found = forecast(readings, NOW)

    assert (readings[1].at, 0.3, readings[1].resets_at) == (found.read_at, found.used, found.resets_at)


def test_what_runs_dry_before_now_is_told_as_now():
    found = forecast([one(-90, 0.1), one(-30, 0.9)], NOW, turns=50, rate=0.01)

    assert (State.RUNS_DRY, NOW, 1.0) == (found.state, found.at, found.used_at_reset)


@pytest.mark.parametrize(
    ("turns", "rate"),
    [(None, 0.01), (10, None), (None, None), (0, 0.01)],
    ids=["no turns", "no rate", "neither", "idle"],
)
def test_time_since_the_last_reading_is_idle_unless_turns_and_rate_are_known(turns, rate):
    found = forecast([one(-120, 0.2), one(-60, 0.4)], NOW, turns=turns, rate=rate)

    assert pytest.approx(0.05) == found.pace  # the look-back is 80 minutes


def test_turns_since_the_last_reading_are_added_at_their_rate():
    found = forecast([one(-120, 0.2), one(-60, 0.4)], NOW, turns=10, rate=0.02)

    assert pytest.approx((0.6 - 0.4 + 0.2 * 20 / 60) / (80 / 60)) == found.pace


@pytest.mark.parametrize(
    ("minutes", "state"), [(9.9, State.NOT_ENOUGH_DATA), (10, State.STEADY)], ids=["less", "ten minutes"]
)
def test_readings_must_span_ten_minutes(minutes, state):
    found = forecast([one(-minutes, 0.1), one(0, 0.11)], NOW)

    assert (state, 0.11) == (found.state, found.used)


def test_window_that_resets_this_instant_has_reset():
    found = forecast([one(-60, 0.1, 0), one(-30, 0.4, 0)], NOW)

    assert Forecast(State.PAST_RESET, NOW - timedelta(minutes=30), 0.4, NOW) == found


def test_spent_window_is_spent_since_its_first_reading_of_all():
    since = NOW - timedelta(minutes=20)
    found = forecast([one(-40, 0.9), one(-20, 1.0), one(-5, 1.0)], NOW)

    expected = Forecast(
        State.SPENT, NOW - timedelta(minutes=5), 1.0, NOW + timedelta(hours=4), since, since, since, None, 1.0, 1.0, 1.0
    )
    assert expected == found


@pytest.mark.parametrize(
    ("earlier", "length"),
    [
        (one(-60, 0.1, 250), 2),
        (one(-60, 0.1, 250.1), 1),
        (one(-60, 0.1, 230), 2),
        (one(-60, 0.215), 2),
        (one(-60, 0.2151), 1),
        (one(0, 0.1), 1),
    ],
    ids=["reset moved ten minutes", "more", "back", "fell by rounding", "fell by more", "at the same instant"],
)
def test_cycle_begins_where_the_reset_moved_or_use_fell(earlier, length):
    assert length == len(current_cycle([earlier, one(0, 0.2)], NOW))


def test_reset_is_compared_with_the_newest_one_and_use_with_the_next():
    creeping = [one(-30, 0.1, 229), one(-20, 0.1, 235), one(-10, 0.1, 240)]
    falling = [one(-30, 0.12), one(-20, 0.11), one(-10, 0.1)]

    assert [2, 3] == [len(current_cycle(readings, NOW)) for readings in (creeping, falling)]


@pytest.mark.parametrize(("seconds", "length"), [(60, 1), (61, 0)], ids=["a minute", "more"])
def test_reading_of_the_future_counts_within_a_minute(seconds, length):
    assert length == len(current_cycle([one(seconds / 60, 0.1)], NOW))


@pytest.mark.parametrize(("used", "counted"), [(-0.5, 0.0), (0.0, 0.0), (1.0, 1.0), (1.5, 1.0)])
def test_use_counts_from_nothing_to_all(used, counted):
    assert [counted] == [reading.used for reading in current_cycle([one(0, used)], NOW)]


def test_reading_that_cannot_be_does_not_end_the_cycle():
    readings = [one(-30, 0.1), one(-20, math.nan), one(-10, 0.2)]

    assert [readings[0], readings[2]] == current_cycle(readings, NOW)


@pytest.mark.parametrize(
    ("horizon_h", "expected"),
    [(0, 1.0), (1, 1.0), (math.sqrt(12), 1.0), (6, 3.0), (12, 12.0), (24, 48.0)],
)
def test_look_back_grows_with_the_square_of_the_horizon_and_is_an_hour_at_least(horizon_h, expected):
    assert pytest.approx(expected) == look_back_h(horizon_h)


@pytest.mark.parametrize(
    ("hours", "expected"),
    [(1, 0.3), (2, 0.2), (1.5, 0.35 / 1.5), (9, 0.2)],
    ids=["last hour", "all", "between readings", "longer than the cycle"],
)
def test_pace_is_that_of_the_last_hours(hours, expected):
    assert pytest.approx(expected) == pace_over(hourly(0.1, 0.2, 0.5), hours)


def test_pace_is_never_below_nothing():
    assert 0.0 == pace_over(hourly(0.5, 0.49), 1)


DRY = Forecast(
    State.RUNS_DRY,
    read_at=NOW,
    used=0.5,
    resets_at=NOW + timedelta(hours=4),
    at=NOW + timedelta(hours=2),
    earliest=NOW + timedelta(hours=1),
    latest=NOW + timedelta(hours=3),
    pace=0.25,
    used_at_reset=1.0,
    used_at_reset_low=0.75,
    used_at_reset_high=1.0,
)


def test_forecast_as_json_has_every_number():
    assert forecast_to_json(DRY) == {
        "state": "runs-dry",
        "read_at": "2026-03-04T12:00:00.000000Z",
        "used": 0.5,
        "resets_at": "2026-03-04T16:00:00.000000Z",
        "dry_at": "2026-03-04T14:00:00.000000Z",
        "dry_earliest": "2026-03-04T13:00:00.000000Z",
        "dry_latest": "2026-03-04T15:00:00.000000Z",
        "pace_per_hour": 0.25,
        "used_at_reset": 1.0,
        "used_at_reset_low": 0.75,
        "used_at_reset_high": 1.0,
    }


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Forecast(State.NOT_ENOUGH_DATA), "not enough data"),
        (Forecast(State.PAST_RESET), "has reset since it was read"),
        (Forecast(State.SPENT), "exhausted"),
        (DRY, "runs out 2026-03-04 14:00Z (2026-03-04 13:00Z to 2026-03-04 15:00Z)"),
        (
            Forecast(State.RUNS_DRY, at=NOW),
            "runs out 2026-03-04 12:00Z (? to after the reset)",
        ),
        (
            Forecast(State.STEADY, used_at_reset=0.5, used_at_reset_low=0.25, used_at_reset_high=0.999),
            "lasts: 50 % at the reset (25 % to 100 %)",
        ),
        (Forecast(State.STEADY, used_at_reset=0.5), "lasts: 50 % at the reset (? to ?)"),
    ],
    ids=["unknown", "reset", "spent", "dry", "dry without ends", "steady", "steady without ends"],
)
def test_forecast_is_told_in_a_few_words(found, text):
    assert text == forecast_text(found)


def test_states_are_named_as_in_the_contract():
    assert ["not-enough-data", "steady", "runs-dry", "spent", "past-reset"] == [state.value for state in State]
