"""What is asked and ordered about quota: reading it, its alerts, its forecasts and how it burned.

Every method blocks and may be called from any thread; each closes this thread's connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from oulipoly_engine.core.quota import usage_table
from oulipoly_engine.core.quota.alerts import WindowAlert
from oulipoly_engine.core.quota.usage_table import AccountUsage
from oulipoly_engine.core.quota.windows import DEFAULT_THRESHOLD
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.facade.base.files import check_account
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.records import Record
from oulipoly_engine.service.quota.burn_history import BurnHistory, read_burn_history
from oulipoly_engine.service.quota.forecasting import WindowForecast
from oulipoly_engine.service.quota.refresh import Kind, Refresher, RefreshOptions, RefreshResult
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import quotas

# ruff: noqa: PLC0415 - each question has modules of its own, and a face asks one or two of them

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.accounts import Account, Model
    from oulipoly_engine.core.balance.decision import Decision
    from oulipoly_engine.core.quota.pool_forecast import PoolForecast
    from oulipoly_engine.core.quota.windows import QuotaState

__all__ = ["BurnHistory", "Kind", "RefreshResult", "WindowForecast"]

Waiting = Callable[[int], AbstractContextManager[Callable[[object], None]]]  # of so many; is told of each that ended

_STATES = {
    Kind.NO_SCRIPT: usage_table.NO_USAGE_API,
    Kind.IN_FLIGHT: usage_table.IN_FLIGHT,
    Kind.DISABLED: "(disabled)",
}


class QuotaCheck(Record):
    """How quota stands, from what is stored."""

    at: datetime
    states: Mapping[str, QuotaState]  # by account
    decisions: tuple[Decision, ...]  # a model each: the choice that its next run would get
    alerts: tuple[WindowAlert, ...]  # all that hold, whether told before or not


class Quota(Part):
    """The quota of one user's accounts."""

    def names(self, asked: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the accounts that are asked for, all by default. Raises AccountUnusable for one that is unknown."""
        accounts = self._home.files.accounts()
        for name in asked:
            check_account(accounts, name)
        return tuple(asked or accounts)

    def refresh(self, asked: Sequence[str] = (), progress: Waiting | None = None) -> tuple[RefreshResult, ...]:
        """Read accounts' quota now, all that have a source by default; QuotaRefreshed goes out as each one ends."""
        self._home.refuse_if_read_only("read quota")
        names = self.names(asked)
        with self._home.lend_store() as store:
            reader = self._reader(store)
            return _read(
                reader, [name for name in names if asked or reader.source(name)], RefreshOptions(insist=True), progress
            )

    def refresh_for_display(self, due: Sequence[str], since: datetime) -> tuple[RefreshResult, ...]:
        """Read accounts that are shown and were found due at an instant; whom another process has read since is not.

        due: see `AccountView.is_due`.
        """
        self._home.refuse_if_read_only("read quota")
        with self._home.lend_store() as store:
            return self._reader(store).refresh(due, RefreshOptions(unless_since=since))

    def read_usage(self, asked: Sequence[str] = (), progress: Waiting | None = None) -> tuple[AccountUsage, ...]:
        """Read accounts, all that a model names by default; return what their windows show or why they do not, by name.

        Raises AccountUnusable for one that is unknown.
        """
        home, files = self._home, self._home.files
        accounts = files.accounts()
        names = self.names(asked) if asked else self._list_pool_accounts(files.models(), accounts)
        with home.lend_store() as store:
            done = _read(self._reader(store), names, RefreshOptions(derive=False, insist=True), progress)
        return tuple(_usage(accounts[result.account], result) for result in done)

    def check(self, names: Sequence[str], threshold: float) -> QuotaCheck:
        """Return how accounts and all pools stand. threshold: 0..1, from which use on there is an alert."""
        from oulipoly_engine.service.quota.choose import candidates, decide_among
        from oulipoly_engine.service.quota.forecasting import due_alerts

        files, now = self._home.files, self._home.now()
        with self._home.lend_store_to_read() as store:
            alerts = due_alerts(store, names, now, threshold)
            models, accounts, settings = files.models(), files.accounts(), files.settings()
            pools = ((model, candidates(store, model, now, accounts)) for model in models.values())
            decisions = tuple(decide_among(store, model, pool, settings, now) for model, pool in pools)
            return QuotaCheck(now, quotas.states(store, names), decisions, alerts)

    def forecasts(self, names: Sequence[str]) -> tuple[WindowForecast, ...]:
        """Return what is expected of every stored window, and how far off such forecasts have been."""
        from oulipoly_engine.service.quota.forecasting import forecasts

        with self._home.lend_store_to_read() as store:
            return forecasts(store, names, self._home.now(), scored=True)

    def pool_forecasts(self) -> tuple[PoolForecast, ...]:
        """Return until when each pool has quota."""
        from oulipoly_engine.service.quota.forecasting import pool_forecasts

        files = self._home.files
        with self._home.lend_store_to_read() as store:
            return pool_forecasts(store, files.models().values(), files.accounts(), self._home.now())

    def raise_alerts(
        self, asked: Sequence[str] = (), threshold: float = DEFAULT_THRESHOLD, *, audience: str = ""
    ) -> tuple[WindowAlert, ...]:
        """Return what nobody has been told of in this cycle, and publish AlertRaised. Nothing in read-only mode.

        audience: who is told elsewhere than at the screen; what they were told is news at the screen still.
        """
        from oulipoly_engine.service.quota.alerts import raise_alerts

        home = self._home
        if home.read_only:
            return ()
        names = self.names(asked)
        with home.lend_store() as store:
            return raise_alerts(store, names, home.now(), threshold, home.listeners, audience)

    def withdraw_alerts(self, untold: Sequence[WindowAlert], threshold: float) -> None:
        """Take raised alerts back that nobody could be told of: they are raised again the next time."""
        from oulipoly_engine.store.quota import alerts

        with self._home.lend_store() as store:
            alerts.withdraw(store, untold, threshold)

    def burn_history(self, account: str, window: str, back: timedelta, ahead: timedelta, steps: int) -> BurnHistory:
        """Return how a window burned and what is expected of it, in at most `steps` points."""
        with self._home.lend_store_to_read() as store:
            return read_burn_history(store, account, window, self._home.now(), back, ahead, steps)

    def _reader(self, store: Store) -> Refresher:
        home = self._home
        return home.wiring.refresher(store, home.files.accounts(), home.files.scripts(), home.listeners)

    def _list_pool_accounts(self, models: Mapping[str, Model], accounts: Mapping[str, Account]) -> Sequence[str]:
        """Return the distinct accounts of all pools, sorted; one that is not configured is warned of and left out."""
        found: set[str] = set()
        for model in models.values():
            for member in model.members:
                if member.account in accounts:
                    found.add(member.account)
                else:
                    self._home.note(
                        f"Warning: model {model.name} names the account {member.account}, "
                        "which is not in providers.toml"
                    )
        return sorted(found)


def _read(
    reader: Refresher, names: Sequence[str], wish: RefreshOptions, progress: Waiting | None
) -> tuple[RefreshResult, ...]:
    if progress is None:
        return reader.refresh(names, wish)
    with progress(len(names)) as step:
        return reader.refresh(names, wish, step)


def _usage(account: Account, done: RefreshResult) -> AccountUsage:
    vendor = usage_table.vendor_of(None if account.command is None else redact(account.command))
    state = _STATES.get(done.kind)
    warning = usage_table.not_committed(done.text or "") if done.kind is Kind.NOT_STORED else None
    if done.kind in (Kind.FAILED, Kind.BACKING_OFF):
        state = usage_table.format_failure(done.text or "")
    return AccountUsage(account.name, vendor, done.windows, state, warning)
