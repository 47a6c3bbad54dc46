"""How good forecasts were, in numbers: what is counted, and how it is told."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.quota.forecast import Forecast, Reading, State
from oulipoly_engine.core.quota.forecast_score import (
    LAST_CYCLES,
    POINTS,
    ForecastScore,
    complete_cycles,
    score,
    score_text,
    score_to_json,
)

START = datetime(2026, 3, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)


def cycle(number, *uses, last_minute=299.0):
    """A 5 h cycle with readings at equal distances from its begin to a minute of it."""
    begin = START + 5 * HOUR * number
    distance = timedelta(minutes=last_minute) / max(1, len(uses) - 1)
    return [Reading(begin + distance * place, used, begin + 5 * HOUR) for place, used in enumerate(uses)]


def history(*finals, last_minute=299.0):
    """Cycles with these uses at their ends, and the begin of one more."""
    cycles = [cycle(number, 0.0, final, last_minute=last_minute) for number, final in enumerate(finals)]
    return [reading for each in [*cycles, cycle(len(finals), 0.0)] for reading in each]


def said(expected=0.5, low=0.25, high=0.75, *, state=State.STEADY, at=None):
    """Return a forecaster that always says the same."""
    found = Forecast(state, used_at_reset=expected, used_at_reset_low=low, used_at_reset_high=high, at=at)
    return lambda _readings, _now: found


def test_errors_are_distances_from_what_came_and_bias_their_mean():
    found = score(history(0.25, 1.0), forecaster=said(0.5), points=(0.5,))

    assert (2, 2) == (found.cycles, found.forecasts)
    assert (pytest.approx((0.25 + 0.5) / 2), pytest.approx((0.25 - 0.5) / 2)) == (found.mean_error, found.bias)


@pytest.mark.parametrize(
    ("finals", "covered"),
    [((0.25, 0.75), 1.0), ((0.24, 0.5), 0.5), ((0.5, 0.76), 0.5), ((0.2, 0.8), 0.0)],
    ids=["both ends", "below", "above", "none"],
)
def test_outcome_is_covered_inside_the_band_and_at_its_ends(finals, covered):
    assert covered == score(history(*finals), forecaster=said()).covered


def test_forecast_is_replayed_at_each_point_with_the_readings_until_then():
    asked = []

    def listen(readings, now):
        asked.append((len(readings), now - START))
        return Forecast(State.STEADY, used_at_reset=0.1, used_at_reset_low=0.0, used_at_reset_high=1.0)

    score(
        [*cycle(0, 0, 0.1, 0.2, 0.3, 0.4), *cycle(1, 0, 0.4), *cycle(2, 0)], points=(0.0, 0.25, 0.5), forecaster=listen
    )

    assert [(1, 0 * HOUR), (2, 1.25 * HOUR), (3, 2.5 * HOUR)] == asked[:3]


def test_every_cycle_is_replayed_at_its_quarters_where_no_points_are_given():
    assert (0.25, 0.5, 0.75) == POINTS
    assert 6 == score(history(0.5, 0.5), forecaster=said()).forecasts


def test_last_eight_cycles_count():
    found = score(history(*[0.9] * 3, *[0.5] * 8), forecaster=said(0.5))

    assert (8, LAST_CYCLES, pytest.approx(0.0)) == (found.cycles, 8, found.mean_error)


@pytest.mark.parametrize(
    ("found", "forecasts"),
    [
        (said(state=State.SPENT), None),
        (said(expected=None), None),
        (said(low=None), None),
        (said(high=None), None),
        (said(), 6),
    ],
    ids=["spent", "nothing expected", "no low end", "no high end", "whole"],
)
def test_only_whole_forecasts_are_scored(found, forecasts):
    scored = score(history(0.5, 0.5), forecaster=found)

    assert forecasts == (None if scored is None else scored.forecasts)


@pytest.mark.parametrize(
    ("forecaster", "count", "error_h"),
    [
        (said(state=State.RUNS_DRY, at=START + 1.5 * HOUR), 1, 0.5),
        (said(state=State.RUNS_DRY, at=START + 2.5 * HOUR), 1, 0.5),
        (said(state=State.STEADY, at=START + 2.5 * HOUR), 0, None),
        (said(state=State.RUNS_DRY, at=None), 0, None),
    ],
    ids=["too early", "too late", "not said", "no instant"],
)
def test_instant_of_running_dry_is_scored_where_it_was_said_and_came(forecaster, count, error_h):
    dry = cycle(0, 0.0, 1.0, 1.0, last_minute=240)
    found = score([*dry, *cycle(1, 0.0, 0.5), *cycle(2, 0.0)], forecaster=forecaster, points=(0.1,))

    assert (count, error_h) == (found.dry_forecasts, found.dry_error_h)


def test_distances_from_running_dry_are_averaged():
    both = [*cycle(0, 0.0, 1.0, 1.0, last_minute=240), *cycle(1, 0.0, 1.0, 1.0, last_minute=240), *cycle(2, 0.0)]
    found = score(both, forecaster=said(state=State.RUNS_DRY, at=START + 1.5 * HOUR), points=(0.1,))

    assert (2, pytest.approx((0.5 + 5.5) / 2)) == (found.dry_forecasts, found.dry_error_h)


@pytest.mark.parametrize(
    ("last_minute", "is_known"), [(285, True), (284, False)], ids=["fifteen minutes before", "more"]
)
def test_outcome_is_known_where_the_last_reading_is_near_the_reset(last_minute, is_known):
    assert is_known == (score(history(0.5, 0.5, last_minute=last_minute), forecaster=said()) is not None)


def test_outcome_of_a_spent_cycle_is_known_long_before_its_reset():
    assert score(history(1.0, 1.0, last_minute=100), forecaster=said()) is not None
    assert score(history(0.99, 0.99, last_minute=100), forecaster=said()) is None


@pytest.mark.parametrize(
    ("begin_minute", "count"), [(290, 1), (289, 0)], ids=["ten minutes before the reset", "earlier"]
)
def test_cycle_is_complete_when_the_next_one_begins_about_its_reset(begin_minute, count):
    first = cycle(0, 0.0, 0.5, last_minute=200)
    anew = Reading(START + timedelta(minutes=begin_minute), 0.0, START + 10 * HOUR)

    assert count == len(complete_cycles([*first, anew]))


@pytest.mark.parametrize(
    ("used", "reset_minute", "count"),
    [(0.485, 300, 0), (0.48, 300, 1), (0.5, 310, 0), (0.5, 311, 1)],
    ids=["fell by rounding", "fell by more", "reset moved ten minutes", "moved by more"],
)
def test_cycle_begins_where_use_fell_or_the_reset_moved(used, reset_minute, count):
    first = cycle(0, 0.0, 0.5, last_minute=295)
    after = Reading(START + timedelta(minutes=299), used, START + timedelta(minutes=reset_minute))

    assert count == len(complete_cycles([*first, after]))


@pytest.mark.parametrize(("used", "counted"), [(-0.5, 0.0), (1.5, 1.0), (0.25, 0.25)])
def test_use_counts_from_nothing_to_all(used, counted):
    (first,) = complete_cycles([Reading(START, used, START + HOUR), Reading(START + HOUR, 0.0, START + 6 * HOUR)])

    assert counted == first[0].used


def test_reading_at_the_instant_of_a_newer_one_is_left_out():
    twice = [Reading(START, 0.1, START + HOUR), Reading(START, 0.2, START + HOUR)]
    (first,) = complete_cycles([*twice, Reading(START + HOUR, 0.0, START + 6 * HOUR)])

    assert (twice[1],) == first


def numbers(dry_error_h=None):
    return ForecastScore(7, 21, 0.125, -0.05, 0.9, 0 if dry_error_h is None else 2, dry_error_h)


@pytest.mark.parametrize(
    ("found", "text"),
    [(numbers(), "12 % off over 7 cycles"), (numbers(1.25), "12 % off over 7 cycles, running out 1.2 h off")],
    ids=["never dry", "dry"],
)
def test_score_is_told_in_a_few_words(found, text):
    assert text == score_text(found)


def test_score_as_json_has_every_number():
    assert score_to_json(numbers(1.25)) == {
        "cycles": 7,
        "forecasts": 21,
        "mean_error": 0.125,
        "bias": -0.05,
        "covered": 0.9,
        "dry_forecasts": 2,
        "dry_error_hours": 1.25,
    }
