"""Take away what is left of a worktree: its folder, git's own folder for it, and a branch that was made for it."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.worktrees.worktrees import FOLDER, Worktree
from oulipoly_engine.service.worktrees.git import Git, GitFailed
from oulipoly_engine.service.worktrees.repository import LONG_S, commit_of, find_admin_folder, read_link_file


def discard(worktree: Worktree) -> None:
    """Take back a worktree that was never ready, or whose contents are kept. Raises GitFailed and OSError."""
    take_away(worktree)
    if worktree.is_new_branch:
        delete_branch(worktree, worktree.base_commit)


def take_away(worktree: Worktree) -> None:
    """Remove a worktree's folder with git, or without it where git was cut off half-way. Links are not followed."""
    path, git_folder = Path(worktree.path), Path(worktree.git_folder)
    refuse_foreign(worktree)
    if git_folder.is_dir() and find_admin_folder(git_folder, path) is not None:
        _git(worktree).run("worktree", "remove", "--force", "--force", "--", str(path), timeout_s=LONG_S)
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
        if names == path / ".git" or (names is None and admin.name == path.name and not (admin / "HEAD").exists()):
            found.append(admin)
    return found


def _is_elsewhere(folder: Path) -> bool:
    return os.path.realpath(folder) != str(folder)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
