"""One lock a repository, around whatever makes or removes worktrees or moves branches, in all processes of ours."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.process.lock import hold_lock_with_children
from oulipoly_engine.service.worktrees.git import Git

_PATIENCE_S = 30.0


class RepositoryBusy(RequestRefused):
    """Another process of ours changes the same repository."""

    slug = "repository-busy"


@contextmanager
def lock_repository(locks: Path, folder: Path, patience_s: float = _PATIENCE_S) -> Iterator[int]:
    """Hold the lock of the repository that a folder belongs to for the block; it cannot be taken twice.

    Yields its descriptor, for calls of git that shall hold the lock as well (`keeps`): after a kill nobody else begins
    before the last of them has ended.

    locks: `Paths.locks`. folder: any worktree of the repository. Raises RepositoryBusy after patience_s, and GitFailed
    where the folder is not in a repository.
    """
    with hold_lock_with_children(lock_path(locks, common_folder(Git(folder))), patience_s) as descriptor:
        if descriptor is None:
            raise RepositoryBusy(
                f"another process works on the branches of {folder} for more than {patience_s:g} s: try again later"
            )
        yield descriptor


def common_folder(git: Git) -> Path:
    """Return the folder that all worktrees of a repository share. Raises GitFailed outside of a repository."""
    told = git.text("rev-parse", "--git-common-dir")
    return Path(os.path.realpath(git.folder / told))


def lock_path(locks: Path, common: Path) -> Path:
    """Return where the lock of a repository lies, by its common folder."""
    return locks / f"repository-{hashlib.sha256(os.fsencode(common)).hexdigest()[:32]}.lock"
