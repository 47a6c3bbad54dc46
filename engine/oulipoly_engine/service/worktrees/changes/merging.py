"""A session's branch merged, rebased, or applied as staged changes: found out whole before anything moves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oulipoly_engine.core.worktrees.changes import MergePreview, Moved
from oulipoly_engine.core.worktrees.prompts import conflict_prompt
from oulipoly_engine.core.worktrees.refusals import (
    BranchRefused,
    CheckoutDirty,
    FileMissing,
    GitUnavailable,
    MergeConflicts,
)
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.looking import for_looking
from oulipoly_engine.service.worktrees.base.orders import git_in, line_of, order_line
from oulipoly_engine.service.worktrees.base.place import Checkout, branch_of, commit_of, current_branch
from oulipoly_engine.service.worktrees.base.repository import Resources
from oulipoly_engine.service.worktrees.changes.merge_plan import (
    changed_files,
    files_in_the_way,
    list_commits,
    merge_trees,
    plan_merge,
    target_branch,
)
from oulipoly_engine.service.worktrees.changes.moves import Move, carry_out, last_move, moving
from oulipoly_engine.service.worktrees.changes.status import uncommitted_files
from oulipoly_engine.service.worktrees.changes.uncommitted import commit_files
from oulipoly_engine.service.worktrees.snapshot.objects import US

_MOST_REBASED = 500
_SHOWN = 5
_HAND_OVER = "hand the conflict to the agent with --hand-over, or merge by hand"
_COMMIT_FIRST = "commit it in the session, then `agents merge --hand-over` has the agent resolve it; or merge by hand"
_MOVE_AWAY = "commit, stash or move what is there, and try again"


def merge(
    resources: Resources, checkout: Checkout, into: str = "", message: str = "", *, committed_only: bool = False
) -> Moved:
    """Merge a session's branch into another: fast-forward where that is possible, a merge commit otherwise.

    into: a branch; empty: the one that it began at. message: of the merge commit; empty: git's usual one.
    committed_only: files that are not committed are left out, instead of a refusal.
    Raises MergeConflicts, CheckoutDirty, BranchRefused, BranchMoved, RepositoryBusy; nothing has moved then.
    """
    with moving(resources, checkout.root):
        plan = plan_merge(checkout, into)
        told = plan.preview
        if told.is_merged:
            # What the agent has not committed is not there, whatever the branch says.
            _refuse_uncommitted(told, committed_only=committed_only)
            return Moved("merge", told.into, told.into_commit, told.into_commit, "", told.checkout)
        _refuse_conflicts(told.conflicts, told.branch, told.into)
        _refuse_uncommitted(told, committed_only=committed_only)
        if told.checkout is not None:
            _refuse_in_the_way(told.in_the_way, Path(told.checkout))
        new = told.branch_commit
        if not told.is_fast_forward:
            text = message.strip() or f"Merge branch '{told.branch}' into {told.into}"
            parents = ("-p", told.into_commit, "-p", told.branch_commit)
            new = order_line(checkout.git, "commit-tree", plan.tree, *parents, "-m", text)
        place = None if told.checkout is None else Path(told.checkout)
        reason = f"merge {told.branch}"
        move = Move(checkout.place.session_id, "merge", checkout.root, told.into, told.into_commit, new, place, reason)
        return carry_out(resources, move)


def rebase(resources: Resources, checkout: Checkout, onto: str = "") -> Moved:
    """Put a session's commits on top of another branch, in the object store first; then its worktree moves at once.

    onto: a branch; empty: the one that it began at. Commits whose changes are there already are left out.
    Raises as `merge`; no rebase is ever left half done.
    """
    with moving(resources, checkout.root):
        quiet = checkout.quiet
        branch = branch_of(checkout)
        onto = target_branch(checkout, onto, branch)
        head, tip = commit_of(quiet, "HEAD"), commit_of(quiet, f"refs/heads/{onto}")
        if head is None or tip is None:
            raise BranchRefused(f"the branch {branch!r} has no commit yet: commit something first")
        new = _copy_commits(checkout, tip, head, branch, onto)
        if new == head:
            return Moved("rebase", branch, head, head, "", str(checkout.root))
        files = changed_files(quiet, head, new)
        _refuse_in_the_way(files_in_the_way(checkout.root, head, new, files), checkout.root)
        reason = f"rebase onto {onto}"
        move = Move(checkout.place.session_id, "rebase", _folder(checkout), branch, head, new, checkout.root, reason)
        return carry_out(resources, move)


def _copy_commits(checkout: Checkout, tip: str, head: str, branch: str, onto: str) -> str:
    quiet = checkout.quiet
    if line_of(quiet, "rev-list", "--count", f"{head}..{tip}", "--") == "0":
        return head  # it is on top of that branch already
    merges = line_of(quiet, "rev-list", "--merges", "--max-count=1", f"{tip}..{head}", "--")
    if merges:
        raise BranchRefused(
            f"{branch!r} has a merge commit, {merges[:10]}, which a rebase would lose: merge it instead"
        )
    told = line_of(quiet, "rev-list", "--reverse", "--topo-order", f"{tip}..{head}", "--")
    commits = told.split("\n") if told else []
    if len(commits) > _MOST_REBASED:
        raise BranchRefused(f"{branch!r} has {len(commits)} commits of its own, too many to rebase: merge it instead")
    for sha in commits:
        tip = _copy_commit(checkout, tip, sha, branch, onto)
    return tip


def _copy_commit(checkout: Checkout, tip: str, sha: str, branch: str, onto: str) -> str:
    quiet, git = checkout.quiet, checkout.git
    parent = commit_of(quiet, f"{sha}^")
    tip_tree = line_of(quiet, "rev-parse", f"{tip}^{{tree}}")
    if parent is None:
        raise BranchRefused(f"{branch!r} and {onto!r} have no commit in common: merge by hand")
    # git 2.39's merge-tree takes no base of its own: a commit with the new tip's tree on the old parent has it.
    start = order_line(git, "commit-tree", tip_tree, "-p", parent, "-m", "base", env=US)
    merged = merge_trees(quiet, start, sha)
    _refuse_conflicts(merged.conflicts, branch, onto)
    if merged.tree == tip_tree:
        return tip
    fields = line_of(quiet, "show", "-s", "--format=%an%x00%ae%x00%aI%x00%B", sha, "--").split("\0", 3)
    env = dict(zip(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"), fields, strict=False))
    return order_line(git, "commit-tree", merged.tree, "-p", tip, "-m", fields[3], env=env)


def apply(resources: Resources, checkout: Checkout, *, committed_only: bool = False) -> Moved:
    """Stage in the main checkout what a session has changed, without a commit; the session's folder stays as it is.

    committed_only: files that are not committed in the session are left out. Raises as `merge`, and CheckoutDirty for
    uncommitted files that no commit can hold.
    """
    main = _main_of(checkout)
    with moving(resources, checkout.root):
        branch = branch_of(checkout)
        quiet = for_looking(_main_git(main))
        ours, head = _both_heads(checkout, quiet, main, branch)
        theirs = head if committed_only else commit_files(checkout, head)
        merged = merge_trees(checkout.quiet, ours, theirs)
        name = current_branch(quiet) or "HEAD"
        if theirs == head:
            _refuse_conflicts(merged.conflicts, branch, name)
        else:
            _refuse_conflicts(merged.conflicts, branch, name, _COMMIT_FIRST)
        files = changed_files(quiet, ours, merged.tree)
        if not files:
            return Moved("apply", name, ours, merged.tree, "", str(main))
        in_the_way = files_in_the_way(main, ours, merged.tree, files)
        _refuse_in_the_way(in_the_way, main, _advise_undo(resources, checkout, in_the_way))
        reason = f"apply {branch}"
        move = Move(checkout.place.session_id, "apply", main, name, ours, merged.tree, main, reason)
        return carry_out(resources, move)


def preview_apply(checkout: Checkout) -> MergePreview:
    """Return what `apply` would do, without reading the files that are not committed.

    Whether those are in conflict, or what git ignores is in their way, `apply` finds out before anything moves.
    Raises as `apply`.
    """
    main, branch = _main_of(checkout), branch_of(checkout)
    quiet = for_looking(_main_git(main))
    ours, head = _both_heads(checkout, quiet, main, branch)
    merged = merge_trees(checkout.quiet, ours, head)
    committed = () if merged.conflicts else changed_files(quiet, ours, merged.tree)
    in_the_way = files_in_the_way(main, ours, merged.tree, committed) if committed else ()
    uncommitted = uncommitted_files(checkout.quiet)
    touched = set(uncommitted_files(quiet)).intersection(uncommitted)
    files = tuple(sorted({*committed, *uncommitted}))
    return MergePreview(
        branch=branch,
        into=current_branch(quiet) or "HEAD",
        branch_commit=head,
        into_commit=ours,
        commits=list_commits(quiet, ours, head),
        files=files,
        conflicts=merged.conflicts,
        is_merged=not files and not merged.conflicts,
        checkout=str(main),
        uncommitted=uncommitted,
        in_the_way=tuple(sorted(touched.union(in_the_way))),
    )


def _main_of(checkout: Checkout) -> Path:
    if checkout.place.repository is None:
        raise BranchRefused("this session works in the repository's own folder: its changes are there already")
    return checkout.place.repository


def _both_heads(checkout: Checkout, quiet: Git, main: Path, branch: str) -> tuple[str, str]:
    """Return the commits at which the main checkout and the session stand. quiet: of the main checkout."""
    ours, theirs = commit_of(quiet, "HEAD"), commit_of(checkout.quiet, "HEAD")
    if ours is None or theirs is None:
        raise BranchRefused(f"nothing is committed in {main} or on {branch!r} yet: commit something first")
    return ours, theirs


def _advise_undo(resources: Resources, checkout: Checkout, files: Sequence[str]) -> str:
    """Return how an earlier apply is taken out where it is what stands in the way; else the usual advice."""
    made = last_move(resources, checkout.place.session_id)
    if made is None or made.kind != "apply":
        return _MOVE_AWAY
    applied = changed_files(checkout.quiet, made.detail["old"], made.detail["new"])
    if not set(files).intersection(applied):
        return _MOVE_AWAY
    return "an earlier apply of this session is there: `agents apply --undo` takes it out first"


def undo_move(resources: Resources, checkout: Checkout) -> Moved:
    """Take back the last merge, rebase or apply of a session, as long as nothing was built on it.

    Raises FileMissing where there is none, BranchMoved, CheckoutDirty.
    """
    with moving(resources, checkout.root):
        session_id = checkout.place.session_id
        last = last_move(resources, session_id)
        if last is None or last.kind == "undo":
            raise FileMissing("no merge, rebase or apply of this session can be undone")
        at, reason = last.detail, f"undo {last.kind}"
        place = Path(at["checkout"]) if at["checkout"] else None
        if place is not None:
            files = changed_files(checkout.quiet, at["new"], at["old"])
            dirty = files_in_the_way(place, at["new"], at["old"], files)
            if at["reference"]:
                _refuse_in_the_way(dirty, place)
        branch = at["branch"] if at["reference"] else ""
        move = Move(session_id, "undo", _folder(checkout), branch, at["new"], at["old"], place, reason)
        return carry_out(resources, move)


def hand_conflict_over(checkout: Checkout, into: str = "") -> str:
    """Return what the agent is to be asked when its branch cannot be merged. Raises BranchRefused where it can."""
    told = plan_merge(checkout, into).preview
    if not told.conflicts:
        raise BranchRefused(f"{told.branch!r} has no conflict with {told.into!r}: it can be merged as it is")
    commits = list_commits(checkout.quiet, told.branch_commit, told.into_commit)
    return conflict_prompt(
        told.branch, told.into, told.conflicts, [f"{one.sha[:10]} {one.subject}" for one in commits[:20]]
    )


def _folder(checkout: Checkout) -> Path:
    """Return the worktree of the repository that stays when the session's own is removed."""
    return checkout.place.repository or checkout.root


def _main_git(main: Path) -> Git:
    git = git_in(main)
    if not main.is_dir() or line_of(git, "rev-parse", "--is-inside-work-tree") != "true":
        raise GitUnavailable(f"{main} has no files of its own to apply changes to: merge into a branch instead")
    return git


def _refuse_conflicts(conflicts: Sequence[str], branch: str, into: str, advice: str = _HAND_OVER) -> None:
    if conflicts:
        raise MergeConflicts(
            f"{branch!r} and {into!r} change the same lines of {_names(conflicts)}: nothing was moved; {advice}",
            conflicts=list(conflicts),
        )


def _refuse_uncommitted(told: MergePreview, *, committed_only: bool) -> None:
    files = () if committed_only else told.uncommitted
    if files:
        raise CheckoutDirty(
            f"{_names(files)} {'is' if len(files) == 1 else 'are'} not committed in the session: commit first, or "
            "leave that out with --committed-only",
            files=list(files),
        )


def _refuse_in_the_way(files: Sequence[str], folder: Path, advice: str = _MOVE_AWAY) -> None:
    if files:
        raise CheckoutDirty(
            f"{_names(files)} in {folder} would be overwritten: {advice}",
            files=list(files),
        )


def _names(files: Sequence[str]) -> str:
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(files[:_SHOWN]) + more
