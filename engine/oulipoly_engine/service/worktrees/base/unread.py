"""Large files that git would read whole for a status, since their time has changed and their size may have stayed.

A look must not take as long as a disk needs for gigabytes, each time anew, for a look leaves git's index as it is.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from oulipoly_engine.service.worktrees.base.git import Git, join_names

_READ_AT_MOST = 64 << 20  # bytes in one look, the smallest files first: half a second of a busy machine
_LARGE = 1 << 28  # bytes of output


@contextmanager
def pass_over_large(git: Git) -> Iterator[tuple[Git, tuple[str, ...]]]:
    """Yield git that takes the large files which it would have to read for unchanged, and the names of those.

    git: in the top folder of a worktree. They may be as they were, or not: their time has changed.
    """
    names = _find_large(git)
    if not names:
        yield git, ()
        return
    with TemporaryDirectory(prefix="agent-runner-") as folder:
        index = Path(folder) / "index"
        shutil.copy2(git.folder / git.text("rev-parse", "--git-path", "index"), index)
        passing = Git(git.folder, {**git.env, "GIT_INDEX_FILE": str(index)}, git.keeps)
        passing.check("update-index", "-z", "--assume-unchanged", "--stdin", stdin=join_names(names))
        yield passing, names


def _find_large(git: Git) -> tuple[str, ...]:
    """Return what `diff-files` names by its time and size alone, as far as it is too much to be read."""
    told = git.run("diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all", output_limit=_LARGE)
    if not told.succeeded:  # the status itself says why
        return ()
    sizes = sorted(_sizes(git.folder, os.fsdecode(told.stdout).split("\0")[:-1]))
    total = 0
    for place, (size, _name) in enumerate(sizes):
        total += size
        if total > _READ_AT_MOST:
            return tuple(name for _size, name in sizes[place:])
    return ()


def _sizes(folder: Path, names: list[str]) -> Iterator[tuple[int, str]]:
    for name in names:
        with suppress(OSError):
            status = (folder / name).lstat()
            if stat.S_ISREG(status.st_mode):
                yield status.st_size, name
