"""Which alerts have been raised, so that each is raised once in a window's cycle by all our processes together."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota.alerts import DEFAULT_THRESHOLD, Alert
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import greatest
from oulipoly_engine.store.base.orm import Expression, fn
from oulipoly_engine.store.models.quota import AlertRow

# Vendors' resets wobble by seconds between readings, and those of some windows move along with the clock: a reset that
# lies nearer to the one told of than that one lies ahead is of the same cycle.
_WOBBLE_MS = 60_000


def raise_once(
    store: Store, found: Iterable[Alert], now: datetime, threshold: float = DEFAULT_THRESHOLD
) -> tuple[Alert, ...]:
    """Return those alerts that nobody has raised in this cycle at this threshold, and note that they have been now."""
    with store.write():
        fresh = tuple(alert for alert in found if not _is_raised(store, alert, now, threshold))
        for alert in fresh:
            store.insert(
                AlertRow,
                account=alert.account,
                window=alert.window,
                kind=_kind(alert, threshold),
                resets_at_ms=_ms(alert.resets_at),
                raised_at=to_text(now),
            )
    return fresh


def withdraw(store: Store, raised: Iterable[Alert], threshold: float = DEFAULT_THRESHOLD) -> None:
    """Forget that alerts were raised: nobody could be told of them."""
    found = tuple(raised)
    if not found:
        return
    with store.write():
        for alert in found:
            of_kind = _of_kind(alert, threshold)
            store.run(AlertRow.delete().where(of_kind, AlertRow.resets_at_ms == _ms(alert.resets_at)))


def _is_raised(store: Store, alert: Alert, now: datetime, threshold: float) -> bool:
    told, resets_at = AlertRow.resets_at_ms, _ms(alert.resets_at)
    is_same_cycle = fn.ABS(told - resets_at) <= greatest(_WOBBLE_MS, told - _ms(now))
    return bool(store.rows(AlertRow.select(told).where(_of_kind(alert, threshold), is_same_cycle)))


def _of_kind(alert: Alert, threshold: float) -> Expression:
    row = AlertRow
    return (row.account == alert.account) & (row.window == alert.window) & (row.kind == _kind(alert, threshold))


def _kind(alert: Alert, threshold: float) -> str:
    is_usual = alert.kind != "threshold" or threshold == DEFAULT_THRESHOLD
    return alert.kind if is_usual else f"{alert.kind} {threshold:g}"


def _ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)
