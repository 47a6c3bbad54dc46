"""The set-up: which logins of this machine are no accounts yet, and what would be written for them.

What is there already stays as it is, and no credential is read: that its file is there is all that counts.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from oulipoly_engine.config import load
from oulipoly_engine.config.edit import account_edit
from oulipoly_engine.config.edit.account_edit import Addition
from oulipoly_engine.config.edit.undo import Step, write_step
from oulipoly_engine.config.edit.write_files import FileChange, read_text
from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.core.accounts.clis.account_files import HEAD, Login, name_of
from oulipoly_engine.core.accounts.clis.adapters import transcripts_folder
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.table import CLIS, recognise_cli
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record, replace

_OLD_HEAD = "# Written by the first set-up."


class SetUp(Record):
    """What would be written."""

    logins: tuple[Login, ...] = ()
    files: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()  # what was found and is left out, and why; a sentence each


def propose(paths: Paths, models_dir: Path | None = None, which: Callable[[str], str | None] = shutil.which) -> SetUp:
    """Return what is to be written for the logins that are not accounts yet. Raises ConfigInvalid for broken files."""
    accounts = load.load_accounts(paths).value
    known = used_folders(accounts, load.load_sessions(paths).value, paths.home)
    logins: list[Login] = []
    notes: list[str] = []
    for cli in CLIS.values():
        folders = tuple(find_folders(cli, paths.home))
        if which(cli.name) is None:
            notes += (
                f"{shown} is there, but no program {cli.name} is on the PATH"
                for shown in map(_shorten_paths(paths), folders)
            )
            continue
        found = [login_in(cli, folder, paths) for folder in folders if folder.resolve() not in known]
        if not folders:
            notes.append(f"{cli.name} is installed, but nobody is logged in: `agents account add {cli.name}` does that")
        for login in found:
            if cli.quota is not None and not login.has_credentials:
                notes.append(f"{login.account}: {cli.quota.credentials} is not in its folder, so its quota is not read")
        logins += found
    logins = _drop_same_names(logins, accounts)
    models = models_dir or paths.models
    additions = [Addition(login, _choose_pools(login, models, notes)) for login in logins]
    return SetUp(tuple(logins), account_edit.add(paths, models, additions), tuple(notes))


def write_set_up(paths: Paths, found: SetUp, run: str = "") -> None:
    """Write it, so that it can be undone. run: of the set-up agent, which it belongs to.

    Raises ConfigInvalid, and RequestRefused where there is nothing to write.
    """
    if not found.files:
        raise RequestRefused("there is nothing to add: no login was found that is not an account yet")
    names = ", ".join(login.account for login in found.logins)
    write_step(paths.data, Step(f"set up {names}", found.files, run=run))


def used_folders(
    accounts: Mapping[str, Account],
    scripts: Mapping[str, SessionScripts],
    home: Path,
    inherited: Mapping[str, str] = MappingProxyType({}),
) -> dict[Path, str]:
    """Return whose account each folder of a CLI is, links followed. inherited: as `recognise_cli` takes it."""
    found: dict[Path, str] = {}
    for name, account in accounts.items():
        cli = recognise_cli(account, home, inherited)
        if cli is not None:
            found.setdefault(cli.folder.resolve(), name)
        told = find_scripts_folder(account, scripts.get(name), home)
        if told is not None:
            found.setdefault(told[1].resolve(), name)
    return found


def find_scripts_folder(account: Account, scripts: SessionScripts | None, home: Path) -> tuple[Cli, Path] | None:
    """Return the CLI whose transcripts an account's scripts read, and its folder; None where they do not tell."""
    told = transcripts_folder(account, scripts)
    if told is None or "$" in told[1]:
        return None
    cli, folder = CLIS[told[0]], home / told[1][2:] if told[1].startswith("~/") else Path(told[1])
    if not folder.is_absolute():
        return None
    return cli, folder.parent if cli.transcripts is not None and cli.transcripts.below else folder


def find_folders(cli: Cli, home: Path) -> Iterator[Path]:
    """Yield the folders that a CLI keeps logins in: where it looks by itself, and in homes beside that."""
    homes = sorted(home.glob(f".{cli.name}?*"))
    for folder in dict.fromkeys((home / cli.place.default, *(one / cli.place.below for one in homes))):
        with suppress(OSError):
            if folder.is_dir() and any((folder / mark).exists() for mark in cli.place.marks):
                yield folder


def login_in(cli: Cli, folder: Path, paths: Paths) -> Login:
    """Return the login that a CLI keeps in a folder."""
    has_credentials = cli.quota is not None and (folder / cli.quota.credentials).is_file()
    if folder == paths.home / cli.place.default:
        return Login(cli, cli.name, _shorten_paths(paths)(folder), has_credentials=has_credentials)
    home = cli.place.home(str(folder))
    return Login(cli, name_of(cli, home), str(folder), home, has_credentials)


def may_join(pool: Path) -> bool:
    """Tell whether a pool's file is none, or one of ours: what somebody else has written is left alone."""
    text = read_text(pool)
    return text is None or text.startswith((HEAD, _OLD_HEAD))


def _choose_pools(login: Login, models: Path, notes: list[str]) -> tuple[str, ...]:
    pool = models / f"{login.cli.name}.toml"
    if may_join(pool):
        return (login.cli.name,)
    notes.append(f"{login.account} is in no pool: {pool} is your own; add it there")
    return ()


def _drop_same_names(logins: list[Login], accounts: Mapping[str, Account]) -> list[Login]:
    """Leave out a login whose name another has taken, for `.claude 2` and `.claude-2` would be one account.

    One whose name an account has gets the next free number behind it.
    """
    found = list({login.account: login for login in reversed(logins)}.values())[::-1]
    return [replace(login, account=find_free_name(login.account, accounts)) for login in found]


def find_free_name(name: str, taken: Mapping[str, object]) -> str:
    """Return a name, or the first of `name-2`, `name-3` … that nobody has."""
    number = 1
    free = name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def _shorten_paths(paths: Paths) -> Callable[[Path], str]:
    return lambda folder: f"~/{folder.relative_to(paths.home)}"
