"""Quota rows: windows as last read, the exhausted mark, and what has been spent since."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from datetime import datetime

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store

_ROW = (
    "SELECT account, refreshed_at, last_empty_refresh_at, exhausted_at, calls_since_refresh, peak_live_windows,"
    " last_topology_probe_at FROM account_quotas"
)
_ATTEMPTS = (
    "SELECT account, last_attempt_at, last_failure, failures_in_a_row, backoff_until, thinned_at FROM account_quotas"
)
_WINDOWS = (
    "SELECT account, position, used, resets_at, last_delta, last_delta_turns, label, pending_delta, pending_turns"
    " FROM quota_windows"
)


def states(store: Store, accounts: Sequence[str]) -> dict[str, QuotaState]:
    """Return the quota state of each account; one never read gets a state that says so."""
    marks = ", ".join("?" * len(accounts))
    windows: dict[str, list[Window]] = {}
    with store.read():  # a refresh by another process between the two would give new windows an old age
        rows = store.rows(f"{_ROW} WHERE account IN ({marks})", accounts)
        window_rows = store.rows(f"{_WINDOWS} WHERE account IN ({marks}) ORDER BY account, position", accounts)
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
        store.execute(
            "INSERT INTO account_quotas (account, exhausted_at) VALUES (?, ?)"
            " ON CONFLICT (account) DO UPDATE SET exhausted_at = excluded.exhausted_at",
            (account, to_text(now)),
        )


def clear_exhausted(store: Store, accounts: Iterable[str]) -> None:
    """Take the mark off accounts whose windows have all been reset since."""
    names = tuple(accounts)
    if not names:
        return
    with store.write():
        marks = ", ".join("?" * len(names))
        store.execute(f"UPDATE account_quotas SET exhausted_at = NULL WHERE account IN ({marks})", names)  # noqa: S608


class Attempts(Record):
    """How reading an account has gone lately."""

    last_attempt_at: datetime | None = None
    last_failure: str | None = None  # None: the last attempt went well
    failures_in_a_row: int = 0
    backoff_until: datetime | None = None
    thinned_at: datetime | None = None


def attempts(store: Store, accounts: Sequence[str]) -> dict[str, Attempts]:
    """Return how reading each account has gone lately."""
    marks = ", ".join("?" * len(accounts))
    rows = store.rows(
        f"{_ATTEMPTS} WHERE account IN ({marks})",
        accounts,
    )
    found = {
        row[0]: Attempts(_instant(row[1]), row[2], int(row[3]), _instant(row[4]), _instant(row[5])) for row in rows
    }
    return {account: found.get(account, Attempts()) for account in accounts}


def save_attempts(store: Store, account: str, made: Attempts) -> None:
    """Set how reading an account has gone. Runs inside the caller's write transaction."""
    store.execute(
        "INSERT INTO account_quotas (account, last_attempt_at, last_failure, failures_in_a_row, backoff_until,"
        " thinned_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (account) DO UPDATE SET"
        " last_attempt_at = excluded.last_attempt_at, last_failure = excluded.last_failure,"
        " failures_in_a_row = excluded.failures_in_a_row, backoff_until = excluded.backoff_until,"
        " thinned_at = excluded.thinned_at",
        (
            account,
            _text(made.last_attempt_at),
            made.last_failure,
            made.failures_in_a_row,
            _text(made.backoff_until),
            _text(made.thinned_at),
        ),
    )


def mark_topology_probe(store: Store, account: str, now: datetime) -> None:
    """Note that an account is being read again because a window seems to hide."""
    with store.write():
        store.execute(
            "INSERT INTO account_quotas (account, last_topology_probe_at) VALUES (?, ?)"
            " ON CONFLICT (account) DO UPDATE SET last_topology_probe_at = excluded.last_topology_probe_at",
            (account, to_text(now)),
        )


def count_call(store: Store, account: str) -> None:
    """Count one finished invocation since the last refresh. Runs inside the caller's write transaction."""
    store.execute(
        "INSERT INTO account_quotas (account, calls_since_refresh) VALUES (?, 1)"
        " ON CONFLICT (account) DO UPDATE SET calls_since_refresh = calls_since_refresh + 1",
        (account,),
    )


def save(store: Store, state: QuotaState) -> None:
    """Replace an account's row and windows. Runs inside the caller's write transaction."""
    store.execute("DELETE FROM quota_windows WHERE account = ?", (state.account,))
    store.execute(
        "INSERT INTO account_quotas (account, refreshed_at, last_empty_refresh_at, exhausted_at, calls_since_refresh,"
        " peak_live_windows, last_topology_probe_at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account) DO UPDATE SET"
        " refreshed_at = excluded.refreshed_at, last_empty_refresh_at = excluded.last_empty_refresh_at,"
        " exhausted_at = excluded.exhausted_at, calls_since_refresh = excluded.calls_since_refresh,"
        " peak_live_windows = excluded.peak_live_windows, last_topology_probe_at = excluded.last_topology_probe_at",
        (
            state.account,
            _text(state.refreshed_at),
            _text(state.last_empty_refresh_at),
            _text(state.exhausted_at),
            state.calls_since_refresh,
            state.peak_live_windows,
            _text(state.last_topology_probe_at),
        ),
    )
    for window in state.windows:
        store.insert(
            "quota_windows",
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


def _instant(value: str | None) -> datetime | None:
    return None if value is None else from_text(value)


def _text(value: datetime | None) -> str | None:
    return None if value is None else to_text(value)
