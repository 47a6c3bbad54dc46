"""Forecasts and their scores for stored windows, and the alerts that follow from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from oulipoly_engine.core.accounts.accounts import Model
from oulipoly_engine.core.quota.alerts import WindowAlert, alerts, needs_forecast
from oulipoly_engine.core.quota.burn import pool_rates, rate_of
from oulipoly_engine.core.quota.forecast import Forecast, Reading, forecast
from oulipoly_engine.core.quota.forecast_score import ForecastScore, score
from oulipoly_engine.core.quota.pool_forecast import PoolAccount, PoolForecast, PoolWindow, forecast_pool
from oulipoly_engine.core.quota.window_cycles import EndedCycle
from oulipoly_engine.core.quota.windows import QuotaState, Window, mark_holds
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import alerts as alert_rows
from oulipoly_engine.store.quota import controls, quotas, readings

_RECENT = timedelta(days=8)  # the longest window, and a day
_SCORED = timedelta(days=60)


class WindowForecast(Record):
    """One window with what is expected of it."""

    account: str
    window: Window
    refreshed_at: datetime | None
    forecast: Forecast
    score: ForecastScore | None  # None: not asked for
    ended: tuple[EndedCycle, ...] = ()  # past cycles with what they left unused, oldest first


def forecasts(store: Store, names: Sequence[str], now: datetime, *, scored: bool = False) -> tuple[WindowForecast, ...]:
    """Return a forecast for every stored window of the accounts, in their order.

    scored: also replay the stored history and say how far off we would have been.
    """
    states = quotas.states(store, names)
    return tuple(
        _forecast(store, state, window, now, scored=scored) for state in states.values() for window in state.windows
    )


def pool_forecasts(
    store: Store, models: Iterable[Model], known: Collection[str], now: datetime
) -> tuple[PoolForecast, ...]:
    """Return until when each model's pool has quota, of the accounts that may serve it. known: the configured ones."""
    expected: dict[tuple[str, str], Forecast] = {}
    return tuple(_forecast_pool(store, model, known, now, expected) for model in models)


def _forecast_pool(
    store: Store, model: Model, known: Collection[str], now: datetime, expected: dict[tuple[str, str], Forecast]
) -> PoolForecast:
    """Return a pool's forecast. expected: those of windows, so that accounts of several pools are judged once."""
    names = tuple(dict.fromkeys(member.account for member in model.members if member.account in known))
    wishes = controls.of(store, names)
    states = quotas.states(store, [name for name in names if not wishes[name].disabled and not wishes[name].drained])
    rates = pool_rates(states.values())
    accounts: list[PoolAccount] = []
    for name, state in states.items():
        windows: list[PoolWindow] = []
        for window in state.windows:
            if (name, window.name) not in expected:
                expected[name, window.name] = _expect(store, name, window, now)
            rate, _source = rate_of(window, state.refreshed_at, rates)
            windows.append(PoolWindow(window, expected[name, window.name], rate))
        accounts.append(PoolAccount(name, tuple(windows), wishes[name].reserve, mark_holds(state, now)))
    return forecast_pool(model.name, accounts, now)


def due_alerts(store: Store, names: Sequence[str], now: datetime, threshold: float) -> tuple[WindowAlert, ...]:
    """Return every alert that holds now, whether it has been raised before or not; none of accounts that are off."""
    wishes = controls.of(store, names)
    enabled = [name for name in names if not wishes[name].disabled]
    return find_alerts(store, quotas.states(store, enabled).values(), now, threshold)


def find_alerts(store: Store, states: Iterable[QuotaState], now: datetime, threshold: float) -> tuple[WindowAlert, ...]:
    """Return every alert that holds now for accounts whose quota is known."""
    alerted: list[WindowAlert] = []
    raised = alert_rows.find_raised(store, now, threshold)
    for state in states:
        told = raised.get(state.account, ())
        windows = [window for window in state.windows if window.resets_at > now and needs_forecast(window, told)]
        expected = {window.name: _expect(store, state.account, window, now) for window in windows}
        alerted.extend(alerts(state, expected, now, threshold, told))
    return tuple(alerted)


def _forecast(store: Store, state: QuotaState, window: Window, now: datetime, *, scored: bool) -> WindowForecast:
    past = _history(store, state.account, window.name, now - _SCORED) if scored else ()
    left = readings.find_unused_quota(store, state.account, now - _SCORED) if scored else ()
    return WindowForecast(
        account=state.account,
        window=window,
        refreshed_at=state.refreshed_at,
        forecast=_expect(store, state.account, window, now),
        score=score(past) if scored else None,
        ended=tuple(one for one in left if one.window == window.name),
    )


def _expect(store: Store, account: str, window: Window, now: datetime) -> Forecast:
    return forecast(_history(store, account, window.name, now - _RECENT), now)


def _history(store: Store, account: str, window: str, since: datetime) -> tuple[Reading, ...]:
    return tuple(Reading(one.at, one.used, one.resets_at) for one in readings.history(store, account, window, since))
