"""Which alerts have been raised, so that each is raised once in a window's cycle by all our processes together."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota.alerts import DEFAULT_THRESHOLD, Alert
from oulipoly_engine.store.base.db import Store

_OF_KIND = "account = ? AND window = ? AND kind = ?"
# Vendors' resets wobble by seconds between readings, and those of some windows move along with the clock: a reset that
# lies nearer to the one told of than that one lies ahead is of the same cycle.
_WOBBLE_MS = 60_000
_SAME_CYCLE = "ABS(resets_at_ms - ?) <= MAX(?, resets_at_ms - ?)"


def raise_once(
    store: Store, found: Iterable[Alert], now: datetime, threshold: float = DEFAULT_THRESHOLD
) -> tuple[Alert, ...]:
    """Return those alerts that nobody has raised in this cycle at this threshold, and note that they have been now."""
    with store.write():
        fresh = tuple(alert for alert in found if not _is_raised(store, alert, now, threshold))
        for alert in fresh:
            store.insert(
                "alerts",
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
            store.execute(
                f"DELETE FROM alerts WHERE {_OF_KIND} AND resets_at_ms = ?",  # noqa: S608 - a constant
                (*_of_kind(alert, threshold), _ms(alert.resets_at)),
            )


def _is_raised(store: Store, alert: Alert, now: datetime, threshold: float) -> bool:
    rows = store.rows(
        f"SELECT 1 FROM alerts WHERE {_OF_KIND} AND {_SAME_CYCLE}",  # noqa: S608 - constants
        (*_of_kind(alert, threshold), _ms(alert.resets_at), _WOBBLE_MS, _ms(now)),
    )
    return bool(rows)


def _of_kind(alert: Alert, threshold: float) -> tuple[object, ...]:
    return alert.account, alert.window, _kind(alert, threshold)


def _kind(alert: Alert, threshold: float) -> str:
    is_usual = alert.kind != "threshold" or threshold == DEFAULT_THRESHOLD
    return alert.kind if is_usual else f"{alert.kind} {threshold:g}"


def _ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)
