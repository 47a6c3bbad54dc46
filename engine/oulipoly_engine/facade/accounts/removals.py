"""An account on its way out: its files, and with them its home and its key if this program has made them."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.config.edit import account_edit
from oulipoly_engine.config.edit.undo import Step
from oulipoly_engine.errors import AccountBusy, HomeUnusable
from oulipoly_engine.facade.accounts.base import AccountPart, refuse_if_running
from oulipoly_engine.service.accounts import keyring_entries, new_account, setup


class AccountRemovals(AccountPart):
    """What is removed with an account."""

    def plan(self, account: str) -> Step:
        """Return the changes that take an account out. Raises RunnerError, while a live session of it is open."""
        self._check(account)
        self._refuse_if_live(account)
        return Step(f"removed the account {account}", account_edit.remove(self._home.paths, self._models, account))

    def _refuse_if_live(self, account: str) -> None:
        from oulipoly_engine.service.live import hosts  # noqa: PLC0415 - most changes of accounts need no host
        from oulipoly_engine.store.live import live_sessions  # noqa: PLC0415

        for host in hosts.survey(self._home.paths):
            with self._home.lend_store_to_read() as store:
                sessions = live_sessions.find(store, host.session_id)
            if any(session.account == account for session in sessions):
                closes = f"`agents session close {host.session_id}`"
                raise AccountBusy(f"a live session of {account!r} is open: close it first with {closes}")

    def made_home(self, account: str) -> Path | None:
        """Return an account's home if this program has made it."""
        place = self._find_home(account)
        return place if place is not None and new_account.is_made_home(place) else None

    def keyring_entry(self, account: str) -> str | None:
        """Return the keyring's entry of an account that no other one uses."""
        places = {name: one.keyring for name, one in self.names().items() if one.keyring is not None}
        own = places.pop(account, None)
        return None if own is None or own.entry in {one.entry for one in places.values()} else own.entry

    def refuse_if_used(self, account: str, place: Path) -> None:
        """Refuse to delete an account's home while a run goes on, or where another account uses it.

        Raises RequestRefused, StoreUnusable.
        """
        others = {name: one for name, one in self.names().items() if name != account}
        scripts = self._home.quiet_files.scripts()
        for folder, name in setup.used_folders(others, scripts, self._home.paths.home).items():
            if folder.is_relative_to(place.resolve()):
                message = f"{place} is the home of the account {name!r} too: leave --delete-home out"
                raise HomeUnusable(message)
        with self._home.lend_store_to_read() as store:
            refuse_if_running(store, account, "remove it with its home")

    def delete_home(self, place: Path) -> bool:
        """Delete a home if this program has made it; return whether it has. Raises OSError."""
        return new_account.delete_made_home(place)

    def has_key(self, entry: str) -> bool:
        """Tell whether there is a key to be deleted. Raises RequestRefused for a keyring that is locked."""
        return keyring_entries.has_key(entry)

    def delete_key(self, entry: str) -> None:
        """Take a key out of the keyring. Raises RequestRefused, saying what to do."""
        keyring_entries.delete_key(entry)
