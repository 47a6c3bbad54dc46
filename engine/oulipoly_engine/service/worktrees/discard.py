"""Take away what is left of a worktree: its folder, git's own folder for it, and a branch that was made for it."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.worktrees.worktrees import FOLDER, Worktree
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed
from oulipoly_engine.service.worktrees.base.repository import commit_of, read_link_file


def discard(worktree: Worktree) -> None:
    """Take back a worktree that was never ready, or whose contents are kept. Raises GitFailed and OSError."""
    take_away(worktree)
    if worktree.is_new_branch:
        delete_branch(worktree, worktree.base_commit)


def take_away(worktree: Worktree) -> None:
    """Remove a worktree's folder and what git keeps for it. A link in its place goes, and what it leads to stays.

    `git worktree remove` would empty the folder that such a link leads to, of which nothing is kept.
    """
    path, git_folder = Path(worktree.path), Path(worktree.git_folder)
    refuse_foreign(worktree)
    if os.path.lexists(path):
        _delete(path)
    # `git worktree prune` would do it for the worktrees of others as well, whose disk may only be away for now.
    for admin in _admin_folders(git_folder, path):
        _delete(admin)


def refuse_foreign(worktree: Worktree) -> None:
    """Raise GitFailed unless the path is just below our own folder of the repository, not behind a link."""
    path, folder = Path(worktree.path), Path(worktree.repository) / FOLDER
    if path.parent != folder or path.name != worktree.session_id or (folder.exists() and _is_elsewhere(folder)):
        raise GitFailed(f"{path} is not in the folder of worktrees of {worktree.repository}: nothing was removed")


def delete_branch(worktree: Worktree, commit: str) -> bool:
    """Delete a branch if it is still at a commit. Returns whether it was deleted."""
    git_folder = Path(worktree.git_folder)
    if not git_folder.is_dir():
        return False
    with suppress(OSError):  # left by a git that was killed; only this session's steps touch the branch
        (git_folder / "refs" / "heads" / f"{worktree.branch}.lock").unlink()
    git = _git(worktree)
    if commit_of(git, f"refs/heads/{worktree.branch}") != commit:
        return False
    git.check("update-ref", "-d", f"refs/heads/{worktree.branch}", commit)
    return True


def _git(worktree: Worktree) -> Git:
    """Return git in the shared folder itself, which is there also where the main checkout has been moved away."""
    return Git(Path(worktree.git_folder))


def _admin_folders(git_folder: Path, path: Path) -> list[Path]:
    """Return what git keeps for a worktree, also where it was cut off before it had written whose that is."""
    folder = git_folder / "worktrees"
    found = []
    for admin in sorted(folder.iterdir()) if folder.is_dir() else ():
        names = read_link_file(admin / "gitdir", admin)
        # One that names nobody is ours by its own name, a session's id: a kill may have cut its making or its removal.
        if names == path / ".git" or (names is None and admin.name == path.name):
            found.append(admin)
    return found


def _is_elsewhere(folder: Path) -> bool:
    return os.path.realpath(folder) != str(folder)


def _delete(path: Path) -> None:
    """Delete a file, a link or a folder, in the folder that is there now: an agent may put a link in its place."""
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if stat.S_ISDIR(os.stat(path.name, dir_fd=parent, follow_symlinks=False).st_mode):
            shutil.rmtree(path.name, dir_fd=parent)
        else:
            os.unlink(path.name, dir_fd=parent)
    finally:
        os.close(parent)
