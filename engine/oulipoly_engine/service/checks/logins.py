"""Look at the folders and logins of the accounts' CLIs. No token is kept beyond the look."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.checks.accounts import SeenHome, SeenLogin
from oulipoly_engine.core.checks.logins import find_fault
from oulipoly_engine.core.quota.quota_source import transcripts_folder
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.checks.programs import Start, find_start


class Place(Record):
    """Where an account's CLI keeps its login and its sessions."""

    account: str
    cli: str  # of `CLIS`
    folder: Path
    start: Start
    is_direct: bool  # its program is the CLI itself, and not a wrapper that may sign in in its own way


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
    told = transcripts_folder(account, scripts)
    cli = start.cli or ("" if told is None else told[0])
    if not cli:
        return None
    folder = CLIS[cli].place.find_folder(start.variables) or ""
    if not folder.startswith("/") and told is not None and told[0] == cli:
        below = Path(told[1])
        folder = str(below if cli == "opencode" else below.parent)
        folder = f"{home}/{folder[2:]}" if folder.startswith("~/") else folder
    if not folder.startswith("/") or "$" in folder:
        folder = str(home / CLIS[cli].place.default)
    return Place(account.name, cli, Path(folder), start, bool(start.cli))


def look_at_homes(places: tuple[Place, ...]) -> tuple[SeenHome, ...]:
    """Return what the folders are."""
    return tuple(map(_look_at_home, places))


def _look_at_home(place: Place) -> SeenHome:
    path = place.folder
    argv, variables = _sign_in(place)
    link = ""
    with suppress(OSError):
        link = os.readlink(path)  # noqa: PTH115 - as it is written
    state, is_ours, can_write = "folder", True, True
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
    return SeenHome(place.account, place.cli, str(path), state, link, is_ours, can_write, argv, variables)


def look_at_logins(places: tuple[Place, ...], now: datetime) -> Iterator[SeenLogin]:
    """Yield what the accounts are signed in with; those without a folder are left out."""
    for place in places:
        if place.is_direct and place.folder.is_dir():
            yield _look_at_login(place, now)


def _look_at_login(place: Place, now: datetime) -> SeenLogin:
    knowledge = CLIS[place.cli]
    files = [place.folder / name for name in knowledge.credentials]
    path = next((file for file in files if os.path.lexists(file)), files[0])
    argv, variables = _sign_in(place)
    state, fault, mode = "file", "", 0o600
    if any(place.start.variables.get(key) for key in knowledge.stand_ins):
        state = "key"
    elif not os.path.lexists(path):
        state = "elsewhere" if _is_elsewhere(place) else "missing"
    else:
        try:
            raw = read_regular(path)
            mode = stat.S_IMODE(path.stat().st_mode)
            fault = find_fault(place.cli, raw, now) or ""
        except OSError as error:
            state, fault = "unreadable", error.strerror or str(error)
    return SeenLogin(place.account, place.cli, str(path), state, fault, mode, argv, variables)


def _is_elsewhere(place: Place) -> bool:
    if sys.platform == "darwin" and place.cli == "claude":  # in the keychain, which asks the user before it tells
        return True
    name, mark = CLIS[place.cli].elsewhere
    with suppress(OSError):
        return bool(name) and mark in read_regular(place.folder / name)
    return False


def _sign_in(place: Place) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the command that begins a login, and the variables that it needs."""
    cli = CLIS[place.cli]
    words = () if cli.login is None else cli.login.words
    program, folder = place.start.program if place.is_direct else place.cli, str(place.folder)
    is_led = cli.place.find_folder(place.start.variables) == folder
    if not is_led and folder.endswith(f"/{cli.place.default}"):
        return (program, *words), {}
    return (program, *words), cli.place.environment(cli.place.home(folder))
