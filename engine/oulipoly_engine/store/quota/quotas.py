"""Quota rows: windows as last read, the exhausted mark, and what has been spent since."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from datetime import datetime

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.models.quota import AccountQuotaRow, QuotaWindowRow


@compile_query
def _quotas(accounts: Parameter) -> Query:
    return AccountQuotaRow.select(
        AccountQuotaRow.account,
        AccountQuotaRow.refreshed_at,
        AccountQuotaRow.last_empty_refresh_at,
        AccountQuotaRow.exhausted_at,
        AccountQuotaRow.calls_since_refresh,
        AccountQuotaRow.peak_live_windows,
        AccountQuotaRow.last_topology_probe_at,
    ).where(AccountQuotaRow.account.in_(each_of(accounts)))


@compile_query
def _windows(accounts: Parameter) -> Query:
    row = QuotaWindowRow
    return (
        row.select(
            row.account,
            row.position,
            row.used,
            row.resets_at,
            row.last_delta,
            row.last_delta_turns,
            row.label,
            row.pending_delta,
            row.pending_turns,
        )
        .where(row.account.in_(each_of(accounts)))
        .order_by(row.account, row.position)
    )


def states(store: Store, accounts: Sequence[str]) -> dict[str, QuotaState]:
    """Return the quota state of each account; one never read gets a state that says so."""
    windows: dict[str, list[Window]] = {}
    with store.read():  # a refresh by another process between the two would give new windows an old age
        rows = store.rows(_quotas(accounts))
        window_rows = store.rows(_windows(accounts))
    for account, position, used, resets_at, *learned in window_rows:
        # One that cannot be read was stored before such instants were refused: its window is as if never read.
        with contextlib.suppress(ValueError):
            windows.setdefault(account, []).append(Window(position, float(used), from_text(resets_at), *learned))
    found = {
        row[0]: QuotaState(
            account=row[0],
            windows=tuple(windows.get(row[0], ())),
            refreshed_at=_instant(row[1]),
            last_empty_refresh_at=_instant(row[2]),
            exhausted_at=_instant(row[3]),
            calls_since_refresh=int(row[4]),
            peak_live_windows=int(row[5]),
            last_topology_probe_at=_instant(row[6]),
        )
        for row in rows
    }
    return {account: found.get(account, QuotaState(account)) for account in accounts}


def mark_exhausted(store: Store, account: str, now: datetime) -> None:
    """Mark an account spent until a good refresh clears it."""
    with store.write():
        _set(store, account, exhausted_at=to_text(now))


def clear_exhausted(store: Store, accounts: Iterable[str]) -> None:
    """Take the mark off accounts whose windows have all been reset since."""
    names = tuple(accounts)
    if not names:
        return
    with store.write():
        store.run(AccountQuotaRow.update(exhausted_at=None).where(AccountQuotaRow.account.in_(each_of(names))))


class Attempts(Record):
    """How reading an account has gone lately."""

    last_attempt_at: datetime | None = None
    last_failure: str | None = None  # None: the last attempt went well
    failures_in_a_row: int = 0
    backoff_until: datetime | None = None
    thinned_at: datetime | None = None


@compile_query
def _attempts(accounts: Parameter) -> Query:
    return AccountQuotaRow.select(
        AccountQuotaRow.account,
        AccountQuotaRow.last_attempt_at,
        AccountQuotaRow.last_failure,
        AccountQuotaRow.failures_in_a_row,
        AccountQuotaRow.backoff_until,
        AccountQuotaRow.thinned_at,
    ).where(AccountQuotaRow.account.in_(each_of(accounts)))


def attempts(store: Store, accounts: Sequence[str]) -> dict[str, Attempts]:
    """Return how reading each account has gone lately."""
    found = {
        row[0]: Attempts(_instant(row[1]), row[2], int(row[3]), _instant(row[4]), _instant(row[5]))
        for row in store.rows(_attempts(accounts))
    }
    return {account: found.get(account, Attempts()) for account in accounts}


def save_attempts(store: Store, account: str, made: Attempts) -> None:
    """Set how reading an account has gone. Runs inside the caller's write transaction."""
    _set(
        store,
        account,
        last_attempt_at=_text(made.last_attempt_at),
        last_failure=made.last_failure,
        failures_in_a_row=made.failures_in_a_row,
        backoff_until=_text(made.backoff_until),
        thinned_at=_text(made.thinned_at),
    )


def mark_topology_probe(store: Store, account: str, now: datetime) -> None:
    """Note that an account is being read again because a window seems to hide."""
    with store.write():
        _set(store, account, last_topology_probe_at=to_text(now))


@compile_query
def _count_call(account: Parameter) -> Query:
    count = AccountQuotaRow.calls_since_refresh
    return AccountQuotaRow.insert({AccountQuotaRow.account: account, count: 1}).on_conflict(
        conflict_target=[AccountQuotaRow.account], update={count: count + 1}
    )


def count_call(store: Store, account: str) -> None:
    """Count one finished invocation since the last refresh. Runs inside the caller's write transaction."""
    store.run(_count_call(account))


def save(store: Store, state: QuotaState) -> None:
    """Replace an account's row and windows. Runs inside the caller's write transaction."""
    store.run(QuotaWindowRow.delete().where(QuotaWindowRow.account == state.account))
    _set(
        store,
        state.account,
        refreshed_at=_text(state.refreshed_at),
        last_empty_refresh_at=_text(state.last_empty_refresh_at),
        exhausted_at=_text(state.exhausted_at),
        calls_since_refresh=state.calls_since_refresh,
        peak_live_windows=state.peak_live_windows,
        last_topology_probe_at=_text(state.last_topology_probe_at),
    )
    for window in state.windows:
        store.insert(
            QuotaWindowRow,
            account=state.account,
            position=window.position,
            used=window.used,
            resets_at=to_text(window.resets_at),
            last_delta=window.last_delta,
            last_delta_turns=window.last_delta_turns,
            label=window.label,
            pending_delta=window.pending_delta,
            pending_turns=window.pending_turns,
        )


def _set(store: Store, account: str, **columns: object) -> None:
    """Set columns of an account's row, which is made where there is none; the others stay."""
    row = AccountQuotaRow
    kept = [getattr(row, name) for name in columns]
    store.run(row.insert(account=account, **columns).on_conflict(conflict_target=[row.account], preserve=kept))


def _instant(value: str | None) -> datetime | None:
    return None if value is None else from_text(value)


def _text(value: datetime | None) -> str | None:
    return None if value is None else to_text(value)
