"""What is asked and ordered about accounts as part of the configuration: added, logged in, renamed, removed, backed up.

Every method blocks. Nothing is written before `write`, and what was written can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.config import mask
from oulipoly_engine.config.edit import account_edit, undo
from oulipoly_engine.config.edit.undo import Step
from oulipoly_engine.config.edit.write_files import FileChange
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.account_files import account_table
from oulipoly_engine.core.accounts.clis.table import CLIS, recognise_cli
from oulipoly_engine.errors import Interrupted, RequestRefused, RunnerError, SchemaIncompatible, StoreUnusable
from oulipoly_engine.facade.files import check_account
from oulipoly_engine.facade.home import Home
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.thread_pool import do_side_by_side
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.accounts import keyring_entries, logins, new_account, setup
from oulipoly_engine.service.accounts.logins import LoginState, Version
from oulipoly_engine.service.accounts.new_account import Candidate, check_name, check_pool, check_provider, find_cli

if TYPE_CHECKING:
    from oulipoly_engine.config.edit.backup import Backup, Import
    from oulipoly_engine.core.quota.windows import Window
    from oulipoly_engine.service.accounts.detect import FoundCli, Report
    from oulipoly_engine.service.quota.keeper import Reading
    from oulipoly_engine.store.base.db import Store

# ruff: noqa: PLC0415 - a rename needs the state file, an addition the quota's reader: neither both

__all__ = [
    "CLIS",
    "AccountSetup",
    "Candidate",
    "Detected",
    "FirstQuota",
    "LoginState",
    "Shown",
    "Step",
    "check_name",
    "check_pool",
    "check_provider",
    "find_cli",
]


class FirstQuota(Record):
    """What a new account's quota script said, before anything is stored."""

    windows: tuple[Window, ...] = ()
    failure: str | None = None  # a sentence; None: it was read, or there is nothing that could tell
    reading: Reading | None = None


class Shown(Record):
    """An account as a person wants to see it."""

    name: str
    cli: str | None  # None: its program is none that is known
    program: str | None
    version: str | None
    folder: Path | None  # of the CLI
    is_made: bool  # the home was made by this program
    login: LoginState | None
    pools: tuple[str, ...]


class Detected(Record):
    """What was found on this machine, and what is known of it already."""

    report: Report
    accounts: Mapping[Path, str]  # by folder, links followed
    changes: Mapping[str, str]  # by CLI: the version before, where it is another one now
    models: Mapping[str, tuple[str, ...]] | None = None  # by CLI; None: nobody asked for them

    def document(self) -> dict[str, object]:
        """Return it as JSON values (contract, section 13); `homes`, `account` and `problem` are additions."""
        report = self.report
        wrappers = [{"name": one.name, "path": str(one.path), "target_cli": one.cli} for one in report.wrappers]
        return {
            "clis": [self._cli(cli) for cli in report.clis],
            "os": {"os_type": report.os_type, "arch": report.architecture},
            "wrappers": wrappers,
        }

    def _cli(self, cli: FoundCli) -> dict[str, object]:
        homes = [
            {
                "config_dir": str(home.folder),
                "account": self.accounts.get(home.folder.resolve()),
                "authenticated": home.is_logged_in,
                "profiles": [
                    {"id": one.id, "method": one.method, "plan": one.plan, "details": {**one.details}}
                    for one in home.profiles
                ],
                "problem": home.problem,
            }
            for home in cli.homes
        ]
        models = {} if self.models is None else {"models": list(self.models.get(cli.name, ()))}
        first = homes[0] if homes else {"config_dir": None, "authenticated": False, "profiles": []}
        return {
            "name": cli.name,
            "installed": cli.path is not None,
            "path": cli.path,
            "version": cli.version,
            "authenticated": first["authenticated"],
            "config_dir": first["config_dir"],
            "profiles": first["profiles"],
            "version_changed": cli.name in self.changes,
            "previous_version": self.changes.get(cli.name),
            "problem": cli.problem,
            "homes": homes,
            **models,
        }


class AccountSetup:
    """Accounts of one user on their way in and out of the configuration."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def detect(self, *, finds_models: bool = False) -> Detected:
        """Return what is installed here and who is logged in; CLIs are asked side by side.

        finds_models: they are asked for the models that they offer as well, which takes some seconds more.
        """
        from oulipoly_engine.service.accounts.detect import configured_homes, detect

        paths = self._home.paths
        accounts, scripts = self._accounts(), self._home.quiet_files.scripts()
        used = setup.used_folders(accounts, scripts, paths.home)
        report = detect(paths.home, inherited_environment(), configured_homes(accounts, paths.home))
        changes = self._note_versions({one.name: one.version for one in report.clis if one.version})
        return Detected(report, used, changes, self._find_models(report) if finds_models else None)

    def _find_models(self, report: Report) -> Mapping[str, tuple[str, ...]]:
        from oulipoly_engine.service.setup.models import discover_models

        environ = inherited_environment()
        return {
            one.name: discover_models(one.path, environ, CLIS[one.name]) for one in report.clis if one.path is not None
        }

    def _note_versions(self, versions: Mapping[str, str]) -> Mapping[str, str]:
        """Note which versions were seen, where that can be kept, and return those before that were others."""
        from oulipoly_engine.store.runs.cli_versions import record

        with suppress(StoreUnusable, SchemaIncompatible), self._home.lend_store_to_read() as store:
            return self._home.write_along(store, lambda: record(store, versions, self._home.now()), {})
        return {}  # what is installed can be told without a state file; the doctor tells of a broken one

    def names(self) -> Mapping[str, Account]:
        """Return the accounts that are configured, by name."""
        return self._accounts()

    def free_name(self, cli: str) -> str:
        """Return a name for an account of a CLI that nobody has."""
        return setup.find_free_name(cli, self._accounts())

    def pools(self) -> tuple[str, ...]:
        """Return the names of all pools."""
        return self._home.files.model_names()

    def suggest_pool(self, candidate: Candidate) -> str | None:
        """Return the pool of a CLI; None where somebody else has written one of that name."""
        name = candidate.cli.name
        return name if setup.may_join(self._models / f"{name}.toml") else None

    def pools_of(self, account: str) -> tuple[str, ...]:
        """Return the pools that have an account."""
        return account_edit.pools_of(self._home.paths, self._models, account)

    def find_usual_home(self, cli: str) -> Path | None:
        """Return the home where a CLI looks by itself, if somebody has logged in there and it is no account yet."""
        paths, known = self._home.paths, find_cli(cli)
        place = paths.home / known.place.default
        used = setup.used_folders(self._accounts(), self._home.quiet_files.scripts(), paths.home)
        is_there = any((place / name).is_file() for name in known.credentials)
        return place if is_there and place.resolve() not in used else None

    def prepare(self, name: str, cli: str, home: Path | None) -> Candidate:
        """Check what a new account needs, and make its home unless one is given. Raises RunnerError."""
        self._home.refuse_if_read_only("add an account")
        accounts = self._accounts()
        check_name(name, accounts)
        known = find_cli(cli)
        paths = self._home.paths
        used = setup.used_folders(accounts, self._home.quiet_files.scripts(), paths.home)
        return new_account.prepare(name, known, home, paths, inherited_environment(), used)

    def discard(self, candidate: Candidate) -> None:
        """Take away what was made for an account that is not added after all, and that no file names."""
        with suppress(RunnerError):
            if candidate.name not in self._accounts():
                new_account.discard(candidate)

    def find_keyring(self) -> str | None:
        """Return what the user's keyring is called; None: there is none that keeps secrets."""
        return keyring_entries.find_keyring()

    def store_key(self, candidate: Candidate, key: str, provider: str = "", *, in_keyring: bool = False) -> Candidate:
        """Put an API key into the account's home or the keyring. Raises RunnerError."""
        self._home.refuse_if_read_only("keep a key")
        return new_account.store_key(candidate, key, provider, in_keyring=in_keyring)

    def keyring_entry(self, account: str) -> str | None:
        """Return the keyring's entry of an account that no other one uses."""
        places = {name: one.keyring for name, one in self._accounts().items() if one.keyring is not None}
        own = places.pop(account, None)
        return None if own is None or own.entry in {one.entry for one in places.values()} else own.entry

    def log_in(self, candidate: Candidate) -> None:
        """Run the CLI's own login in this process's terminal.

        Raises RequestRefused where it does not end well, Interrupted where a signal ended it.
        """
        from oulipoly_engine.process.passthrough import pass_through, require_terminal

        self._home.refuse_if_read_only("log in")
        try:
            require_terminal()
        except RequestRefused as error:
            message = "a login needs a terminal: run it in one, or give a key by --api-key-env or --api-key-file"
            raise RequestRefused(message) from error
        done = pass_through(new_account.login_command(candidate, Path.cwd()))
        if done.stopped_for is not None:
            raise Interrupted(done.stopped_for)
        if done.exit_code != 0:
            message = f"the login of {candidate.cli.title} ended with exit code {done.exit_code}: nothing was changed"
            raise RequestRefused(message)

    def read_login(self, candidate: Candidate) -> LoginState:
        """Ask who is logged in."""
        return new_account.read_login(candidate)

    def settle(self, candidate: Candidate, state: LoginState) -> Candidate:
        """Return the account with what its login tells: nobody knows the quota of an API key."""
        is_key = state.profile is not None and "key" in state.profile.method
        return replace(candidate, uses_key=candidate.uses_key or is_key)

    def find_same_login(self, candidate: Candidate, state: LoginState) -> str | None:
        """Return the account that this login belongs to already."""
        if state.profile is None:
            return None
        return new_account.find_same_login(
            state.profile, candidate.cli, self._accounts(), self._home.paths.home, inherited_environment()
        )

    def read_quota(self, candidate: Candidate) -> FirstQuota:
        """Ask the quota script that the account will have; nothing is stored."""
        from oulipoly_engine.service.quota.keeper import Reading
        from oulipoly_engine.service.quota.reader import QuotaReader

        script = _quota_script(account_table(new_account.as_login(candidate, self._home.paths)))
        if script is None:
            return FirstQuota()
        begun = self._home.now()
        answer = QuotaReader(self._home.paths.home, candidate.environ).read(script, None, has_windows=False)
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

    def plan_removal(self, account: str) -> Step:
        """Return the changes that take an account out. Raises RunnerError."""
        self._check(account)
        return Step(f"removed the account {account}", account_edit.remove(self._home.paths, self._models, account))

    def plan_rename(self, account: str, new: str) -> Step:
        """Return the changes that rename an account. Raises RunnerError."""
        self._check(account)
        check_name(new, self._accounts())
        files = account_edit.rename(self._home.paths, self._models, account, new)
        return Step(f"renamed the account {account} to {new}", files, (account, new))

    def export(self) -> Backup:
        """Return a backup of accounts and pools without secrets. Raises ConfigInvalid."""
        from oulipoly_engine.config.edit.backup import export

        return export(self._home.paths, self._models)

    def plan_import(self, text: str, source: Path) -> tuple[Import, Step]:
        """Return what a backup would bring in, and the changes that do it. Raises ConfigInvalid."""
        from oulipoly_engine.config.edit.backup import plan_import

        found = plan_import(text, source, self._home.paths, self._models)
        names = ", ".join((*found.accounts, *(f"the pool {name}" for name in found.pools))) or "nothing"
        return found, Step(f"imported {names}", found.files)

    def write(self, step: Step) -> None:
        """Write changes; an account's state follows its name. Raises RunnerError, and then nothing is changed."""
        self._home.refuse_if_read_only("change the configuration")
        data = self._home.paths.data
        if step.renamed is None:
            undo.write_step(data, step)
        else:
            self._refuse_old_rows(step.renamed[1])
            self._rename_state(*step.renamed, lambda: undo.write_step(data, step))

    def undo(self, agreed: Step | None = None) -> Step:
        """Put back what the last change has changed, and return that change. Raises RunnerError.

        agreed: what the user was asked about; nothing is undone where another change is the last one by now.
        """
        self._home.refuse_if_read_only("change the configuration")
        data = self._home.paths.data
        step = agreed or undo.last_step(data)
        if step is None or step.renamed is None:
            return undo.undo_last(data, step)
        name, new = step.renamed
        self._rename_state(new, name, lambda: undo.undo_last(data, step))
        return step

    def last_step(self) -> Step | None:
        """Return what would be undone next."""
        return undo.last_step(self._home.paths.data)

    def diff(self, files: Sequence[FileChange]) -> str:
        """Return changes as a unified diff, without the secrets in it."""
        documents = [text for change in files for text in (change.before, change.after) if text is not None]
        return mask.lines("".join(change.diff for change in files), documents)

    def show(self, account: str) -> Shown:
        """Return what an account is: its CLI, its home, who is logged in, its pools. Raises AccountUnusable."""
        self._check(account)
        found = recognise_cli(self._accounts()[account], self._home.paths.home)
        pools = self.pools_of(account)
        if found is None:
            return Shown(account, None, self._accounts()[account].command, None, None, False, None, pools)
        environ = inherited_environment()
        program = logins.find_program(found.program, environ)
        configured = self._accounts()[account]
        asked: list[Callable[[], Version | LoginState | None]] = [
            lambda: None if program is None else logins.read_version(found.cli, program, environ),
            lambda: logins.read_account_login(configured, self._home.paths.home, environ),
        ]
        told, known = do_side_by_side(asked)
        version = told.text if isinstance(told, Version) else None
        state = known if isinstance(known, LoginState) else None
        made = new_account.is_made_home(self._find_home(account) or found.folder)
        return Shown(account, found.cli.name, program, version, found.folder, made, state, pools)

    def existing(self, account: str) -> Candidate:
        """Return an account that is there as one whose login can be asked and renewed. Raises RequestRefused."""
        self._check(account)
        found = self._existing(account)
        if found.home is not None and not found.home.exists():  # of an account that was imported
            self._home.refuse_if_read_only("make a home")
            make_folder(found.home)
        return found

    def test_words(self, account: str) -> tuple[str, ...]:
        """Return the arguments that a test prompt to an account needs besides its own."""
        found = recognise_cli(self._accounts()[account], self._home.paths.home)
        return () if found is None else found.cli.launch.test_words

    def delete_home(self, place: Path) -> bool:
        """Delete a home if this program has made it; return whether it has. Raises OSError."""
        return new_account.delete_made_home(place)

    def delete_key(self, entry: str) -> None:
        """Take a key out of the keyring. Raises RequestRefused, saying what to do."""
        keyring_entries.delete_key(entry)

    def made_home(self, account: str) -> Path | None:
        """Return an account's home if this program has made it."""
        place = self._find_home(account)
        return place if place is not None and new_account.is_made_home(place) else None

    def refuse_if_used(self, account: str, place: Path) -> None:
        """Refuse to delete an account's home while a run goes on, or where another account uses it.

        Raises RequestRefused, StoreUnusable.
        """
        others = {name: one for name, one in self._accounts().items() if name != account}
        scripts = self._home.quiet_files.scripts()
        for folder, name in setup.used_folders(others, scripts, self._home.paths.home).items():
            if folder.is_relative_to(place.resolve()):
                message = f"{place} is the home of the account {name!r} too: leave --delete-home out"
                raise RequestRefused(message)
        with self._home.lend_store_to_read() as store:
            _refuse_if_running(store, account, "remove it with its home")

    @property
    def _models(self) -> Path:
        return self._home.models_dir or self._home.paths.models

    def _accounts(self) -> Mapping[str, Account]:
        return self._home.quiet_files.accounts()

    def _check(self, account: str) -> None:
        check_account(self._accounts(), account)

    def _find_home(self, account: str) -> Path | None:
        found = recognise_cli(self._accounts()[account], self._home.paths.home)
        if found is None or not found.variables:
            return None
        return Path(found.cli.place.home(str(found.folder)))

    def _existing(self, account: str) -> Candidate:
        from oulipoly_engine.core.accounts.arguments import environment

        configured = self._accounts()[account]
        found = recognise_cli(configured, self._home.paths.home)
        if found is None:
            message = (
                f"the program of {account!r}, {configured.command!r}, is none that this program knows: log in there"
            )
            raise RequestRefused(message)
        environ = environment(inherited_environment(), configured) | dict(found.variables)
        program = logins.find_program(found.program, environ)
        if program is None:
            message = (
                f"the program of {account!r}, {found.program!r}, is not on the PATH: `{found.cli.install}` installs it"
            )
            raise RequestRefused(message)
        home, keyring = self._find_home(account), configured.keyring
        is_made = keyring is not None or (home is not None and new_account.is_made_home(home))
        return Candidate(account, found.cli, program, home, found.folder, environ, is_made=is_made, keyring=keyring)

    @contextmanager
    def _hold_sessions(self, account: str) -> Iterator[None]:
        """Keep moves, replacements and scans away for the block: what they store has the name that they began with.

        Raises RequestRefused, SessionBusy.
        """
        from oulipoly_engine.service.sessions.journal import JournalFolder
        from oulipoly_engine.service.sessions.move_files import hold_scans

        journals = JournalFolder(self._home.paths.data / "replace_journal")
        make_folder(journals.path)
        with hold_scans(self._home.paths.data / "turn-scan-locks", account), journals.exclusive() as is_ours:
            if not is_ours or journals.pending_sessions():
                message = "a session is being moved or rewritten: rename the account when that has ended"
                raise RequestRefused(message)
            yield

    def _refuse_old_rows(self, account: str) -> None:
        """Refuse a name under which a removed account has left something: an undo could not take them apart again."""
        from oulipoly_engine.store.models.account_names import has_rows

        with self._home.lend_store() as store:
            if has_rows(store, account):
                message = f"the state file has the past of an account {account!r} that was removed: choose another name"
                raise RequestRefused(message)

    def _rename_state(self, account: str, new: str, write: Callable[[], object]) -> None:
        """Rename an account in the state file and write the files; where they cannot be written, neither is done."""
        from oulipoly_engine.store.models.account_names import rename_account

        with self._hold_sessions(account), self._home.lend_store() as store:
            _refuse_if_running(store, account, "rename the account")
            with store.write():
                rename_account(store, account, new)
                write()
        old, place = (self._home.paths.data / "sessions" / name for name in (account, new))
        if old.is_dir() and not place.exists():
            old.rename(place)


def _refuse_if_running(store: Store, account: str, what: str) -> None:
    from oulipoly_engine.process.liveness import is_alive
    from oulipoly_engine.store.runs.activity import find_running

    for run in find_running(store):
        if run.account == account and (run.owner_pid is None or is_alive(run.owner_pid)):
            message = f"a run of {account!r} goes on ({run.uuid}): {what} when that has ended"
            raise RequestRefused(message)


def _quota_script(table: str) -> str | None:
    import tomllib

    (account,) = tomllib.loads(table).values()
    found = account.get("quota_script")
    return found if isinstance(found, str) else None
