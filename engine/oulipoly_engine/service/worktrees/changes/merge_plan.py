"""What a merge would do, found out without moving anything: commits, files, conflicts, what is in the way."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from oulipoly_engine.core.worktrees.changes import CommitLine, MergePreview
from oulipoly_engine.core.worktrees.refusals import BranchRefused
from oulipoly_engine.records import Record
from oulipoly_engine.service.worktrees.base import tree_files
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.guard import branch_of as branch_on_the_way
from oulipoly_engine.service.worktrees.base.looking import for_looking
from oulipoly_engine.service.worktrees.base.orders import git_in, line_of, look, look_at, refusal
from oulipoly_engine.service.worktrees.base.place import Checkout, base_branch, branch_of, commit_of, has_branch
from oulipoly_engine.service.worktrees.changes.status import uncommitted_files

_MOST_COMMITS = 200


class MergePlan(Record):
    """A merge that can be carried out."""

    preview: MergePreview
    tree: str  # what the merged branch would hold; of no use where there are conflicts


class MergedTree(Record):
    """Two commits merged, without a worktree."""

    tree: str
    conflicts: tuple[str, ...] = ()


def merge_trees(quiet: Git, ours: str, theirs: str) -> MergedTree:
    """Merge two commits in the object store alone. Raises what git says, of unrelated histories for example.

    Source: git-merge-tree(1) of git 2.39: 0 is clean, 1 has conflicts; it prints the tree, then files in conflict.
    """
    words = ("merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", ours, theirs)
    result = look(quiet, *words, timeout_s=60.0)
    if result.problem is not None or result.exit_code not in (0, 1):
        raise refusal(quiet, words, result)
    tree, *names = os.fsdecode(result.stdout).split("\0")
    conflicts = names[: names.index("")] if "" in names else names
    return MergedTree(tree.strip(), tuple(dict.fromkeys(conflicts)) if result.exit_code == 1 else ())


def plan_merge(checkout: Checkout, into: str = "") -> MergePlan:
    """Return what merging a session's branch would do. into: a branch; empty: the one that it began at.

    Raises BranchRefused, and what git says.
    """
    quiet = checkout.quiet
    branch = branch_of(checkout)
    into = target_branch(checkout, into, branch)
    ours, theirs = _commit(quiet, into), _commit(quiet, branch)
    is_merged = _is_ancestor(quiet, theirs, ours)
    merged = MergedTree(line_of(quiet, "rev-parse", f"{ours}^{{tree}}"))
    if not is_merged:
        merged = merge_trees(quiet, ours, theirs)
    files = () if merged.conflicts else changed_files(quiet, ours, merged.tree)
    place = checkout_of(checkout.git, into)
    preview = MergePreview(
        branch=branch,
        into=into,
        branch_commit=theirs,
        into_commit=ours,
        commits=list_commits(quiet, ours, theirs),
        files=files,
        conflicts=merged.conflicts,
        is_fast_forward=_is_ancestor(quiet, ours, theirs),
        is_merged=is_merged,
        checkout=None if place is None else str(place),
        uncommitted=uncommitted_files(quiet),
        in_the_way=() if place is None or not files else files_in_the_way(place, ours, merged.tree, files),
    )
    return MergePlan(preview, merged.tree)


def target_branch(checkout: Checkout, into: str, branch: str) -> str:
    """Return the branch that a session's branch is merged into. Raises BranchRefused."""
    into = into.removeprefix("refs/heads/") or base_branch(checkout)
    if not into:
        base = checkout.place.base
        known = f"there is no branch {base!r}, where it began" if base not in ("", "HEAD") else "no base is known"
        raise BranchRefused(f"{branch!r} cannot be merged as it is: {known}; name the branch to merge into with --into")
    if not has_branch(checkout.quiet, into):
        raise BranchRefused(f"there is no branch {into!r} in this repository: `git branch` lists those that there are")
    if into == branch:
        raise BranchRefused(f"{branch!r} cannot be merged into itself: name another branch with --into")
    return into


def list_commits(quiet: Git, without: str, of: str) -> tuple[CommitLine, ...]:
    """Return the commits that one branch has and another has not, newest first, 200 at most."""
    told = line_of(quiet, "log", f"--max-count={_MOST_COMMITS}", "--format=%H %s", f"{without}..{of}", "--")
    return tuple(CommitLine(*line.split(" ", 1)) for line in told.split("\n") if " " in line)


def changed_files(quiet: Git, old: str, new: str) -> tuple[str, ...]:
    """Return the files in which two trees differ."""
    told = look_at(quiet, "diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new, timeout_s=60.0)
    return tuple(os.fsdecode(told).split("\0")[:-1])


def checkout_of(git: Git, branch: str) -> Path | None:
    """Return the folder where a branch is checked out; None: nowhere, or its folder is gone.

    Raises BranchRefused where a rebase or a bisection is to come back to the branch: it would find it moved.
    """
    folder = ""
    for line in os.fsdecode(look_at(git, "worktree", "list", "--porcelain", "-z")).split("\0"):
        if line.startswith("worktree "):
            folder = line.removeprefix("worktree ")
        elif line == f"branch refs/heads/{branch}" and Path(folder).is_dir():
            return Path(folder)
        elif line == "detached" and Path(folder).is_dir():
            admin = os.fsdecode(look(git_in(Path(folder)), "rev-parse", "--absolute-git-dir").stdout).rstrip("\n")
            if admin and branch_on_the_way(Path(admin)) == branch:
                raise BranchRefused(
                    f"{branch!r} is in the middle of a rebase or a bisection in {folder}: end that, and try again"
                )
    return None


def files_in_the_way(folder: Path, old: str, new: str, files: Iterable[str]) -> tuple[str, ...]:
    """Return the files of a checkout that a move from one tree to another would overwrite, ignored ones among them.

    files: in which the trees differ.
    """
    quiet = for_looking(git_in(folder))
    changed = set(files)
    found = {path for path in uncommitted_files(quiet) if path in changed}
    added = _added(quiet, old, new)
    found.update(tree_files.find_obstacles(folder, added, changed - added).values())
    return tuple(sorted(found))


def _added(quiet: Git, old: str, new: str) -> set[str]:
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", old, new)
    return set(os.fsdecode(look_at(quiet, *words, timeout_s=60.0)).split("\0")[:-1])


def _commit(quiet: Git, branch: str) -> str:
    found = commit_of(quiet, f"refs/heads/{branch}")
    if found is None:
        raise BranchRefused(f"the branch {branch!r} has no commit yet: commit something first")
    return found


def _is_ancestor(quiet: Git, first: str, second: str) -> bool:
    words = ("merge-base", "--is-ancestor", first, second)
    result = look(quiet, *words, timeout_s=60.0)
    if result.problem is not None or result.exit_code not in (0, 1):
        raise refusal(quiet, words, result)
    return result.exit_code == 0
