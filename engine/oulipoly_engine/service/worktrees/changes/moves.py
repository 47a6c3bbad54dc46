"""A branch moved from one commit to another, with the files of the folder where it is checked out.

Every move is noted before its first step and ended after its last, under the repository's lock. The steps: a backup
reference, then index and files, then the branch by compare-and-set. Where a kill has cut them, git is the judge: a
branch that has moved is done; one that has not gets its files back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from oulipoly_engine.core.operations.operations import Operation
from oulipoly_engine.core.worktrees.changes import Moved
from oulipoly_engine.core.worktrees.refusals import BranchMoved, IndexLocked
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record
from oulipoly_engine.service.operations.operations import Settlers, begin, settled_if_it_fails
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.looking import for_looking
from oulipoly_engine.service.worktrees.base.orders import git_in, look_at, order
from oulipoly_engine.service.worktrees.base.place import commit_of
from oulipoly_engine.service.worktrees.base.repository import PATIENCE_S, Resources
from oulipoly_engine.service.worktrees.base.repository_lock import RepositoryBusy, common_folder, lock_repository
from oulipoly_engine.service.worktrees.changes.checkout_files import has_files_of, restore_files
from oulipoly_engine.service.worktrees.changes.merge_plan import changed_files
from oulipoly_engine.service.worktrees.snapshot.references import BACKUP, reference_time
from oulipoly_engine.store.operations import operations

KINDS = ("merge", "rebase", "apply", "undo")
_LOCK_PATIENCE_S = 3.0  # for a git that a kill has orphaned, and which is being ended
_PAUSE_S = 0.02


class Move(Record):
    """A move that is to be made."""

    session_id: str
    kind: str  # of `KINDS`
    folder: Path  # a worktree of the repository
    branch: str
    old: str  # commit
    new: str  # commit; of apply: a tree, and no branch moves
    checkout: Path | None  # where files change along
    reason: str  # for the reflog

    @property
    def reference(self) -> str:
        """Return the reference that moves; empty: none."""
        is_tree_only = self.kind == "apply" or not self.branch
        return "" if is_tree_only else f"refs/heads/{self.branch}"


@contextmanager
def moving(resources: Resources, folder: Path, patience_s: float = PATIENCE_S) -> Iterator[str]:
    """Hold the lock of a repository for the block, with all moves settled that a kill has cut; yields what was done.

    Raises RepositoryBusy, and IndexLocked where one of them cannot be settled now.
    """
    common = common_folder(git_in(folder))
    with lock_repository(resources.locks, common, patience_s):
        cut = operations.find(resources.store, "begun", KINDS)
        ours = [operation for operation in cut if _common_or_none(Path(operation.detail["folder"])) == common]
        yield "; ".join(_settle(resources, operation) for operation in ours)


def carry_out(resources: Resources, move: Move) -> Moved:
    """Make a move; within `moving`. Raises BranchMoved, IndexLocked or what git says, with nothing moved."""
    now = resources.clock.now()
    backup = f"{BACKUP}/{move.session_id}/{reference_time(now)}"
    git = git_in(move.folder if move.checkout is None else move.checkout)
    quiet = for_looking(git)
    if move.reference and commit_of(quiet, move.reference) != move.old:
        raise _moved_meanwhile(move)
    files = changed_files(quiet, move.old, move.new)
    if move.checkout is not None:
        _wait_for_index(quiet)
    operation = begin(resources.store, resources.clock, move.kind, move.session_id, **_detail(move, backup))
    try:
        with settled_if_it_fails(lambda _why: _settle(resources, operation)):
            order(git, "update-ref", "-m", f"before {move.reason}", backup, move.old, "")
            if move.checkout is not None:
                # A file that was only touched would be taken for a change.
                git.run("update-index", "-q", "--refresh", timeout_s=600.0)
                order(git, "read-tree", "-m", "-u", move.old, move.new, timeout_s=600.0)
            if move.reference:
                order(git, "update-ref", "-m", move.reason, move.reference, move.new, move.old)
    except RequestRefused as error:
        if move.reference and commit_of(quiet, move.reference) not in (move.old, move.new):
            raise _moved_meanwhile(move) from error
        raise
    operations.end(resources.store, operation.operation_id, "finish", resources.clock.now())
    checkout = None if move.checkout is None else str(move.checkout)
    return Moved(move.kind, move.branch, move.old, move.new, backup, checkout, files)


def _moved_meanwhile(move: Move) -> BranchMoved:
    return BranchMoved(f"{move.branch!r} was moved by somebody else meanwhile: look at it, and try again")


def _detail(move: Move, backup: str) -> dict[str, str]:
    return {
        "folder": str(move.folder),
        "branch": move.branch,
        "reference": move.reference,
        "old": move.old,
        "new": move.new,
        "checkout": "" if move.checkout is None else str(move.checkout),
        "backup": backup,
    }


def settlers(resources: Resources, patience_s: float = 0.0) -> Settlers:
    """Return who settles merges, rebases and applies. patience_s: for one that is under way in another process."""
    return dict.fromkeys(KINDS, partial(_settle_alone, resources, patience_s))


def _settle_alone(resources: Resources, patience_s: float, operation: Operation) -> str:
    folder = Path(operation.detail["folder"])
    if not folder.is_dir():
        operations.end(resources.store, operation.operation_id, "fail", resources.clock.now())
        return ""
    with suppress(RepositoryBusy), moving(resources, folder, patience_s) as sentence:
        return sentence
    return ""


def _common_or_none(folder: Path) -> Path | None:
    with suppress(RequestRefused):
        return common_folder(git_in(folder))
    return None


def _settle(resources: Resources, operation: Operation) -> str:
    """Finish or undo one move by what git says of it. Raises IndexLocked where a killed git has left the lock."""
    at: Mapping[str, str] = operation.detail
    checkout = Path(at["checkout"]) if at["checkout"] else None
    folder = Path(at["folder"]) if checkout is None or not checkout.is_dir() else checkout
    quiet = for_looking(git_in(folder))
    if at["reference"]:
        is_done = commit_of(quiet, at["reference"]) == at["new"]
    else:
        is_done = checkout is not None and checkout.is_dir() and has_files_of(quiet, at["old"], at["new"])
    if not is_done and checkout is not None and checkout.is_dir():
        _wait_for_index(quiet)
        restore_files(checkout, at["old"], at["new"])
    event = "finish" if is_done else "undo"
    operations.end(resources.store, operation.operation_id, event, resources.clock.now())
    done = "was finished" if is_done else "was undone"
    return f"a {operation.kind} of {at['branch'] or folder} that was cut off {done}"


def _wait_for_index(quiet: Git) -> None:
    told = os.fsdecode(look_at(quiet, "rev-parse", "--git-path", "index.lock")).rstrip("\n")
    path = quiet.folder / told
    deadline = time.monotonic() + _LOCK_PATIENCE_S
    while path.exists():
        if time.monotonic() > deadline:
            raise IndexLocked(
                f"another git is at work in {quiet.folder}: wait until it has ended; if none is, a killed one has left "
                f"{path}: delete that file"
            )
        time.sleep(_PAUSE_S)


def last_move(resources: Resources, session_id: str) -> Operation | None:
    """Return the last move of a session that has been made."""
    moves = operations.find(resources.store, "done", KINDS, session_id)
    return moves[-1] if moves else None
