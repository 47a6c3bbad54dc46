"""When a window runs dry: what readings say of the time to come, and what they do not."""

import math
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.quota.forecast import Reading, State, current_cycle, forecast, forecast_text, forecast_to_json

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
RESET = NOW + timedelta(hours=4)


def at(minutes, used, resets_at=RESET):
    return Reading(NOW + timedelta(minutes=minutes), used, resets_at)


def steps(minutes, *uses, resets_at=RESET):
    """Readings at equal distances, the last one now."""
    first = -minutes * (len(uses) - 1)
    return [at(first + minutes * place, used, resets_at) for place, used in enumerate(uses)]


def test_even_pace_runs_dry_where_the_line_crosses():
    found = forecast(steps(15, 0.2, 0.3, 0.4, 0.5, 0.6), NOW)

    assert (State.RUNS_DRY, NOW + timedelta(hours=1)) == (found.state, found.at.replace(microsecond=0))
    assert 0.4 == pytest.approx(found.pace)
    assert found.earliest <= found.at


def test_near_end_has_both_ends_of_its_band():
    found = forecast(steps(15, 0.5, 0.6, 0.7, 0.8, 0.9), NOW)

    assert NOW < found.earliest < found.at < found.latest < NOW + timedelta(hours=1.5)


def test_slow_pace_lasts_until_the_reset():
    found = forecast(steps(15, 0.10, 0.11, 0.12, 0.13, 0.14), NOW)

    assert (State.STEADY, None) == (found.state, found.at)
    assert 0.3 == pytest.approx(found.used_at_reset)
    assert 0.14 <= found.used_at_reset_low < 0.3 < found.used_at_reset_high < 1


def test_no_use_over_a_real_span_is_steady_and_not_unknown():
    found = forecast(steps(30, 0.3, 0.3, 0.3), NOW)

    assert (State.STEADY, 0.0, 0.3) == (found.state, found.pace, found.used_at_reset)
    assert found.used_at_reset_high > 0.3


@pytest.mark.parametrize(
    "readings",
    [[], [at(-1, 0.5)], steps(3, 0.1, 0.2, 0.3), [at(-60, 0.9, NOW - timedelta(minutes=30)), at(-1, 0.1)]],
    ids=["nothing", "one reading", "six minutes", "the rest is of the cycle before"],
)
def test_too_little_is_said_to_be_so(readings):
    found = forecast(readings, NOW)

    assert (State.NOT_ENOUGH_DATA, None, None, None) == (found.state, found.pace, found.at, found.used_at_reset)


def test_spent_window_says_since_when():
    found = forecast(steps(10, 0.8, 1.0, 1.0), NOW)

    assert (State.SPENT, NOW - timedelta(minutes=10), 1.0) == (found.state, found.at, found.used_at_reset)


def test_reset_after_the_last_reading_leaves_nothing_known():
    found = forecast(steps(10, 0.2, 0.4, 0.6), RESET)

    assert (State.PAST_RESET, None, None) == (found.state, found.at, found.used_at_reset)


@pytest.mark.parametrize(
    "earlier",
    [
        [at(-300, 0.1, NOW - timedelta(hours=1)), at(-70, 0.9, NOW - timedelta(hours=1))],
        [at(-300, 0.1), at(-70, 0.9)],
    ],
    ids=["the reset moved", "use fell"],
)
def test_earlier_cycles_do_not_count(earlier):
    own = steps(15, 0.1, 0.2, 0.3)

    assert forecast(own, NOW) == forecast([*earlier, *own], NOW)


def test_wobbling_resets_and_rounding_are_one_cycle():
    readings = [at(-40, 0.30), at(-20, 0.29, RESET + timedelta(seconds=80)), at(0, 0.3)]

    assert 3 == len(current_cycle(readings, NOW))


def test_silence_counts_as_idle_and_known_turns_do_not():
    readings = [at(-120, 0.2), at(-60, 0.6)]
    silent, busy = forecast(readings, NOW), forecast(readings, NOW, turns=20, rate=0.01)

    assert (0.1, 0.25) == (pytest.approx(silent.pace), pytest.approx(busy.pace))
    assert (0.6, 0.6) == (silent.used, busy.used)  # what was read, not what is guessed
    assert busy.at > NOW


def test_clock_that_went_back_and_broken_numbers_are_left_out():
    good = steps(15, 0.1, 0.2, 0.3)
    bad = [at(600, 0.9), at(-20, math.nan), at(-18, math.inf), at(-10, 0.5), at(-10, 0.2)]

    assert [good[0], good[2]] == current_cycle([good[0], at(1, 0.9), good[2]], NOW)
    assert State.STEADY is forecast([*good[:1], *bad, *steps(6, 0.1, 0.1, 0.1)], NOW).state


def test_long_horizon_looks_at_the_whole_week_and_a_short_one_at_the_last_hour():
    idle_then_busy = [at(-72 * 60, 0.0), at(-60, 0.3), at(-30, 0.35), at(0, 0.4)]
    far = [Reading(one.at, one.used, NOW + timedelta(days=4)) for one in idle_then_busy]

    assert 0.1 == pytest.approx(forecast([Reading(r.at, r.used, RESET - timedelta(hours=1)) for r in far], NOW).pace)
    assert 0.4 / 72 == pytest.approx(forecast(far, NOW).pace)


def test_uneven_use_widens_the_band():
    even = forecast(steps(30, *[0.01 * n for n in range(9)]), NOW)
    uneven = forecast(steps(30, 0, 0, 0, 0.04, 0.04, 0.04, 0.04, 0.06, 0.08), NOW)

    assert uneven.used_at_reset_high - uneven.used > even.used_at_reset_high - even.used


def test_json_has_null_for_unknown():
    found = forecast_to_json(forecast([at(-1, 0.5)], NOW))

    assert ("not-enough-data", 0.5, None, None) == tuple(
        found[key] for key in ("state", "used", "dry_at", "used_at_reset")
    )


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([], "not enough data"),
        (steps(10, 0.8, 1.0), "exhausted"),
        (steps(15, 0.2, 0.3, 0.4, 0.5, 0.6), "runs out 2026-03-04 13:00Z"),
        (steps(15, 0.2, 0.2), "lasts: 20 % at the reset"),
    ],
    ids=["unknown", "spent", "dry", "steady"],
)
def test_text_says_it_in_words(readings, expected):
    assert forecast_text(forecast(readings, NOW)).startswith(expected)


uses = st.one_of(st.floats(0, 1), st.sampled_from([math.nan, math.inf, -1.0, 2.0]))
any_reading = st.builds(
    lambda minutes, used, reset: at(minutes, used, NOW + timedelta(minutes=reset)),
    st.integers(-6000, 60),
    uses,
    st.sampled_from([-30, 240, 241, 6000]),
)


@given(st.lists(any_reading, max_size=12), st.none() | st.integers(0, 50))
def test_any_history_gives_an_ordered_answer(readings, turns):
    found = forecast(readings, NOW, turns=turns, rate=0.01)
    uses = (found.used, found.used_at_reset_low, found.used_at_reset, found.used_at_reset_high)
    instants = [instant for instant in (found.earliest, found.at, found.latest) if instant is not None]

    assert all(one <= other for one, other in pairwise([*filter(lambda use: use is not None, uses), 1.0]))
    assert sorted(instants) == instants
    assert (found.state in (State.RUNS_DRY, State.SPENT)) == (found.at is not None)


def test_nothing_runs_out_by_a_pace_that_may_be_rounding():
    later = NOW + timedelta(days=60)
    states = [forecast(steps(30, 0.0, used, resets_at=later), NOW).state for used in (0.005, 0.01)]

    assert [State.NOT_ENOUGH_DATA, State.RUNS_DRY] == states
