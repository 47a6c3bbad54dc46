"""Raise what is worth an alert: once in a window's cycle by all our processes together, as events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from oulipoly_engine.core.quota.alerts import WindowAlert
from oulipoly_engine.events import AlertRaised, Listeners
from oulipoly_engine.service.quota.forecasting import due_alerts
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import alerts


def raise_alerts(
    store: Store, names: Sequence[str], now: datetime, threshold: float, listeners: Listeners, audience: str = ""
) -> tuple[WindowAlert, ...]:
    """Publish an AlertRaised for each alert of these accounts that nobody has raised in this cycle, and return them.

    Each threshold has alerts of its own: one at 50 % does not swallow one at 95 %.

    threshold: 0..1. audience: as in `raise_once`. To be called only where somebody listens: an alert counts as raised
    afterwards. Raises StoreUnusable, and then nothing was raised.
    """
    due = due_alerts(store, names, now, threshold)
    fresh = alerts.raise_once(store, due, now, threshold, audience) if due else ()
    for alert in fresh:
        listeners.publish(_event(alert, now))
    return fresh


def _event(alert: WindowAlert, now: datetime) -> AlertRaised:
    return AlertRaised(
        now, alert.kind, alert.account, alert.window, alert.used, alert.resets_at, alert.dry_at, alert.text
    )
