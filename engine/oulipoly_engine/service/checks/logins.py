"""Look at the folders and logins of the accounts' CLIs. No token is kept beyond the look."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from time import monotonic

from oulipoly_engine.core.accounts.accounts import Account, KeyringSpec, SessionScripts
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.table import recognise_cli
from oulipoly_engine.core.checks.accounts import SeenHome, SeenLogin
from oulipoly_engine.core.checks.finding import in_shell
from oulipoly_engine.process.thread_pool import run_in_threads
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.accounts.api_keys import uses_api_key
from oulipoly_engine.service.accounts.keyring_entries import KeyProblem, find_problem
from oulipoly_engine.service.accounts.logins import look_at_file, read_account_login
from oulipoly_engine.service.accounts.setup import find_scripts_folder
from oulipoly_engine.service.checks.programs import find_start
from oulipoly_engine.service.sessions.copy_transcripts import is_kept

_AT_MOST = 8  # logins at once; some CLIs are Node programs of 100 MB and more


class Place(Record):
    """Where an account's CLI keeps its login and its sessions."""

    account: str
    cli: Cli
    folder: Path
    is_direct: bool  # its program is the CLI itself, and not a wrapper that may sign in in its own way
    variables: Mapping[str, str]  # what the program sees
    environ: Mapping[str, str]  # ours
    keyring: KeyringSpec | None = None  # where its API key is, in place of a login
    variable: str = ""  # of the environment, that leads there though the account does not set it
    uses_key: bool = False  # in place of a login

    @property
    def sign_in(self) -> str:
        """Return the command that begins a login."""
        if self.is_direct:
            key = () if self.keyring is None else ("--api-key-env", "VARIABLE")
            return in_shell("agents", "account", "login", self.account, *key)
        words = () if self.cli.login is None else self.cli.login.words
        # A wrapper leads its CLI to that folder; called by its own name the CLI would sign in at its default one.
        variables = self.cli.place.environment(self.cli.place.home(str(self.folder)))
        return in_shell("env", *(f"{name}={value}" for name, value in variables.items()), self.cli.name, *words)


def find_places(
    accounts: Mapping[str, Account], scripts: Mapping[str, SessionScripts], environ: Mapping[str, str], home: Path
) -> tuple[Place, ...]:
    """Return where the CLIs of the accounts keep what is theirs, as far as that is known. home: what `~` stands for."""
    found = (_find_place(one, scripts.get(name), environ, home) for name, one in accounts.items())
    return tuple(one for one in found if one is not None)


def _find_place(
    account: Account, scripts: SessionScripts | None, environ: Mapping[str, str], home: Path
) -> Place | None:
    start = find_start(account, environ)
    if start.cli is not None:
        found = recognise_cli(account, home, environ)
        folder = start.cli.place.find_folder(start.variables) or home / start.cli.place.default
        return Place(
            account.name,
            start.cli,
            Path(folder),
            True,
            start.variables,
            environ,
            account.keyring,
            "" if found is None else found.inherited,
            uses_key=uses_api_key(account, home),
        )
    told = find_scripts_folder(account, scripts, home)
    return None if told is None else Place(account.name, *told, False, start.variables, environ)


def look_at_homes(places: tuple[Place, ...]) -> tuple[SeenHome, ...]:
    """Return what the folders are."""
    return tuple(map(_look_at_home, places))


def _look_at_home(place: Place) -> SeenHome:
    path = place.folder
    link = ""
    with suppress(OSError):
        link = os.readlink(path)  # noqa: PTH115 - as it is written
    state, is_ours, can_write = "folder", True, True
    real, others = "", 0
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        state = "broken link" if link else "missing"
    except OSError:
        state = "broken link" if link else "unreadable"
    else:
        state = "folder" if stat.S_ISDIR(found.st_mode) else "no folder"
        is_ours = found.st_uid == os.getuid()
        can_write = found.st_mode & stat.S_IRWXU == stat.S_IRWXU and os.access(path, os.W_OK)
        real = os.path.realpath(path)
        others = found.st_mode & stat.S_IRWXO if state == "folder" else 0
    return SeenHome(
        place.account,
        place.cli.name,
        str(path),
        state,
        link,
        is_ours,
        can_write,
        place.sign_in,
        place.variable,
        real,
        has_login=place.is_direct and not place.uses_key,
        others_write=bool(others & stat.S_IWOTH),
        others_read=bool(others & stat.S_IROTH) and _is_reached_by_others(Path(real)),
    )


def _is_reached_by_others(folder: Path) -> bool:
    """Tell whether other users get as far as a folder: through every one above it."""
    with suppress(OSError):
        return all(parent.stat().st_mode & stat.S_IXOTH for parent in folder.parents)
    return False


def look_at_logins(
    places: tuple[Place, ...], accounts: Mapping[str, Account], home: Path, now: datetime, patience_s: float
) -> Iterator[SeenLogin]:
    """Yield what the accounts are signed in with, asked as `account show` does; those without a folder are left out.

    patience_s: for one CLI's or keyring's answer; what has not been asked within twice that is not asked at all.
    """
    known = [place for place in places if place.is_direct and place.folder.is_dir()]
    end = monotonic() + 2 * patience_s

    def look(place: Place) -> SeenLogin:
        left_s = min(patience_s, end - monotonic())
        return _look_at_login(place, accounts[place.account], home, now, max(0.0, left_s))

    found = {one.account: one for one in run_in_threads(look, known, at_most=_AT_MOST)}
    yield from (found[place.account] for place in known)


def find_kept_transcripts(places: tuple[Place, ...]) -> Iterator[str]:
    """Yield the files that moves have replaced and kept beside the transcripts, by `copy_transcripts.kept_path`."""
    folders = {
        (place.folder / place.cli.transcripts.below).resolve()
        for place in places
        if place.cli.transcripts is not None and place.cli.transcripts.storage_type  # others cannot be moved
    }
    for folder in sorted(folders):
        for path, _names, files in os.walk(folder):
            yield from (os.path.join(path, name) for name in sorted(files) if is_kept(name))  # noqa: PTH118 - thousands


def _look_at_login(place: Place, account: Account, home: Path, now: datetime, patience_s: float) -> SeenLogin:
    if place.keyring is not None:
        found = find_problem(place.account, place.keyring, patience_s) or KeyProblem("", "")
        return SeenLogin(
            place.account, place.cli.name, "", "keyring", found.cause, sign_in=found.command, fix=found.fix
        )
    file = look_at_file(place.cli, place.folder, place.variables, now)
    seen = SeenLogin(place.account, place.cli.name, str(file.path), file.state, file.fault, file.mode, place.sign_in)
    if patience_s == 0:
        return replace(seen, unknown="is not known: it was not asked, since other CLIs took too long")
    login = read_account_login(account, home, place.environ, patience_s)
    if login is None:
        return seen
    who = login.profile.text if login.profile is not None and login.profile.is_named else ""
    return replace(seen, is_signed_in=login.profile is not None, who=who, unknown=login.problem or "")
