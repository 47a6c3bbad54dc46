"""What is asked and ordered about quota: reading it, its alerts, how it burned and who burned it.

Every method blocks and may be called from any thread; each closes this thread's connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from oulipoly_engine.core.quota.alerts import DEFAULT_THRESHOLD
from oulipoly_engine.core.quota.staleness import is_stale
from oulipoly_engine.facade.files import check_account
from oulipoly_engine.facade.home import Home
from oulipoly_engine.service.quota.forecasting import WindowForecast
from oulipoly_engine.service.quota.refresh import Refreshed, Refresher, Wish
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import quotas

# ruff: noqa: PLC0415 - each question has modules of its own, and a face asks one or two of them

if TYPE_CHECKING:
    from oulipoly_engine.service.ledger.consumers import Burner, Burners
    from oulipoly_engine.service.quota.burn_history import Burning

__all__ = [
    "Burner",
    "Burners",
    "Burning",
    "Quota",
    "Refreshed",
    "WindowForecast",
]  # those of the ledger are types alone


class Quota:
    """The quota of one user's accounts."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def refresh(self, names: Sequence[str] = ()) -> tuple[Refreshed, ...]:
        """Read accounts' quota now, all that have a source by default; QuotaRefreshed goes out as each one ends."""
        home = self._home
        home.refuse_if_read_only("read quota")
        accounts = home.files.accounts()
        for name in names:
            check_account(accounts, name)
        with home.stored() as store:
            reader = self._reader(store)
            asked = names or [name for name in accounts if reader.source(name)]
            return reader.refresh(asked, Wish(insist=True))

    def refresh_for_display(self) -> tuple[Refreshed, ...]:
        """Read the accounts whose reading is too old to be shown; one that failed lately is left alone."""
        home, now = self._home, self._home.now()
        home.refuse_if_read_only("read quota")
        with home.stored() as store:
            reader = self._reader(store)
            states = quotas.states(store, tuple(home.files.accounts()))
            old = [name for name, state in states.items() if is_stale(state, now) and reader.source(name) is not None]
            return reader.refresh(old, Wish(unless_since=now))

    def raise_alerts(self) -> None:
        """Publish AlertRaised for what nobody has been told of in this cycle. Nothing in read-only mode."""
        from oulipoly_engine.service.quota.alerts import raise_alerts

        home = self._home
        if home.read_only:
            return
        names = tuple(home.files.accounts())
        with home.stored() as store:
            raise_alerts(store, names, home.now(), DEFAULT_THRESHOLD, home.listeners)

    def burning(self, account: str, window: str, back: timedelta, ahead: timedelta, steps: int) -> Burning:
        """Return how a window burned and what is expected of it, in at most `steps` points."""
        from oulipoly_engine.service.quota.burn_history import burning

        with self._home.stored() as store:
            return burning(store, account, window, self._home.now(), back, ahead, steps)

    def burners(self, account: str, since: datetime, until: datetime) -> Burners:
        """Return which sessions, projects and models burned an account's quota between two instants."""
        from oulipoly_engine.service.ledger.consumers import burners

        home = self._home
        with home.stored() as store:
            return burners(store, home.paths, account, since, until, may_write=not home.read_only)

    def _reader(self, store: Store) -> Refresher:
        home = self._home
        return home.wiring.refresher(store, home.files.accounts(), home.files.scripts(), home.listeners)
