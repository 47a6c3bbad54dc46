"""Which alerts have been raised, so that each is raised once in a window's cycle by all our processes together."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota.alerts import FORECAST, THRESHOLD, WindowAlert
from oulipoly_engine.core.quota.windows import DEFAULT_THRESHOLD
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of, greatest
from oulipoly_engine.store.base.orm import Expression, Query, fn
from oulipoly_engine.store.models.quota import AlertRow

# Vendors' resets wobble by seconds between readings, and those of some windows move along with the clock: a reset that
# lies nearer to the one told of than that one lies ahead is of the same cycle.
_WOBBLE_MS = 60_000
_AUDIENCES = ("", "serve")  # who is at the screen, and who is told by a server


def raise_once(
    store: Store,
    found: Iterable[WindowAlert],
    now: datetime,
    threshold: float = DEFAULT_THRESHOLD,
    audience: str = "",
) -> tuple[WindowAlert, ...]:
    """Return those alerts that nobody has raised in this cycle at this threshold, and note that they have been now.

    audience: who is told, empty for whoever is at the screen; each has alerts of its own, all of them hold for longer.
    """
    with store.write():
        fresh = tuple(alert for alert in found if not _is_raised(store, alert, now, threshold, audience))
        for alert in fresh:
            store.insert(
                AlertRow,
                account=alert.account,
                window=alert.window,
                kind=_stored_kind(alert.kind, threshold, audience),
                resets_at_ms=_ms(alert.resets_at),
                raised_at=to_text(now),
            )
    return fresh


@compile_query
def _select_raised(now: Parameter, kinds: Parameter) -> Query:
    row = AlertRow
    return row.select(row.account, row.window, row.kind).where(row.resets_at_ms > now, row.kind.in_(each_of(kinds)))


def find_raised(
    store: Store, now: datetime, threshold: float = DEFAULT_THRESHOLD
) -> dict[str, frozenset[tuple[str, str]]]:
    """Return what has been raised in the cycles that still run: by account, each (window, kind)."""
    kinds = {_stored_kind(kind, threshold, audience): kind for kind in (THRESHOLD, FORECAST) for audience in _AUDIENCES}
    found: dict[str, set[tuple[str, str]]] = {}
    for account, window, kind in store.rows(_select_raised(_ms(now), tuple(kinds))):
        found.setdefault(account, set()).add((window, kinds[kind]))
    return {account: frozenset(told) for account, told in found.items()}


def withdraw(store: Store, raised: Iterable[WindowAlert], threshold: float = DEFAULT_THRESHOLD) -> None:
    """Forget that alerts were raised: nobody could be told of them."""
    found = tuple(raised)
    if not found:
        return
    with store.write():
        for alert in found:
            is_kind = AlertRow.kind == _stored_kind(alert.kind, threshold)
            is_cycle = AlertRow.resets_at_ms == _ms(alert.resets_at)
            store.run(AlertRow.delete().where(_of_window(alert), is_kind, is_cycle))


def _is_raised(store: Store, alert: WindowAlert, now: datetime, threshold: float, audience: str) -> bool:
    told, resets_at = AlertRow.resets_at_ms, _ms(alert.resets_at)
    is_same_cycle = fn.ABS(told - resets_at) <= greatest(_WOBBLE_MS, told - _ms(now))
    kinds = [_stored_kind(alert.kind, threshold, audience)]
    if alert.dry_at is not None and threshold == DEFAULT_THRESHOLD:
        kinds.append(
            _stored_kind(FORECAST, threshold, audience)
        )  # who was told that it runs out need not be told that it is on its way
    return bool(store.rows(AlertRow.select(told).where(_of_window(alert), AlertRow.kind.in_(kinds), is_same_cycle)))


def _of_window(alert: WindowAlert) -> Expression:
    return (AlertRow.account == alert.account) & (AlertRow.window == alert.window)


def _stored_kind(kind: str, threshold: float, audience: str = "") -> str:
    is_usual = kind != THRESHOLD or threshold == DEFAULT_THRESHOLD
    return (kind if is_usual else f"{kind} {threshold:g}") + (f" @{audience}" if audience else "")


def _ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)
