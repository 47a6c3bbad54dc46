"""One lock a repository, around whatever makes or removes worktrees or moves branches, in all processes of ours."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.process.lock import hold_lock_with_children
from oulipoly_engine.service.worktrees.base.git import Git, hold_in_children

_PATIENCE_S = 60.0


class RepositoryBusy(RequestRefused, slug="repository-busy"):
    """Another process of ours changes the same repository."""


@contextmanager
def lock_repository(locks: Path, common: Path, patience_s: float = _PATIENCE_S) -> Iterator[None]:
    """Hold the lock of a repository for the block, also where its folders are gone; it cannot be taken twice.

    Each git that is started in the block holds it as well: after a kill nobody begins before the last has ended.

    locks: `Paths.locks`. common: as `common_folder` tells. Raises RepositoryBusy after patience_s.
    """
    with hold_lock_with_children(lock_path(locks, common), patience_s) as descriptor:
        if descriptor is None:
            raise RepositoryBusy(
                f"another process works on the branches of {common} for more than {patience_s:g} s: try again later"
            )
        with hold_in_children(descriptor):
            yield


def common_folder(git: Git) -> Path:
    """Return the folder that all worktrees of a repository share. Raises GitFailed outside of a repository."""
    told = git.text("rev-parse", "--git-common-dir")
    return Path(os.path.realpath(git.folder / told))


def lock_path(locks: Path, common: Path) -> Path:
    """Return where the lock of a repository lies, by its common folder."""
    return locks / f"repository-{hashlib.sha256(os.fsencode(common)).hexdigest()[:32]}.lock"
