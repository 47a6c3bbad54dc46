"""What is known of a worktree at a moment, and whether it may go by itself. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.records import Record

BY_ITSELF = "it went by itself: "
_NAMED = 3  # worktrees in one line
_IGNORED_NAMED = 10


class Look(Record):
    """What git says of a worktree."""

    exists: bool = False  # its folder is there
    head: str = ""
    ahead: int | None = None  # commits that its base has not; None: the base is gone
    behind: int | None = None
    changed_files: int = 0  # staged, not staged and untracked ones
    untracked_files: int = 0
    unfinished: str = ""  # merge, rebase, cherry-pick, revert, bisection, patch
    is_merged: bool = False  # all its commits are in its base, or what they change is
    problem: str = ""  # why it cannot be looked at, or may not be used


class WorktreeStatus(Record):
    """A worktree with what is known of it now."""

    worktree: Worktree
    look: Look
    is_running: bool = False
    size_bytes: int | None = None  # of its folder on the disk; None: it was not counted, or is not there
    is_size_cut: bool = False  # it is larger: counting took too long
    awaited: str = ""  # why its session needs it soon though it does not run; empty: it does not
    ignored: tuple[str, ...] = ()  # what git ignores and a removal does not keep; known where one is at hand


class KeptReference(Record):
    """A reference of git's that keeps what a removal, a move or a discard would have lost."""

    name: str
    commit: str
    session_id: str
    kind: str  # salvage, backup, discarded, turn
    made_at: datetime
    holds: str  # in words; foreign
    git_folder: str = ""  # of a turn's: its session may have no worktree


def why_kept(status: WorktreeStatus) -> str:
    """Return why a worktree does not go by itself; empty: it is clean, merged, and nobody works in it."""
    worktree, look = status.worktree, status.look
    if worktree.state != "ready":
        return f"it is {worktree.state}"
    if status.is_running:
        return "its session runs"
    if status.awaited:
        return status.awaited
    if not look.exists:
        return look.problem or "its folder was deleted"
    if look.problem:
        return look.problem
    if look.unfinished:
        return f"it has an unfinished {look.unfinished}"
    if look.changed_files:
        return f"it has {describe_changes(look)}"
    if not look.is_merged:
        return "it has commits that are not merged" if worktree.base else "its base is gone"
    return ""


def why_unused(days: int) -> str:
    """Return the reason of a removal that nobody has ordered, as the worktree's record keeps it."""
    return f"{BY_ITSELF}clean, merged and unused for {days} days"


def went_by_itself(worktree: Worktree) -> bool:
    """Tell whether a worktree was removed without anybody's order."""
    return worktree.state == "removed" and worktree.reason.startswith(BY_ITSELF)


def describe_gone(gone: Sequence[Worktree]) -> str:
    """Say which worktrees went by themselves and how they come back, on one line."""
    names = ", ".join(worktree.session_id[:8] for worktree in gone[:_NAMED])
    more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
    subject = "1 unused worktree, clean and merged, was" if len(gone) == 1 else f"{len(gone)} unused ones were"
    return f"{subject} removed: {names}{more}; `agents worktree restore ID` brings one back"


def describe_ignored(names: Sequence[str]) -> str:
    """Name files and folders that git ignores, with their count."""
    more = f" and {len(names) - _IGNORED_NAMED} more" if len(names) > _IGNORED_NAMED else ""
    return f"{', '.join(names[:_IGNORED_NAMED])}{more} (files and whole folders: {len(names)})"


def describe_changes(look: Look) -> str:
    """Say how many files have changes that are not committed."""
    return "1 changed file" if look.changed_files == 1 else f"{look.changed_files} changed files"


def describe_size(status: WorktreeStatus) -> str:
    """Return the size of a worktree's folder in words; `-` where nothing of it was counted in time."""
    if status.size_bytes is None or (status.is_size_cut and not status.size_bytes):
        return "-"
    return f"> {size_text(status.size_bytes)}" if status.is_size_cut else size_text(status.size_bytes)
