"""What a discard throws away, kept as commits that a reference of ours holds: exact bytes, and what was staged.

Of two commits: the index as it was, and on top of it the files as they were in the worktree.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from datetime import datetime

from oulipoly_engine.core.worktrees.changes import INDEX, SIDES, Discarded
from oulipoly_engine.core.worktrees.refusals import FileMissing, FileTooLarge, PathRefused
from oulipoly_engine.core.worktrees.tree_paths import split_path
from oulipoly_engine.service.worktrees.base import tree_files
from oulipoly_engine.service.worktrees.base.git import join_names
from oulipoly_engine.service.worktrees.base.orders import line_of, order
from oulipoly_engine.service.worktrees.base.place import Checkout, commit_of
from oulipoly_engine.service.worktrees.snapshot.objects import open_objects
from oulipoly_engine.service.worktrees.snapshot.references import (
    DISCARDED,
    message_of,
    read_message,
    refer,
    reference_time,
)

_MOST_KEPT = 256 << 20  # bytes of one discard


def keep(checkout: Checkout, paths: Sequence[str], side: str, now: datetime) -> str:
    """Keep what files and the index hold of some paths, and return the reference that has it.

    Raises FileTooLarge, PathRefused (a folder, a device), and what git says.
    """
    _refuse_unfit(checkout, paths)
    head = commit_of(checkout.quiet, "HEAD") or ""
    with open_objects(checkout.git) as work:
        index, conflicts = work.copy_index()
        # A tree has no place for both sides of a conflict: it has the last commit's file, and they stay in the files.
        staged = work.write_tree(work.list_tree(head, conflicts) if head else (), index)
        entries, gone = work.store_paths(checkout.root, paths, _MOST_KEPT)
        files = work.write_tree(entries, index, gone)
        parent = work.commit(staged, "The index before a discard", head)
        message = message_of("Files before a discard", {"side": side, "paths": list(paths)})
        commit = work.commit(files, message, head, parent)
    return refer(checkout.git, f"{DISCARDED}/{checkout.place.session_id}/{reference_time(now)}", commit)


def undo(checkout: Checkout, reference: str, now: datetime) -> Discarded:
    """Put back what a discard threw away; what is there now is kept first. reference: empty is the last one.

    Raises FileMissing where there is no such reference of this session.
    """
    reference = _find(checkout, reference)
    side, paths, index = _read(checkout, reference)
    kept = keep(checkout, paths, side, now)
    with open_objects(checkout.git) as work:
        entries = work.list_tree(f"{index if side == INDEX else reference}^{{tree}}", paths)
        gone = sorted(set(paths).difference(entry.path for entry in entries))
        if side == INDEX:
            lines = [f"0 {index}\t{name}" for name in gone]
            lines += (f"{entry.mode} {entry.blob}\t{entry.path}" for entry in entries)
            order(checkout.git, "update-index", "-z", "--index-info", stdin=join_names(lines))
        else:
            work.restore(checkout.root, entries, gone)
    return Discarded(paths, side, kept)


def _refuse_unfit(checkout: Checkout, paths: Sequence[str]) -> None:
    """Raise PathRefused for what is no file, and FileTooLarge for more than is kept."""
    size = 0
    for path in paths:
        status = tree_files.status_of(checkout.root, split_path(path))
        if status is not None and not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
            raise PathRefused(f"{path!r} is a folder or a device, which cannot be kept: discard its files by name")
        size += 0 if status is None else status.st_size
    if size > _MOST_KEPT:
        raise FileTooLarge(
            f"these files have {size:,} bytes, more than the {_MOST_KEPT:,} that are kept of a discard: delete the "
            "large ones in their folder",
            size=size,
        )


def _read(checkout: Checkout, reference: str) -> tuple[str, tuple[str, ...], str]:
    """Return side, paths and the index's commit of a discard.

    An agent can move the reference: what is there is judged like any input.
    """
    parents, _, message = line_of(checkout.quiet, "show", "-s", "--format=%P%n%B", reference, "--").partition("\n")
    try:
        document = read_message(message)
        paths = tuple(document["paths"])
        is_ours = document["side"] in SIDES and parents and paths and all(isinstance(path, str) for path in paths)
    except (ValueError, TypeError, KeyError):
        is_ours = False
    if not is_ours:
        raise FileMissing(f"{reference} is not what a discard has written: look at it with `git show {reference}`")
    for path in paths:
        split_path(path)
    return document["side"], paths, parents.split()[-1]


def _find(checkout: Checkout, reference: str) -> str:
    prefix = f"{DISCARDED}/{checkout.place.session_id}/"
    known = line_of(checkout.quiet, "for-each-ref", "--format=%(refname)", prefix).split("\n")
    if known == [""]:
        raise FileMissing("nothing was discarded in this session, so that there is nothing to undo")
    if not reference:
        return known[-1]
    if reference not in known:
        raise FileMissing(f"{reference!r} is not a discard of this session: the last one is {known[-1]}")
    return reference
