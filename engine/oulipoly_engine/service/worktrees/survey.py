"""Look at worktrees: what differs, what is merged, how much room they take."""

from __future__ import annotations

import os
import time
from pathlib import Path

from oulipoly_engine.core.worktrees.retention import Look
from oulipoly_engine.core.worktrees.worktree_refusals import WorktreeBlocked
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.records import replace
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed
from oulipoly_engine.service.worktrees.base.guard import check_worktree
from oulipoly_engine.service.worktrees.base.looking import for_looking, offline
from oulipoly_engine.service.worktrees.base.repository import commit_of, find_admin_folder
from oulipoly_engine.service.worktrees.base.unread import pass_over_large

_STATUS_S = 10.0
_LARGE = 1 << 28  # bytes of output
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply/rebasing": "rebase",
    "rebase-apply": "patch",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "sequencer": "cherry-pick",
    "BISECT_LOG": "bisection",
}
_BLOCK = 512  # bytes in a unit of `st_blocks`, whatever the file system
_MAIN = "HEAD"


def look_at(worktree: Worktree) -> Look:
    """Return what git says of a worktree. Never raises; `problem` says what went wrong."""
    path, git_folder = Path(worktree.path), Path(worktree.git_folder)
    if not git_folder.is_dir():
        return Look(exists=path.is_dir(), problem=f"the repository {worktree.repository} is gone")
    admin = find_admin_folder(git_folder, path)
    exists = path.is_dir() and not path.is_symlink()
    try:
        shared = for_looking(offline(Git(git_folder, {"GIT_DIR": str(git_folder)})))
        own = None
        if exists and admin is not None:
            own = for_looking(offline(Git(path, {"GIT_DIR": str(admin), "GIT_WORK_TREE": str(path)})))
        head = (commit_of(own, "HEAD") if own else None) or commit_of(shared, f"refs/heads/{worktree.branch}") or ""
        look = _compare(shared, worktree, Look(exists=exists, head=head))
        if own is not None and admin is not None:
            look = _add_changes(own, admin, look)
    except (GitFailed, OSError) as error:
        return Look(exists=exists, problem=str(getattr(error, "message", error)))
    if worktree.state == "ready":
        try:
            check_worktree(worktree)
        except WorktreeBlocked as error:
            return replace(look, problem=error.message)
    return look


def _compare(shared: Git, worktree: Worktree, look: Look) -> Look:
    """Add how the worktree's commits stand to those of its base."""
    base = _base_of(shared, worktree)
    if not look.head:
        return look
    if base is None:
        return replace(look, is_merged=is_merged(shared, worktree, look.head))
    counts = shared.text("rev-list", "--left-right", "--count", f"{base}...{look.head}").split()
    behind, ahead = int(counts[0]), int(counts[1])
    is_in = not ahead or is_merged(shared, worktree, look.head)
    return replace(look, ahead=ahead, behind=behind, is_merged=is_in)


def _base_of(shared: Git, worktree: Worktree) -> str | None:
    return commit_of(shared, f"refs/heads/{worktree.base}") or commit_of(shared, worktree.base)


def is_merged(shared: Git, worktree: Worktree, tip: str) -> bool:
    """Tell whether a commit is in the worktree's base or in what the main checkout stands at, or all it changes is.

    shared: of `for_looking`: it may merge.
    """
    return any(
        _is_in(shared, tip, onto)
        for onto in dict.fromkeys((_base_of(shared, worktree), commit_of(shared, _MAIN)))
        if onto is not None
    )


def _is_in(shared: Git, tip: str, onto: str) -> bool:
    if shared.run("merge-base", "--is-ancestor", tip, onto).succeeded:
        return True
    # Squashed or rebased into it: a merge would change nothing more. git before 2.38 cannot say so.
    merged = shared.run("merge-tree", "--write-tree", onto, tip)
    return merged.succeeded and os.fsdecode(merged.stdout).strip() == shared.text("rev-parse", f"{onto}^{{tree}}")


def _add_changes(git: Git, admin: Path, look: Look) -> Look:
    # Inside of a submodule git would run what that one's own configuration names; a removal looks there.
    words = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
    with pass_over_large(git) as (passing, unread):
        result = passing.run(*words, timeout_s=_STATUS_S, output_limit=_LARGE)
    if not result.succeeded:
        return replace(
            look, problem=f"git status: {result.stderr.decode('utf-8', 'replace').strip() or result.outcome}"
        )
    lines = result.stdout.split(b"\0")[:-1]
    return replace(
        look,
        changed_files=len({line[3:] for line in lines}.union(map(os.fsencode, unread))),
        untracked_files=sum(line.startswith(b"??") for line in lines),
        unfinished=next((word for name, word in _UNFINISHED.items() if (admin / name).exists()), ""),
    )


def measure(folder: Path, deadline: float) -> tuple[int, bool]:
    """Return (bytes on the disk, whether counting was cut off). deadline: of `time.monotonic`.

    A file with several names counts once; links are not followed, and other file systems are not looked into.
    """
    seen: set[tuple[int, int]] = set()
    total, rest = 0, [str(folder)]
    try:
        device = os.lstat(folder).st_dev
    except OSError:
        return 0, False
    while rest:
        if time.monotonic() > deadline:
            return total, True
        try:
            with os.scandir(rest.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if status.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                        if (status.st_dev, status.st_ino) in seen:
                            continue
                        seen.add((status.st_dev, status.st_ino))
                    total += status.st_blocks * _BLOCK
                    if entry.is_dir(follow_symlinks=False) and status.st_dev == device:
                        rest.append(entry.path)
        except OSError:  # it went away, or may not be read
            continue
    return total, False
