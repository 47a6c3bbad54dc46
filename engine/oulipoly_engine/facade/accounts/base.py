"""What the parts of the facade for accounts share: the accounts that are configured, their homes and pools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.config.edit import account_edit
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.table import recognise_cli
from oulipoly_engine.errors import AccountBusy
from oulipoly_engine.facade.base.files import check_account
from oulipoly_engine.facade.base.home import Part

if TYPE_CHECKING:
    from oulipoly_engine.store.base.db import Store

# ruff: noqa: PLC0415 - most parts need no state file


class AccountPart(Part):
    """A part of what is asked and ordered about accounts as part of the configuration. Every method blocks."""

    def names(self) -> Mapping[str, Account]:
        """Return the accounts that are configured, by name."""
        return self._home.quiet_files.accounts()

    def pools_of(self, account: str) -> tuple[str, ...]:
        """Return the pools that have an account."""
        return account_edit.pools_of(self._home.paths, self._models, account)

    @property
    def _models(self) -> Path:
        return self._home.models_dir or self._home.paths.models

    def _check(self, account: str) -> None:
        check_account(self.names(), account)

    def _find_home(self, account: str) -> Path | None:
        found = recognise_cli(self.names()[account], self._home.paths.home)
        if found is None or not found.variables:
            return None
        return Path(found.cli.place.home(str(found.folder)))


def refuse_if_running(store: Store, account: str, what: str) -> None:
    """Refuse what a run of an account that goes on would be lost by. what: the order, `rename the account`.

    Raises RequestRefused.
    """
    from oulipoly_engine.process.liveness import is_alive
    from oulipoly_engine.store.runs.activity import find_running

    for run in find_running(store):
        if run.account == account and (run.owner_pid is None or is_alive(run.owner_pid)):
            raise AccountBusy(f"a run of {account!r} goes on ({run.uuid}): {what} when that has ended")
