"""Fill a worktree that was just added, without any files, with what a salvage holds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from oulipoly_engine.core.worktrees.worktree_refusals import SalvageFailed
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.repository import LONG_S, check, find_admin_folder
from oulipoly_engine.service.worktrees.salvage.scratch import LARGE, Entry, Scratch, scratch
from oulipoly_engine.service.worktrees.salvage.take import Salvage, is_sparse
from oulipoly_engine.service.worktrees.setup.files import make_folders

_GITLINK = "160000"
_STATE = "state/"


def bring_back(path: Path, git_folder: Path, salvage: Salvage) -> None:
    """Give a worktree its index, its files and git's state of it. Raises GitFailed, OSError and SalvageFailed."""
    admin = find_admin_folder(git_folder, path)
    if admin is None:
        raise SalvageFailed(f"git does not know the worktree {path}, which it has just made: try again")
    git = Git(path, {"GIT_DIR": str(admin), "GIT_WORK_TREE": str(path)})
    with scratch(git) as work:
        _restore_state(work, admin, salvage)
        # A file that git is told to pass over was there, unless the worktree had only some of its files on purpose.
        every = ("--ignore-skip-worktree-bits",) if _passes_over(git) and not is_sparse(git) else ()
        check(git, "checkout-index", "--all", "--force", "--quiet", "--index", *every, timeout_s=LONG_S)
        _restore_files(work, path, salvage)


def _passes_over(git: Git) -> bool:
    return any(line.startswith(b"S ") for line in check(git, "ls-files", "-t", "-z", output_limit=LARGE).split(b"\0"))


def _restore_state(work: Scratch, admin: Path, salvage: Salvage) -> None:
    """Write git's own files of the worktree, HEAD and the index among them."""
    found = [one for one in work.list_tree(salvage.state) if one.path.startswith(_STATE)]
    if not found:  # git knew nothing of the worktree any more
        work.git.check("symbolic-ref", "HEAD", f"refs/heads/{salvage.branch}")
        work.git.check("read-tree", salvage.index)
        return
    targets = [(one, admin / one.path.removeprefix(_STATE)) for one in found]
    for _one, target in targets:
        make_folders(admin, target.parent)
    work.write_files(targets, admin / "restoring")


def _restore_files(work: Scratch, path: Path, salvage: Salvage) -> None:
    """Write what differed from the index, and what git did not know, byte by byte."""
    changed = []
    for mode, blob, letter, name in _differences(work.git, salvage):
        if mode == _GITLINK:
            continue  # `set_submodules`
        if letter == "D":
            _delete(path, name)
        else:
            changed.append(Entry(mode, blob, name))
    changed += work.list_tree(salvage.untracked)
    for one in changed:
        _make_way(path, path / one.path)
    work.write_files([(one, path / one.path) for one in changed], path / ".git-restoring")


def set_submodules(path: Path, salvage: Salvage) -> None:
    """Check out in the submodules what was checked out there, where that is not what the index says."""
    for mode, commit, _letter, name in _differences(Git(path), salvage):
        if mode == _GITLINK and (path / name / ".git").exists():
            Git(path / name).run("checkout", "--quiet", "--detach", commit, timeout_s=LONG_S)


def _differences(git: Git, salvage: Salvage) -> Iterator[tuple[str, str, str, str]]:
    """Yield (mode, object, git's letter, name) of what differed from the index; a file that was gone has mode 0."""
    words = ("diff-tree", "-r", "-z", "--no-renames", "--raw", salvage.index, salvage.commit)
    told = os.fsdecode(check(git, *words, output_limit=LARGE)).split("\0")[:-1]
    for line, name in zip(told[::2], told[1::2], strict=True):
        _, mode, _, blob, letter = line.split(" ")
        yield mode, blob, letter, name


def _make_way(root: Path, target: Path) -> None:
    """Make a file's folders; a link or a file where one has to be goes away, for the files came in its place."""
    for folder in reversed(target.relative_to(root).parents[:-1]):
        place = root / folder
        if place.is_symlink() or place.is_file():
            place.unlink()
    make_folders(root, target.parent)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)


def _delete(root: Path, name: str) -> None:
    target = root / name
    if any((root / folder).is_symlink() for folder in target.relative_to(root).parents[:-1]):
        return
    if os.path.lexists(target) and (target.is_symlink() or not target.is_dir()):
        target.unlink()
