"""Ignored files of the main checkout, copied or linked into a worktree; never through a link that leads elsewhere."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from oulipoly_engine.core.worktrees.setup_file import NAME, Setup
from oulipoly_engine.core.worktrees.worktree_refusals import SetupFailed


def bring_files(repository: Path, worktree: Path, setup: Setup) -> None:
    """Copy and link what the settings name and the main checkout has; what the worktree has already stays.

    Raises SetupFailed for a path that leads out of the repository.
    """
    for name in (*setup.copy, *setup.link):
        source, target = repository / name.rstrip("/"), worktree / name.rstrip("/")
        if not os.path.lexists(source):
            continue  # an ignored file need not be there
        _refuse_links(repository, source, name)
        _refuse_links(worktree, target, name)
        if os.path.lexists(target):
            continue
        make_folders(worktree, target.parent)
        try:
            if name in setup.link:
                target.symlink_to(source)
            else:
                _copy(source, target)
        except OSError as error:
            raise SetupFailed(f"{NAME}: {name!r} cannot be copied: {error.strerror or error}") from error


def _refuse_links(root: Path, path: Path, name: str) -> None:
    for folder in path.parents:
        if folder == root:
            return
        if folder.is_symlink():
            raise SetupFailed(f"{NAME}: {name!r} leads through the link {folder}: name a path without links")


def _copy(source: Path, target: Path) -> None:
    """Copy a file, a folder or a link as what it is; what is neither is left out."""
    mode = source.lstat().st_mode
    if stat.S_ISLNK(mode) or stat.S_ISREG(mode):
        shutil.copy2(source, target, follow_symlinks=False)
    elif stat.S_ISDIR(mode):
        target.mkdir()
        for entry in sorted(source.iterdir()):
            _copy(entry, target / entry.name)


def make_folders(root: Path, folder: Path) -> None:
    """Make the folders between a worktree's root and one below it, by the user's umask as git does."""
    missing = []
    while folder != root and not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir()
