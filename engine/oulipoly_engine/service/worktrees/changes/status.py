"""What differs in a session's folder: one `git status`, and how far its branch is from the base."""

from __future__ import annotations

import os

from oulipoly_engine.core.worktrees.changes import ChangeSet
from oulipoly_engine.core.worktrees.porcelain import MOST_ENTRIES, ChangeEntry, Status, parse_status
from oulipoly_engine.core.worktrees.refusals import ChangesTimedOut, FileTooLarge, GitUnavailable
from oulipoly_engine.records import replace
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.orders import look, refusal
from oulipoly_engine.service.worktrees.base.place import (
    Checkout,
    Place,
    base_reference,
    open_checkout,
)
from oulipoly_engine.service.worktrees.base.unread import pass_over_large

# A status inside of a submodule would run what that one's own configuration names.
_READING_S = 600.0  # for all that may have changed
_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--ignore-submodules=dirty")


def read_status(quiet: Git, limit: int = MOST_ENTRIES, timeout_s: float = 10.0) -> Status:
    """Return what git says of a worktree. quiet: of `for_looking`. Raises RequestRefused."""
    result = look(quiet, *_STATUS, timeout_s=timeout_s)
    is_cut = result.problem is not None and result.problem.startswith("printed more")
    if not result.succeeded and not is_cut:
        raise refusal(quiet, _STATUS, result)
    return parse_status(result.stdout, limit, is_whole=not is_cut)


def _look_quickly(quiet: Git) -> Status:
    """Return the status without reading large files: those whose time has changed count as changed."""
    with pass_over_large(quiet) as (passing, names):
        status = read_status(passing)
    known = {entry.path for entry in status.unstaged}
    unread = tuple(ChangeEntry(name, "M") for name in names if name not in known)
    return replace(status, unstaged=(*unread, *status.unstaged)) if unread else status


def change_set(place: Place) -> ChangeSet:
    """Return what differs in a session's folder. Where git is not available, that and why is what is told."""
    try:
        checkout = open_checkout(place)
    except ChangesTimedOut:
        raise
    except GitUnavailable as error:
        return ChangeSet(git_available=False, reason=error.message, branch=place.branch or None, base=place.base)
    status = _look_quickly(checkout.quiet)
    base, start = base_reference(checkout)
    ahead, behind = count_commits(checkout, start)
    return ChangeSet(
        git_available=True,
        branch=status.branch,
        head=status.head,
        base=base,
        ahead=ahead,
        behind=behind,
        staged=status.staged,
        unstaged=status.unstaged,
        is_cut=status.is_cut,
    )


def count_commits(checkout: Checkout, start: str) -> tuple[int | None, int | None]:
    """Return how many commits HEAD has that another commit does not, and the other way; None: one of them is none.

    start: a full reference, or a commit.
    """
    if not start:
        return None, None
    result = look(checkout.quiet, "rev-list", "--left-right", "--count", f"{start}...HEAD", "--")
    if not result.succeeded:
        return None, None
    behind, ahead = os.fsdecode(result.stdout).split()
    return int(ahead), int(behind)


def uncommitted_files(quiet: Git) -> tuple[str, ...]:
    """Return the files that differ from the last commit, untracked ones among them, each once.

    Large ones whose time has changed are read whole for that, which may take minutes: an order is to be right.
    Raises FileTooLarge where there are more than can be looked at: a part would pass for all.
    """
    status = read_status(quiet, limit=1 << 30, timeout_s=_READING_S)
    if status.is_cut:
        raise FileTooLarge(f"{quiet.folder} has more changed files than are looked at: commit, remove or ignore some")
    return tuple(dict.fromkeys(one.path for one in (*status.staged, *status.unstaged)))
