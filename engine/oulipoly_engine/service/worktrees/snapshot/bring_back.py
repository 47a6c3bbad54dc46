"""Fill a worktree that was just added, without any files, with what a salvage holds."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.core.worktrees.worktree_refusals import SalvageFailed
from oulipoly_engine.records import replace
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.repository import LONG_S, find_admin_folder
from oulipoly_engine.service.worktrees.snapshot.objects import GITLINK, Objects, open_objects
from oulipoly_engine.service.worktrees.snapshot.salvage import Salvage, is_sparse

_STATE = "state/"


def bring_back(path: Path, git_folder: Path, salvage: Salvage) -> None:
    """Give a worktree its index, its files and git's state of it. Raises GitFailed, OSError and SalvageFailed."""
    admin = find_admin_folder(git_folder, path)
    if admin is None:
        raise SalvageFailed(f"git does not know the worktree {path}, which it has just made: try again")
    git = Git(path, {"GIT_DIR": str(admin), "GIT_WORK_TREE": str(path)})
    with open_objects(git) as work:
        _restore_state(work, admin, salvage)
        # A file that git is told to pass over was there, unless the worktree had only some of its files on purpose.
        is_whole = _passes_over(work) and not is_sparse(git)
        every = ("--ignore-skip-worktree-bits",) if is_whole else ()
        git.check("checkout-index", "--all", "--force", "--quiet", "--index", *every, timeout_s=LONG_S)
        # Byte by byte, what differed from the index, and what git did not know.
        differences = work.differences(salvage.index, salvage.commit)
        changes = [(entry, letter) for entry, letter in differences if entry.mode != GITLINK]
        entries = [entry for entry, letter in changes if letter != "D"]
        gone = [entry.path for entry, letter in changes if letter == "D"]
        work.restore(path, [*entries, *work.list_tree(salvage.untracked)], gone)


def _passes_over(work: Objects) -> bool:
    return any(line.startswith("S ") for line in work.names("ls-files", "-t", "-z"))


def _restore_state(work: Objects, admin: Path, salvage: Salvage) -> None:
    """Write git's own files of the worktree, HEAD and the index among them."""
    entries = [entry for entry in work.list_tree(salvage.state) if entry.path.startswith(_STATE)]
    if not entries:  # git knew nothing of the worktree any more
        work.run("symbolic-ref", "HEAD", f"refs/heads/{salvage.branch}")
        work.run("read-tree", salvage.index)
    work.restore(admin, [replace(entry, path=entry.path.removeprefix(_STATE)) for entry in entries])


def set_submodules(path: Path, salvage: Salvage) -> None:
    """Check out in the submodules what was checked out there, where that is not what the index says."""
    with open_objects(Git(path)) as work:
        for entry, _letter in work.differences(salvage.index, salvage.commit):
            if entry.mode == GITLINK and (path / entry.path / ".git").exists():
                Git(path / entry.path).run("checkout", "--quiet", "--detach", entry.blob, timeout_s=LONG_S)
