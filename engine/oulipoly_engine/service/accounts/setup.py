"""The first set-up: which CLIs somebody is logged in to, what would be written for them, writing it, taking it back.

Nothing that exists is ever changed, and no credential is read: that its file is there is all that counts.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.config.edit.write_files import FileChange, write
from oulipoly_engine.core.accounts.first_files import Login, texts
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular

_CREDENTIALS = {"claude": ".credentials.json", "codex": "auth.json"}
_MARKS = {  # what lies in a folder that is one CLI's; one of them is enough
    "claude": (".credentials.json", "projects"),
    "codex": ("auth.json", "sessions"),
    "gemini": ("oauth_creds.json", "tmp"),
    "opencode": ("opencode.db", "auth.json"),
}


class SetUp(Record):
    """What would be written."""

    logins: tuple[Login, ...] = ()
    files: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()  # what was found and is left out, and why; a sentence each


def propose(paths: Paths, which: Callable[[str], str | None] = shutil.which) -> SetUp:
    """Return the first configuration for the CLIs that are installed and logged in to."""
    logins: list[Login] = []
    notes: list[str] = []
    for cli in _MARKS:
        folders = tuple(_folders(cli, paths.home))
        if which(cli) is None:
            notes += (
                f"{shown} is there, but no program {cli} is on the PATH"
                for shown in map(_shorten_paths(paths), folders)
            )
            continue
        found = [_login(cli, folder, paths) for folder in folders]
        if not found:
            notes.append(f"{cli} is installed, but nobody is logged in: start it once")
        for login in found:
            if cli in _CREDENTIALS and not login.has_credentials:
                notes.append(f"{login.account}: {_CREDENTIALS[cli]} is not in its folder, so its quota is not read")
        logins += found
    logins = _drop_same_names(logins)
    files = tuple(FileChange(paths.config / name, None, text) for name, text in texts(logins))
    return SetUp(tuple(logins), files, tuple(notes))


def write_first(paths: Paths, found: SetUp) -> None:
    """Write it. Raises RequestRefused where there is a configuration, ConfigInvalid where it cannot be written."""
    if not found.files:
        message = "no CLI that somebody is logged in to was found: install and start claude, codex, gemini or opencode"
        raise RequestRefused(message)
    present = [change.path for change in found.files if change.path.exists() or change.path.is_symlink()]
    if present or _has_models(paths):
        there = str(present[0]) if present else f"a model in {paths.models}"
        message = f"there is a configuration already ({there}), and a first set-up changes nothing that exists"
        raise RequestRefused(message)
    write(found.files)


def take_back(found: SetUp) -> tuple[Path, ...]:
    """Delete what was written and is still as it was; return what was changed since and stays."""
    kept = []
    for change in found.files:
        try:
            is_ours = read_regular(change.path).decode() == change.after
        except (OSError, UnicodeDecodeError):
            is_ours = False
        if is_ours:
            change.path.unlink()
        elif change.path.exists():
            kept.append(change.path)
    for folder in sorted({change.path.parent for change in found.files}, reverse=True):  # the inner ones first
        with suppress(OSError):  # not empty: something else is in it
            folder.rmdir()
    return tuple(kept)


def _folders(cli: str, home: Path) -> Iterator[Path]:
    """Yield the folders that a CLI keeps logins in: its own, and for claude and codex those beside it."""
    own = home / ".local/share/opencode" if cli == "opencode" else home / f".{cli}"
    beside = sorted(home.glob(f".{cli}*")) if cli in _CREDENTIALS else []
    for folder in dict.fromkeys((own, *beside)):
        with suppress(OSError):
            if folder.is_dir() and any((folder / mark).exists() for mark in _MARKS[cli]):
                yield folder


def _login(cli: str, folder: Path, paths: Paths) -> Login:
    is_default = cli not in _CREDENTIALS or folder.name == f".{cli}"
    shown = _shorten_paths(paths)(folder) if is_default else str(folder)  # `env` expands no tilde
    has_credentials = cli in _CREDENTIALS and (folder / _CREDENTIALS[cli]).is_file()
    return Login(cli, shown, has_credentials, is_default)


def _drop_same_names(logins: list[Login]) -> list[Login]:
    """Leave out a login whose name another has taken: `.claude 2` and `.claude-2` would be one account."""
    return list({login.account: login for login in reversed(logins)}.values())[::-1]


def _shorten_paths(paths: Paths) -> Callable[[Path], str]:
    return lambda folder: f"~/{folder.relative_to(paths.home)}"


def _has_models(paths: Paths) -> bool:
    return paths.models.is_dir() and any(paths.models.glob("*.toml"))
