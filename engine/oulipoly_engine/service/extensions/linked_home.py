"""A home of links to an account's home, in which a CLI finds files of ours besides.

What the CLI changes there goes through the links into the account's home. What it makes anew, or puts in place of a
link by renaming, goes there before the next start: a killed run loses nothing.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from oulipoly_engine.config.edit import mcp_files
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.handover import NOTHING, Handed, LinkedHome, OwnFile
from oulipoly_engine.core.accounts.clis.table import AccountCli
from oulipoly_engine.core.live.wires.wire import HomeParts
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.private_files import keep_first, make_folder, write_private
from oulipoly_engine.records import replace
from oulipoly_engine.service import shadow_home

_UNDER_WAY = (
    ".lock",
    ".tmp",
    ".link",
    ".new",
)  # ends of names of what a CLI, or another process of ours, is at work on


def hand_over(root: Path, account_cli: AccountCli, handed: Handed, environment: Mapping[str, str]) -> Handed:
    """Return what leads a CLI to a home of links that has files of ours; NOTHING where there can be none.

    root: the folder of all such homes. A CLI that is started inside of such a home stays there.
    """
    cli = account_cli.cli
    parts = None if cli.hand_over is None else cli.hand_over.home
    if parts is None:
        return NOTHING
    folder = account_cli.folder
    if folder.is_relative_to(root):
        return replace(handed, files=())
    homes = root / _digest(str(folder))
    home = homes / _digest(*(part for file in handed.files for part in (file.name, file.text)))
    try:
        if _hinders(cli, parts, folder):
            return NOTHING
        for other in _list_names(homes):  # of another hand-over, to which no start may come back
            _bring_all_home(parts, folder, Path(cli.place.folder(str(homes / other))), handed.files)
        _prepare(parts, folder, Path(cli.place.folder(str(home))), handed.files)
        _link_beside(parts, Path(cli.place.home(str(folder))), home)
    except (RunnerError, OSError):
        return NOTHING  # its CLI says what is wrong with its home
    named = {name: str(folder / below) for name, below in parts.variables.items() if name not in environment}
    return Handed(handed.words, {**named, **cli.place.environment(str(home))})


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _hinders(cli: Cli, parts: LinkedHome, folder: Path) -> bool:
    """Tell whether the settings have a key that makes links lead nowhere: a container for example."""
    settings = mcp_files.read(folder / PurePosixPath(cli.mcp[0].files[0].below).name).document
    return any(_find(settings, keys) for keys in parts.unless)


def _find(document: object, keys: tuple[str, ...]) -> object:
    for key in keys:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def _prepare(parts: LinkedHome, folder: Path, linked: Path, files: Sequence[OwnFile]) -> None:
    """Bring a folder of links up to date: what the CLI put there goes home first."""
    make_folder(folder)
    make_folder(linked)
    own = _list_own(files)
    _link_folder(folder, linked, {below for below, _name in own}, parts.folders)
    for name in parts.files:
        if not os.path.lexists(linked / name):
            (linked / name).symlink_to(folder / name)
    for below, name in own:
        if name in _list_names(folder / below):
            raise FileExistsError(f"{folder / below} has a {name} already")
        make_folder(linked / below)
        if below in parts.copied:
            _copy_folder(folder / below, linked / below, name)
        else:
            _link_folder(folder / below, linked / below, {name}, ())
    for file in files:
        make_folder((linked / file.name).parent)
        if not (linked / file.name).exists():
            keep_first(linked / file.name, file.text.encode())


def _list_own(files: Sequence[OwnFile]) -> set[tuple[str, ...]]:
    """Return where files of ours lie: a folder, and the name in it that is ours."""
    return {PurePosixPath(file.name).parts[:2] for file in files}


def _bring_all_home(parts: LinkedHome, folder: Path, linked: Path, files: Sequence[OwnFile]) -> None:
    own = _list_own(files)
    _bring_home(linked, folder, {*parts.copied, *(below for below, _name in own)})
    for below, name in own:
        if below not in parts.copied:
            _bring_home(linked / below, folder / below, {name})


def _copy_folder(folder: Path, linked: Path, own: str) -> None:
    """Have in a folder what another has, but for links and folders, which its CLI overlooks there as well."""
    paths = {path.name: path for path in folder.iterdir() if path.is_file() and not path.is_symlink()}
    for name in _list_names(linked):
        if name != own and name not in paths and not name.endswith(_UNDER_WAY):
            (linked / name).unlink(missing_ok=True)
    for name, path in paths.items():
        content = path.read_bytes()
        place = linked / name
        if place.is_symlink() or not place.exists() or place.read_bytes() != content:
            fresh = linked / f".{name}.{os.getpid()}.new"
            write_private(fresh, content)
            fresh.replace(place)


def _link_folder(folder: Path, linked: Path, own: set[str], shared: tuple[str, ...]) -> None:
    staying_names = _bring_home(linked, folder, own)
    if folder.is_dir():
        shadow_home.prepare(HomeParts(frozenset((*own, *staying_names)), shared), folder, linked)


def _list_names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def _bring_home(linked: Path, folder: Path, own: set[str]) -> list[str]:
    """Move what is no link into the account's folder, and return the names of what stays here.

    Of two files the newer counts. own: what is ours.
    """
    staying_names = []
    for name in _list_names(linked):
        place = linked / name
        target = folder / name
        if name in own or place.is_symlink():
            continue
        if name.endswith(_UNDER_WAY) or (place.is_dir() and os.path.lexists(target)):
            staying_names.append(name)
        elif place.is_dir():
            make_folder(folder)
            shutil.move(place, target)
        else:
            make_folder(folder)
            _replace_file(place, target)
    return staying_names


def _replace_file(place: Path, target: Path) -> None:
    """Put a file in the place of another that is not newer, and a link in its own. No moment is without either."""
    if not target.exists() or target.stat().st_mtime_ns < place.stat().st_mtime_ns:
        fresh = target.with_name(f".{target.name}.{os.getpid()}.new")
        shutil.copy2(place, fresh)
        fresh.replace(target)
    link = place.with_name(f".{place.name}.{os.getpid()}.link")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    link.replace(place)


def _link_beside(parts: LinkedHome, home: Path, linked: Path) -> None:
    for name in parts.beside:
        if os.path.lexists(home / name) and not os.path.lexists(linked / name):
            (linked / name).symlink_to(home / name)
