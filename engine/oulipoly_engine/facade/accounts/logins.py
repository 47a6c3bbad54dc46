"""Who is logged in to the accounts, and logging in again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oulipoly_engine.core.accounts.arguments import environment
from oulipoly_engine.core.accounts.clis.table import recognise_cli
from oulipoly_engine.errors import (
    AccountUnusable,
    Interrupted,
    LoginFailed,
    ProgramMissing,
    RequestRefused,
    TerminalNeeded,
)
from oulipoly_engine.facade.accounts.base import AccountPart
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.thread_pool import do_side_by_side
from oulipoly_engine.records import Record
from oulipoly_engine.service.accounts import logins, new_account
from oulipoly_engine.service.accounts.logins import LoginState, Version
from oulipoly_engine.service.accounts.new_account import Candidate

# ruff: noqa: PLC0415 - a look at a login needs no terminal

__all__ = ["LoginState"]


class Shown(Record):
    """An account as a person wants to see it."""

    name: str
    cli: str | None  # None: its program is none that is known
    program: str | None
    version: str | None
    folder: Path | None  # of the CLI
    folder_variable: str  # of the environment, that leads there though the account does not set it; empty: none does
    is_made: bool  # the home was made by this program
    login: LoginState | None
    problem: str | None  # a sentence: why nobody knows who is logged in, or what is wrong with the login's file
    pools: tuple[str, ...]


def run_login(command: Command, title: str, what: str = "login") -> None:
    """Run a CLI's own login, or its logout, in this process's terminal. title: of the CLI.

    Raises RequestRefused where it does not end well, Interrupted where a signal ended it.
    """
    from oulipoly_engine.process.passthrough import pass_through, require_terminal

    try:
        require_terminal()
    except RequestRefused as error:
        way = ", or give a key by --api-key-env or --api-key-file" if what == "login" else ""
        raise TerminalNeeded(f"a {what} needs a terminal: run it in one{way}") from error
    done = pass_through(command)
    if done.stopped_for is not None:
        raise Interrupted(done.stopped_for)
    if done.exit_code != 0:
        raise LoginFailed(f"the {what} of {title} ended with exit code {done.exit_code}: nothing was changed")


class AccountLogins(AccountPart):
    """The logins of the accounts' CLIs."""

    def show(self, account: str) -> Shown:
        """Return what an account is: its CLI, its home, who is logged in, its pools. Raises AccountUnusable."""
        self._check(account)
        environ = inherited_environment()
        found = recognise_cli(self.names()[account], self._home.paths.home, environ)
        pools = self.pools_of(account)
        if found is None:
            return Shown(account, None, self.names()[account].command, None, None, "", False, None, None, pools)
        program = logins.find_program(found.program, environ)
        configured = self.names()[account]
        asked: list[Callable[[], Version | LoginState | None]] = [
            lambda: None if program is None else logins.read_version(found.cli, program, environ),
            lambda: logins.read_account_login(configured, self._home.paths.home, environ),
        ]
        told, known = do_side_by_side(asked)
        version = told.text if isinstance(told, Version) else None
        state = known if isinstance(known, LoginState) else None
        made = new_account.is_made_home(self._find_home(account) or found.folder)
        problem = None if state is None or state.problem is None else f"who is logged in {state.problem}"
        if configured.keyring is None:
            whole = environment(environ, configured) | dict(found.variables)
            problem = logins.look_at_file(found.cli, found.folder, whole, self._home.now()).problem or problem
        return Shown(
            account, found.cli.name, program, version, found.folder, found.inherited, made, state, problem, pools
        )

    def existing(self, account: str) -> Candidate:
        """Return an account that is there as one whose login can be asked and renewed. Raises RequestRefused."""
        self._check(account)
        found = self._existing(account)
        if found.home is not None and not found.home.exists():  # of an account that was imported
            self._home.refuse_if_read_only("make a home")
            make_folder(found.home)
        return found

    def log_in(self, candidate: Candidate) -> None:
        """Run the CLI's own login in this process's terminal.

        Raises RequestRefused where it does not end well, Interrupted where a signal ended it.
        """
        self._home.refuse_if_read_only("log in")
        run_login(new_account.login_command(candidate, Path.cwd()), candidate.cli.title)

    def read_login(self, candidate: Candidate) -> LoginState:
        """Ask who is logged in."""
        return new_account.read_login(candidate)

    def find_same_login(self, candidate: Candidate, state: LoginState) -> str | None:
        """Return the account that this login belongs to already."""
        if state.profile is None:
            return None
        return new_account.find_same_login(
            state.profile, candidate.cli, self.names(), self._home.paths.home, inherited_environment()
        )

    def test_words(self, account: str) -> tuple[str, ...]:
        """Return the arguments that a test prompt to an account needs besides its own."""
        found = recognise_cli(self.names()[account], self._home.paths.home)
        return () if found is None else found.cli.launch.test_words

    def _existing(self, account: str) -> Candidate:

        configured = self.names()[account]
        found = recognise_cli(configured, self._home.paths.home, inherited_environment())
        if found is None:
            raise AccountUnusable(
                f"the program of {account!r}, {configured.command!r}, is none that this program knows: log in there"
            )
        environ = environment(inherited_environment(), configured) | dict(found.variables)
        program = logins.find_program(found.program, environ)
        if program is None:
            raise ProgramMissing(
                f"the program of {account!r}, {found.program!r}, is not on the PATH: `{found.cli.install}` installs it"
            )
        home, keyring = self._find_home(account), configured.keyring
        is_made = keyring is not None or (home is not None and new_account.is_made_home(home))
        return Candidate(account, found.cli, program, home, found.folder, environ, is_made=is_made, keyring=keyring)
