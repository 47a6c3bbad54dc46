"""All files of a worktree as a commit that no branch has: what is not committed can be merged like what is."""

from __future__ import annotations

import os

from oulipoly_engine.core.worktrees.refusals import CheckoutDirty
from oulipoly_engine.service.worktrees.base.git import STREAMED
from oulipoly_engine.service.worktrees.base.orders import look_at
from oulipoly_engine.service.worktrees.base.place import Checkout
from oulipoly_engine.service.worktrees.changes.status import uncommitted_files
from oulipoly_engine.service.worktrees.snapshot.objects import open_objects

_LEAVE_OUT = "or leave out what is not committed with --committed-only"


def commit_files(checkout: Checkout, head: str) -> str:
    """Return a commit on top of HEAD with all files as they are; `head` itself where nothing differs from it.

    Nothing changes in the worktree, its index and its branch. What git ignores is not in it. The repository's filters
    run, as with `git add`. Raises CheckoutDirty for files in conflict and for repositories inside the worktree.
    """
    files = uncommitted_files(checkout.quiet)
    if not files:
        return head
    _refuse_conflicts(checkout)
    nested = [path for path in files if path.endswith("/")]
    if nested:
        raise CheckoutDirty(
            f"{nested[0]} in the session is a git repository of its own, whose files no commit can hold: move it "
            f"away, {_LEAVE_OUT}",
            files=nested,
        )
    with open_objects(checkout.git) as work:
        index, _conflicts = work.copy_index()
        work.run(*STREAMED, "add", "--all", index=index)
        return work.commit(work.text("write-tree", index=index), "Files that are not committed", head)


def _refuse_conflicts(checkout: Checkout) -> None:
    lines = os.fsdecode(look_at(checkout.quiet, "ls-files", "-z", "--unmerged")).split("\0")[:-1]
    files = sorted({line.partition("\t")[2] for line in lines})
    if files:
        raise CheckoutDirty(
            f"{files[0]} is in conflict in the session, whose merge or rebase is not finished: finish it, {_LEAVE_OUT}",
            files=files,
        )
