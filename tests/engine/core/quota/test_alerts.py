"""What is said about windows that are nearly spent or will not last."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.quota.alerts import WindowAlert, alerts
from oulipoly_engine.core.quota.forecast import Forecast, Reading, State, forecast
from oulipoly_engine.core.quota.windows import QuotaState, Window

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
RESET = NOW + timedelta(hours=5)
DRY_AT = NOW + timedelta(hours=2)
DRY = Forecast(State.RUNS_DRY, at=DRY_AT, chance=0.8)
PERHAPS_DRY = Forecast(State.RUNS_DRY, at=DRY_AT, chance=0.79)


def found(used, forecast=None, *, resets_at=RESET, **more):
    state = QuotaState("a", (Window(0, used, resets_at, label="weekly"),))
    return alerts(state, {} if forecast is None else {"weekly": forecast}, NOW, **more)


@pytest.mark.parametrize(
    ("used", "forecast", "expected"),
    [
        (0.9, None, WindowAlert("threshold", "a", "weekly", 0.9, RESET)),
        (0.9, Forecast(State.STEADY), WindowAlert("threshold", "a", "weekly", 0.9, RESET)),
        (0.9, DRY, WindowAlert("threshold", "a", "weekly", 0.9, RESET, DRY_AT)),
        (0.75, DRY, WindowAlert("forecast", "a", "weekly", 0.75, RESET, DRY_AT)),
        (1.0, Forecast(State.SPENT, at=DRY_AT), WindowAlert("threshold", "a", "weekly", 1.0, RESET)),
    ],
    ids=["at 90 %", "at 90 % and steady", "at 90 % and running dry", "running dry", "spent"],
)
def test_window_is_worth_a_word(used, forecast, expected):
    assert (expected,) == found(used, forecast)


@pytest.mark.parametrize(
    ("used", "forecast"),
    [
        (0.899, None),
        (0.1, Forecast(State.STEADY)),
        (0.1, Forecast(State.NOT_ENOUGH_DATA, at=DRY_AT)),
        (0.8, PERHAPS_DRY),
        (0.749, DRY),
    ],
    ids=["below 90 %", "lasts", "nobody knows", "nobody can be sure", "a quarter is left"],
)
def test_window_that_lasts_is_worth_none(used, forecast):
    assert () == found(used, forecast)


def test_threshold_is_the_caller_s():
    assert ["threshold"] == [alert.kind for alert in found(0.5, threshold=0.5)]
    assert () == found(0.95, threshold=0.96)


@pytest.mark.parametrize("used", [0.01, 0.8])
def test_two_readings_of_a_percent_are_worth_none(used):
    reset = NOW + timedelta(days=6, hours=23)
    readings = [Reading(NOW - timedelta(minutes=12), used - 0.01, reset), Reading(NOW, used, reset)]
    expected = forecast(readings, NOW)

    assert State.RUNS_DRY is expected.state
    assert () == found(used, expected, resets_at=reset)


@pytest.mark.parametrize(
    ("used", "forecast", "kind", "holds"),
    [
        (0.885, None, "threshold", True),
        (0.875, None, "threshold", False),
        (0.885, None, "forecast", False),
        (0.5, PERHAPS_DRY, "forecast", True),
        (0.5, PERHAPS_DRY, "threshold", False),
        (0.5, Forecast(State.STEADY), "forecast", False),
    ],
)
def test_alert_that_was_raised_holds_until_it_is_plainly_over(used, forecast, kind, holds):
    assert holds is bool(found(used, forecast, raised={("weekly", kind)}))


@given(
    steps=st.lists(st.sampled_from([0.0, 0.01, 0.02]), min_size=2, max_size=20),
    jitter=st.lists(st.sampled_from([-0.005, 0.0, 0.005]), min_size=20, max_size=20),
)
def test_readings_that_go_up_and_down_by_a_point_raise_no_alert_twice(steps, jitter):
    used, raised, begun = 0.85, set(), []
    for step, error in zip(steps, jitter, strict=False):
        used = min(1.0, used + step)
        alert = found(used + error, raised=raised)
        begun.append(bool(alert))
        raised |= {(one.window, one.kind) for one in alert}

    assert begun == sorted(begun)


def test_window_that_has_reset_is_worth_none():
    assert () == found(1.0, resets_at=NOW)
    assert 1 == len(found(1.0, resets_at=NOW + timedelta(seconds=1)))


def test_each_window_is_told_by_its_own_forecast_and_name():
    state = QuotaState("a", (Window(0, 0.8, RESET, label="5h"), Window(1, 0.8, RESET), Window(2, 0.95, RESET)))

    assert ["window-1", "window-2"] == [alert.window for alert in alerts(state, {"window-1": DRY}, NOW)]


@pytest.mark.parametrize(
    ("dry_at", "text"),
    [
        (None, "a weekly is 91 % used, resets 2026-11-20T17:00Z"),
        (
            DRY_AT,
            "a weekly is 91 % used, runs out about 2026-11-20T14:00Z at this pace, resets 2026-11-20T17:00Z",
        ),
    ],
    ids=["lasts", "runs dry"],
)
def test_alert_is_one_sentence(dry_at, text):
    assert text == WindowAlert("threshold", "a", "weekly", 0.912, RESET, dry_at).text


def test_alert_as_json_has_null_where_nobody_can_tell():
    alert = WindowAlert("threshold", "a", "weekly", 0.912, RESET)

    assert alert.to_json() == {
        "kind": "threshold",
        "account": "a",
        "window": "weekly",
        "used": 0.912,
        "resets_at": "2026-11-20T17:00:00.000000Z",
        "dry_at": None,
        "text": "a weekly is 91 % used, resets 2026-11-20T17:00Z",
    }


def test_alert_as_json_tells_when_the_window_runs_dry():
    assert "2026-11-20T14:00:00.000000Z" == WindowAlert("forecast", "a", "5h", 0.2, RESET, DRY_AT).to_json()["dry_at"]
