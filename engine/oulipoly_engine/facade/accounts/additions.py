"""An account on its way into the configuration: its home, its key, its first quota, and the changes that add it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.config.edit.undo import Step
from oulipoly_engine.core.accounts.clis.account_files import account_table
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.accounts.base import AccountPart
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.accounts import keyring_entries, new_account, setup
from oulipoly_engine.service.accounts.logins import LoginState
from oulipoly_engine.service.accounts.new_account import Candidate, check_name, check_pool, check_provider, find_cli

if TYPE_CHECKING:
    from oulipoly_engine.core.quota.windows import Window
    from oulipoly_engine.service.quota.keeper import Reading

# ruff: noqa: PLC0415 - most of it is done without the quota's reader

__all__ = ["CLIS", "Candidate", "check_name", "check_pool", "check_provider", "find_cli"]


class FirstQuota(Record):
    """What a new account's quota script said, before anything is stored."""

    windows: tuple[Window, ...] = ()
    failure: str | None = None  # a sentence; None: it was read, or there is nothing that could tell
    reading: Reading | None = None


class AccountAdditions(AccountPart):
    """Accounts on their way into the configuration."""

    def free_name(self, cli: str) -> str:
        """Return a name for an account of a CLI that nobody has."""
        return setup.find_free_name(cli, self.names())

    def pools(self) -> tuple[str, ...]:
        """Return the names of all pools."""
        return self._home.files.model_names()

    def suggest_pool(self, candidate: Candidate) -> str | None:
        """Return the pool of a CLI; None where somebody else has written one of that name."""
        name = candidate.cli.name
        return name if setup.may_join(self._models / f"{name}.toml") else None

    def find_usual_home(self, cli: str) -> Path | None:
        """Return the home where a CLI looks by itself, if somebody has logged in there and it is not an account yet."""
        paths, known = self._home.paths, find_cli(cli)
        place = paths.home / known.place.default
        used = setup.used_folders(self.names(), self._home.quiet_files.scripts(), paths.home)
        is_there = any((place / name).is_file() for name in known.credentials)
        return place if is_there and place.resolve() not in used else None

    def prepare(self, name: str, cli: str, home: Path | None) -> Candidate:
        """Check what a new account needs, and make its home unless one is given. Raises RunnerError."""
        self._home.refuse_if_read_only("add an account")
        accounts = self.names()
        check_name(name, accounts)
        known = find_cli(cli)
        paths = self._home.paths
        used = setup.used_folders(accounts, self._home.quiet_files.scripts(), paths.home)
        return new_account.prepare(name, known, home, paths, inherited_environment(), used)

    def discard(self, candidate: Candidate) -> None:
        """Take away what was made for an account that is not added after all, and that no file names."""
        with suppress(RunnerError):
            if candidate.name not in self.names():
                new_account.discard(candidate)

    def finish(self, candidate: Candidate) -> None:
        """Leave the home that was made for an account to it alone, now that the account is written."""
        with suppress(OSError):  # the account is there all the same
            new_account.finish(candidate)

    def find_keyring(self) -> str | None:
        """Return what the user's keyring is called; None: there is none that keeps secrets."""
        return keyring_entries.find_keyring()

    def store_key(self, candidate: Candidate, key: str, provider: str = "", *, in_keyring: bool = False) -> Candidate:
        """Put an API key into the account's home or the keyring. Raises RunnerError."""
        self._home.refuse_if_read_only("keep a key")
        return new_account.store_key(candidate, key, provider, in_keyring=in_keyring)

    def settle(self, candidate: Candidate, state: LoginState) -> Candidate:
        """Return the account with what its login tells: nobody knows the quota of an API key."""
        is_key = state.profile is not None and "key" in state.profile.method
        return replace(candidate, uses_key=candidate.uses_key or is_key)

    def read_quota(self, candidate: Candidate) -> FirstQuota:
        """Ask the quota script that the account will have; nothing is stored."""
        from oulipoly_engine.service.quota.keeper import Reading
        from oulipoly_engine.service.quota.reader import QuotaReader

        script = _quota_script(account_table(new_account.as_login(candidate, self._home.paths)))
        if script is None:
            return FirstQuota()
        begun = self._home.now()
        environ = candidate.environ  # without a key: with one there is no script
        answer = QuotaReader(self._home.paths.home, environ).read(script, None, has_windows=False)
        if answer.failure is not None:
            return FirstQuota(failure=answer.failure)
        reading = Reading(answer.windows, begun, self._home.now(), duration_s=answer.duration_s)
        return FirstQuota(tuple(window.as_window() for window in answer.windows), None, reading)

    def store_quota(self, account: str, quota: FirstQuota) -> None:
        """Keep a first reading; without a state file that can be written it is read again later."""
        from oulipoly_engine.service.quota.keeper import ReadAttempt, keep

        if quota.reading is not None:
            with self._home.lend_store() as store:
                keep(store, ReadAttempt(account, self._home.now(), quota.reading))

    def plan_addition(self, candidate: Candidate, pools: tuple[str, ...]) -> Step:
        """Return the changes that add an account. Raises RunnerError."""
        return new_account.plan_addition(candidate, pools, self._home.paths, self._models)


def _quota_script(table: str) -> str | None:
    import tomllib

    (account,) = tomllib.loads(table).values()
    found = account.get("quota_script")
    return found if isinstance(found, str) else None
