"""Which alerts have been raised, so that each is raised once in a window's cycle by all our processes together."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.alerts import Alert
from oulipoly_engine.store.db import Store

_CYCLE_MS = 60_000  # vendors' resets wobble by seconds between readings


def raise_once(store: Store, found: Iterable[Alert], now: datetime) -> tuple[Alert, ...]:
    """Return those alerts that nobody has raised in this cycle, and note that they have been now."""
    with store.write():
        fresh = tuple(alert for alert in found if not _is_raised(store, alert))
        for alert in fresh:
            store.insert(
                "alerts",
                account=alert.account,
                window=alert.window,
                kind=alert.kind,
                resets_at_ms=_ms(alert.resets_at),
                raised_at=to_text(now),
            )
    return fresh


def _is_raised(store: Store, alert: Alert) -> bool:
    at = _ms(alert.resets_at)
    rows = store.rows(
        "SELECT 1 FROM alerts WHERE account = ? AND window = ? AND kind = ? AND resets_at_ms BETWEEN ? AND ?",
        (alert.account, alert.window, alert.kind, at - _CYCLE_MS, at + _CYCLE_MS),
    )
    return bool(rows)


def _ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)
