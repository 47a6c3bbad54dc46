"""Find what is installed on this machine and who is logged in (contract, section 13)."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.cli import Cli, Profile
from oulipoly_engine.core.accounts.clis.table import CLIS, AccountCli, recognise_cli
from oulipoly_engine.process.thread_pool import do_side_by_side, run_in_threads
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.accounts import logins
from oulipoly_engine.service.accounts.setup import find_folders

_LONGEST_WRAPPER = 64 << 10  # bytes; a program is none
_MOST_WRAPPERS = 500  # files that are looked into


class Home(Record):
    """One home of a CLI, and who is logged in there."""

    folder: Path
    is_logged_in: bool
    profiles: tuple[Profile, ...] = ()
    problem: str | None = None  # why nobody knows who, or what is wrong with the login's file


class FoundCli(Record):
    """One CLI on this machine."""

    name: str
    path: str | None  # None: it is not installed
    version: str | None
    problem: str | None  # why its version is not known
    homes: tuple[Home, ...]  # where it looks by itself first; none: it was never used


class Wrapper(Record):
    """A script of the user's that starts a CLI."""

    name: str
    path: Path
    cli: str


class Report(Record):
    """What was found."""

    clis: tuple[FoundCli, ...]
    wrappers: tuple[Wrapper, ...]
    os_type: str
    architecture: str


def configured_homes(accounts: Mapping[str, Account], home: Path, environ: Mapping[str, str]) -> tuple[AccountCli, ...]:
    """Return the homes that accounts lead their CLIs to."""
    found = (recognise_cli(account, home, environ) for account in accounts.values())
    return tuple(one for one in found if one is not None)


def detect(home: Path, environ: Mapping[str, str], now: datetime, configured: Sequence[AccountCli] = ()) -> Report:
    """Look at the CLIs side by side; it takes as long as the slowest of them, some seconds at most.

    configured: homes to look at besides those that are found by their names.
    """
    clis = tuple(CLIS.values())
    look = _Look(home, environ, now)
    with closing(run_in_threads(lambda cli: _look(cli, look, configured), clis, at_most=len(clis))) as results:
        found = {one.name: one for one in results}
    return Report(
        tuple(found[name] for name in CLIS),
        tuple(_find_wrappers(home / ".local" / "bin")),
        platform.system().lower(),
        platform.machine(),
    )


class _Look(Record):
    home: Path
    environ: Mapping[str, str]
    now: datetime


def _look(cli: Cli, look: _Look, configured: Sequence[AccountCli]) -> FoundCli:
    program = logins.find_program(cli.name, look.environ)
    found = (*find_folders(cli, look.home), *(one.folder for one in configured if one.cli is cli))
    folders = [one for one in dict.fromkeys(found) if one.is_dir()]
    looks: list[Callable[[], Home | logins.Version]] = [
        lambda: logins.Version() if program is None else logins.read_version(cli, program, look.environ),
        *(partial(_look_at_home, cli, program, one, look) for one in folders),
    ]
    version, *homes = do_side_by_side(looks)  # one that hangs costs its limit once, not once a home
    assert isinstance(version, logins.Version)  # noqa: S101 - the first look is for it
    states = tuple(one for one in homes if isinstance(one, Home))
    return FoundCli(cli.name, program, version.text, version.problem, states)


def _look_at_home(cli: Cli, program: str | None, folder: Path, look: _Look) -> Home:
    variables: dict[str, str] = {}
    if folder != look.home / cli.place.default:
        variables = cli.place.environment(cli.place.home(str(folder)))
    hidden = cli.launch.unset if variables else tuple(cli.place.variables)
    whole = {name: value for name, value in look.environ.items() if name not in hidden} | variables
    state = logins.read_login(cli, program, folder, whole)
    has_file = any((folder / name).is_file() for name in cli.credentials)
    problem = logins.look_at_file(cli, folder, whole, look.now).problem or state.problem
    return Home(folder, bool(state.profiles) or has_file, state.profiles, problem)


def _find_wrappers(folder: Path) -> Iterator[Wrapper]:
    """Yield the scripts of a folder whose text names a CLI; programs and what cannot be read are left out."""
    files: list[Path] = []
    with suppress(OSError):
        files = sorted(folder.iterdir())[:_MOST_WRAPPERS]
    for file in files:
        try:
            text = read_regular(file, _LONGEST_WRAPPER).decode()
        except (OSError, UnicodeDecodeError):
            continue
        cli = next((one for one in CLIS if re.search(rf"(?<![\w-]){one}(?![\w-])", text)), None)
        if cli is not None and file.name not in CLIS:
            yield Wrapper(file.name, file, cli)
