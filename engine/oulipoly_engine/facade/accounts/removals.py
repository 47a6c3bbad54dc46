"""An account on its way out: its files, and with them its home and its key if this program has made them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.config.edit import account_edit
from oulipoly_engine.config.edit.undo import Step
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.errors import AccountBusy, HomeUnusable, RequestRefused
from oulipoly_engine.facade.accounts.base import AccountPart, refuse_if_running
from oulipoly_engine.records import replace
from oulipoly_engine.service.accounts import keyring_entries, new_account, removed_homes, setup
from oulipoly_engine.service.accounts.removed_homes import RemovedHome


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

    def plan_deletion(self, step: Step, account: str, home: Path, entry: str) -> Step:
        """Return a removal that notes what is to be deleted after it. entry: of its key; empty: it has none."""
        note = removed_homes.plan_note(self._home.paths.removed_homes, RemovedHome(account, home, entry))
        return replace(step, files=(*step.files, note))

    @contextmanager
    def hold_deletion(self, step: Step) -> Iterator[None]:
        """Keep the note of a removal for the block that deletes: where that is killed, the next start goes on."""
        with removed_homes.hold_note(step.files[-1].path, waits=True):
            yield

    def finish_deletions(self) -> list[str]:
        """Delete what killed removals have left, and return a sentence for each home.

        A home that an account has again stays. Raises RunnerError.
        """
        paths, accounts = self._home.paths, self.names()
        sentences = []
        for note in removed_homes.find_notes(paths.removed_homes):
            if os.path.lexists(paths.configuration_journal):  # that removal may be taken back yet
                break
            with removed_homes.hold_note(note, waits=False) as removed:
                if removed is not None and not self._find_users(removed.home, accounts):
                    sentences.append(self._finish_deletion(removed))
        return sentences

    def _finish_deletion(self, removed: RemovedHome) -> str:
        problems = []
        try:
            if removed.entry:
                self.delete_key(removed.entry)
        except RequestRefused as error:
            problems.append(error.message)
        try:
            self.delete_home(removed.home)
        except OSError as error:
            problems.append(f"{error.filename or removed.home} cannot be deleted: {error.strerror}")
        done = f"The removal of {removed.account} was cut off, and is finished: {removed.home} is deleted"
        return "; ".join([f"The removal of {removed.account} was cut off", *problems]) if problems else done

    def _find_users(self, home: Path, accounts: Mapping[str, Account]) -> tuple[str, ...]:
        """Return which of some accounts use a home."""
        scripts = self._home.quiet_files.scripts()
        folders = setup.used_folders(accounts, scripts, self._home.paths.home)
        return tuple(name for folder, name in folders.items() if folder.is_relative_to(home.resolve()))

    def refuse_if_used(self, account: str, place: Path) -> None:
        """Refuse to delete an account's home while a run goes on, or where another account uses it.

        Raises RequestRefused, StoreUnusable.
        """
        others = {name: one for name, one in self.names().items() if name != account}
        for name in self._find_users(place, others):
            raise HomeUnusable(f"{place} is the home of the account {name!r} too: leave --delete-home out")
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
