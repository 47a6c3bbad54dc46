"""Until when a pool has quota, from the forecasts of its accounts' windows."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.quota.forecast import Forecast, Reading, State, forecast
from oulipoly_engine.core.quota.pool_forecast import PoolAccount, PoolWindow, forecast_pool, pool_forecast_text
from oulipoly_engine.core.quota.windows import Window

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
UNKNOWN = Forecast(State.NOT_ENOUGH_DATA)


def window(used, hours, label="weekly", pace=None, rate=0.001):
    """Return a window with a forecast of a pace, in shares an hour, whose band is the half and the double of it."""
    found = UNKNOWN
    resets_at = NOW + hours * HOUR
    if pace:
        at, earliest, latest = (NOW + (1 - used) / (pace * times) * HOUR for times in (1, 2, 0.5))
        at, earliest, latest = (None if each > resets_at else each for each in (at, earliest, latest))
        ends = [min(1.0, used + pace * times * hours) for times in (1, 0.5, 2)]
        found = Forecast(State.STEADY, NOW, used, resets_at, at, earliest, latest, pace, *ends)
    return PoolWindow(Window(0, used, resets_at, label=label), found, rate)


def account(name, *windows, **more):
    return PoolAccount(name, windows, **more)


def hours(instant):
    return None if instant is None else round((instant - NOW) / HOUR, 3)


def found(*accounts):
    pool = forecast_pool("m", accounts, NOW)
    return pool.window, hours(pool.at), hours(pool.earliest), hours(pool.latest)


@given(st.floats(0, 0.99), st.floats(0.1, 0.9))
def test_a_pool_of_one_account_has_its_account_forecast(used, share):
    readings = [Reading(NOW - 3 * HOUR, used * share, NOW + 40 * HOUR), Reading(NOW, used, NOW + 40 * HOUR)]
    alone = forecast(readings, NOW)
    pool = forecast_pool("m", [account("a", PoolWindow(Window(0, used, NOW + 40 * HOUR), alone, None))], NOW)

    expected = (alone.at, alone.earliest, alone.latest)
    if alone.state is State.RUNS_DRY:
        assert [hours(each) for each in expected] == pytest.approx(
            [hours(pool.at), hours(pool.earliest), hours(pool.latest)], abs=0.02
        )
    else:
        assert pool.at is None


def test_accounts_share_what_they_have_left():
    assert ("weekly", 20, 10, 40) == found(
        account("a", window(0.5, 100, pace=0.05)), account("b", window(0.5, 100))
    )  # 0.5 + 0.5 at 0.05 an hour


def test_a_turn_costs_more_of_a_small_plan():
    big = account("a", window(0.5, 100, pace=0.05, rate=0.001))

    assert 12.5 == found(big, account("b", window(0.5, 100, rate=0.004)))[1]


def test_what_is_left_at_a_reset_is_lost_and_all_of_it_comes_back():
    early = account("a", window(0.1, 2, pace=0.04))
    late = account("b", window(0.8, 200))

    assert 2 + (1 + 0.2) / 0.04 == found(early, late)[1]


def test_an_account_without_a_window_of_a_kind_carries_the_pool_over_it():
    short = account("a", window(0.9, 4, "5h", pace=0.2), window(0.1, 100))

    assert "5h" == found(short)[0]
    assert None is found(short, account("b", window(0.1, 100)))[0]
    assert "5h" == found(short, account("b", window(1.0, 100)))[0]


def test_an_account_whose_week_is_spent_gives_nothing_of_its_five_hours():
    spent = account("b", window(0.0, 4, "5h"), window(1.0, 100))

    assert found(account("a", window(0.5, 4, "5h", pace=0.4), window(0.1, 100))) == found(
        account("a", window(0.5, 4, "5h", pace=0.4), window(0.1, 100)), spent
    )


@pytest.mark.parametrize(
    ("accounts", "text"),
    [
        ([], "never read"),
        ([account("a")], "never read"),
        ([account("a", window(1.0, 9))], "exhausted (weekly)"),
        ([account("a", window(0.1, 9), is_exhausted=True)], "exhausted (weekly)"),
        ([account("a", window(0.5, 9))], "lasts: some account has quota until the last of the resets"),
        (
            [account("a", window(0.5, 9, pace=0.05))],
            "lasts; at the upper end of the range until 2026-11-20 17:00Z (weekly)",
        ),
        (
            [account("a", window(0.5, 9, pace=0.1))],
            "enough until 2026-11-20 17:00Z (2026-11-20 14:30Z to after the last reset, weekly)",
        ),
        ([account("a", window(0.5, 9, pace=0.1), reserve=0.5)], "exhausted (weekly)"),
        ([account("a", window(0.9, -1))], "lasts: some account has quota until the last of the resets"),
    ],
)
def test_a_pool_in_words(accounts, text):
    assert text == pool_forecast_text(forecast_pool("m", accounts, NOW))


PLANS = st.tuples(st.floats(0, 1), st.integers(1, 160), st.integers(0, 10).map(lambda pace: pace / 100))


@given(st.lists(PLANS, min_size=1, max_size=5), st.floats(0, 1))
def test_more_quota_never_ends_earlier(plans, more):
    accounts = [account(f"a{n}", window(used, left, pace=pace)) for n, (used, left, pace) in enumerate(plans)]
    at = forecast_pool("m", accounts, NOW).at
    later = forecast_pool("m", [*accounts, account("more", window(more, 160))], NOW).at

    assert None in (at, later) or at <= later + timedelta(seconds=1)
