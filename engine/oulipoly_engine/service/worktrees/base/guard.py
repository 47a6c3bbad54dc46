"""Before every start: is a session's worktree what it was made as? Nothing runs in another folder instead."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.core.worktrees.worktree_refusals import WorktreeBlocked, WorktreeBusy
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.service.worktrees.base.repository import PATIENCE_S, find_admin_folder, lock_of, read_link_file
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.worktrees import worktrees

_BRANCHES = "refs/heads/"
# Where git notes the branch that it takes HEAD from while it moves it.
_NAMES_OF_HEAD = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
_STATES = {
    "creating": "is not finished: if nobody makes it any more, begin a new session",
    "failed": "could not be made: begin a new session",
    "removing": "is being removed: `agents worktree list` settles a removal that was cut off",
    "removed": "was removed: `agents worktree restore {id}` brings it back",
}


def guard(store: Store, session_id: str, folder: str | None = None) -> None:
    """Raise WorktreeBlocked unless a session may be started. A session without a worktree may.

    folder: where it would be started, which may be the worktree that a session was forked from; None: where its own is.
    """
    worktree = _find(store, session_id, folder)
    if worktree is None:
        return
    if worktree.state != "ready":
        way = _STATES[worktree.state].format(id=session_id)
        raise WorktreeBlocked(
            f"the worktree of session {session_id} {way}" + (f" ({worktree.reason})" if worktree.reason else ""),
        )
    if folder is not None and folder != worktree.path:
        raise WorktreeBlocked(
            f"session {session_id} would start in {folder}, and its worktree is {worktree.path}: nothing was started"
        )
    check_worktree(worktree)


@contextmanager
def hold_for_start(store: Store, locks: Path, session_id: str, folder: str) -> Iterator[None]:
    """Guard a session, and hold its worktree for the block: nobody removes it before the session is seen to run.

    Raises WorktreeBlocked, and WorktreeBusy where another process works on the worktree for long.
    """
    guard(store, session_id, folder)
    worktree = _find(store, session_id, folder)
    if worktree is None:
        yield
        return
    with hold_lock(lock_of(locks, worktree.session_id), PATIENCE_S) as is_ours:
        if not is_ours:
            raise WorktreeBusy(f"another process works on the worktree of session {session_id}: try again later")
        guard(store, session_id, folder)  # once more: it may have gone while the lock was waited for
        yield


def _find(store: Store, session_id: str, folder: str | None) -> Worktree | None:
    return worktrees.find(store, session_id) or (None if folder is None else worktrees.find_at(store, folder))


def check_worktree(worktree: Worktree) -> None:
    """Raise WorktreeBlocked unless path, `.git` file and branch are those that the worktree was made with."""
    branch = branch_of(check_place(worktree))
    if branch != worktree.branch:
        raise WorktreeBlocked(
            f"{worktree.path} is on {f'the branch {branch}' if branch else 'no branch'}, not on {worktree.branch}: "
            f"run `git switch {worktree.branch}` there"
        )


def check_place(worktree: Worktree) -> Path:
    """Return git's own folder of a worktree. Raises WorktreeBlocked unless path and `.git` file are those of then."""
    path, git_folder = Path(worktree.path), Path(worktree.git_folder)
    restore = f"`agents worktree remove {worktree.session_id}` and `restore` make it anew; what is in it is kept"
    if not git_folder.is_dir():
        raise WorktreeBlocked(
            f"the repository {worktree.repository} is gone: move it to where it was, or begin a new session"
        )
    if not os.path.lexists(path):
        raise WorktreeBlocked(f"the worktree {path} was deleted: {restore}")
    if path.is_symlink() or not path.is_dir() or os.path.realpath(path) != worktree.path:
        raise WorktreeBlocked(f"{path} leads elsewhere, to {os.path.realpath(path)}: put the folder back; {restore}")
    admin = read_link_file(path / ".git", path, "gitdir: ")
    own = find_admin_folder(git_folder, path)
    if own is None:
        raise WorktreeBlocked(f"git does not know the worktree {path} any more: {restore}")
    if admin is None or os.path.realpath(admin) != str(own):
        raise WorktreeBlocked(
            f"{path}/.git does not lead to {own}, so git would change something else: "
            f"write `gitdir: {own}` into it, or {restore}"
        )
    shared = read_link_file(own / "commondir", own)
    if shared is None or os.path.realpath(shared) != str(git_folder):
        raise WorktreeBlocked(f"{own} does not belong to {git_folder}: {restore}")
    return own


def branch_of(admin: Path) -> str:
    """Return the branch that a worktree is on, also in the middle of a rebase or a bisection; empty: none."""
    head = _read(admin / "HEAD")
    if head.startswith(f"ref: {_BRANCHES}"):
        return head.removeprefix(f"ref: {_BRANCHES}")
    for name in _NAMES_OF_HEAD:
        text = _read(admin / name)
        if text:
            return text.removeprefix(_BRANCHES)
    return ""


def _read(file: Path) -> str:
    try:
        return "" if file.is_symlink() or not file.is_file() else os.fsdecode(file.read_bytes()).strip()
    except OSError:
        return ""
