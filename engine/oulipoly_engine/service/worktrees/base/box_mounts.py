"""Work trees in a folder that is written, with what git of the user's runs out of them by its configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.boxes.box import Access, Mount
from oulipoly_engine.process.boxes.worktree import mount_worktree
from oulipoly_engine.process.script import EXEC, run_script
from oulipoly_engine.records import replace
from oulipoly_engine.service.worktrees.base.git import clean_environment

_PATIENCE_S = 10.0
_PROGRAMS = ("core.hookspath", "core.fsmonitor")  # relative to the work tree
_DEEPEST = 3  # folders below the one that is given
_MOST_FOLDERS = 2000  # that are looked into


def mount_trees(root: Path) -> tuple[Mount, ...]:
    """Return the mounts of a folder that is written, and of the work trees in it: what runs later is read-only there.

    root: absolute, and no link. Looked for is not deeper than three folders, and not in hidden ones. Whoever wrote
    there before may have left a link at any of these paths, to be shown more: `Mount.within`.
    """
    mounts = [Mount(str(root), Access.WRITE)]
    for tree in _find_trees(root):
        of_tree = mount_tree(tree)
        # A repository elsewhere is opened for the very tree that was given, not for one that lies in it.
        mounts += of_tree if tree == root else (mount for mount in of_tree if Path(mount.path).is_relative_to(tree))
    return tuple(replace(mount, within=str(root)) if root in Path(mount.path).parents else mount for mount in mounts)


def _find_trees(root: Path) -> Iterator[Path]:
    """Yield the work trees, outer ones first: a mount of an inner one lies over them."""
    folders = [(root, 0)]
    for folder, depth in folders:
        if os.path.lexists(folder / ".git"):
            yield folder
        with suppress(OSError), os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
            if depth < _DEEPEST and len(folders) < _MOST_FOLDERS:
                folders += ((folder / name, depth + 1) for name in names if name[0] != "." and name != "node_modules")


def mount_tree(tree: Path, branch: str = "") -> tuple[Mount, ...]:
    """Return the mounts of a work tree that is written, as `mount_worktree`, with what its git is configured to run.

    Folders around a program are mounted before what is read-only in them.
    """
    mounts = mount_worktree(tree, branch)
    programs = list_programs(tree)
    known = {mount.path for mount in mounts}
    around = {str(folder) for path in programs for folder in Path(path).parents if tree in folder.parents}
    first = next(place for place, mount in enumerate(mounts) if mount.access is Access.READ)
    folders = [Mount(path, Access.WRITE, is_optional=True, within=str(tree)) for path in sorted(around - known)]
    own = [Mount(path, Access.READ, is_optional=True, within=str(tree)) for path in programs]
    if (tree / ".git").is_file():  # of a submodule, or of a tree whose repository is not known: it says where hooks lie
        own.append(Mount(str(tree / ".git"), Access.READ, within=str(tree)))
    return (*mounts[:first], *folders, *mounts[first:], *own)


def list_programs(root: Path) -> tuple[str, ...]:
    """Return the paths in a work tree that its git runs, or takes more configuration from: they may not be there.

    Git is asked, which reads the user's and the system's settings too; it runs nothing for that. Without git: none.
    """
    words = ("git", "-C", str(root), "config", "-z", "--show-origin", "--list")
    ended = run_script(EXEC, clean_environment(), arguments=words, timeout_s=_PATIENCE_S)
    paths = {os.path.normpath(path) for path in _list_paths(root, os.fsdecode(ended.stdout))}
    return tuple(sorted(path for path in paths if Path(path).is_relative_to(root) and path != str(root)))


def _list_paths(root: Path, listed: str) -> Iterator[Path]:
    """Yield each path that is named. listed: what git prints: origin, NUL, key, newline, value, NUL, and so on."""
    fields = listed.split("\0")
    for origin, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        path = os.path.expanduser(value)  # noqa: PTH111 - Path's own raises for an unknown user
        if key in _PROGRAMS:
            yield root / path
        elif key.startswith(("include.", "includeif.")) and key.endswith(".path"):
            yield root / Path(origin.removeprefix("file:")).parent / path
