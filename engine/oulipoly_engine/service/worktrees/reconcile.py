"""Settle what a kill has cut: a worktree that was half made goes away, one that was half removed goes as well.

A step that is under way holds its session's lock; one whose lock is free was cut. Whoever comes next settles it, as
often as it takes.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.worktrees.worktree_refusals import WorktreeBusy
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record
from oulipoly_engine.service.worktrees.base.repository import Resources, hold_session
from oulipoly_engine.service.worktrees.base.repository_lock import lock_repository
from oulipoly_engine.service.worktrees.discard import discard
from oulipoly_engine.service.worktrees.remove import finish_removal, keep
from oulipoly_engine.service.worktrees.salvage.take import take_salvage
from oulipoly_engine.store.worktrees import operations, worktrees

_KINDS = ("create", "remove", "restore")
_CUT = "it was cut off, and taken back"


class Settled(Record):
    """A worktree that was settled."""

    session_id: str
    state: str  # that it has now
    problem: str = ""  # why it could not be settled


def reconcile(resources: Resources) -> tuple[Settled, ...]:
    """Finish or take back what was cut off, and return what came of it. What is under way is left alone."""
    cut = worktrees.list_worktrees(resources.store, ("creating", "removing"))
    return tuple(done for one in cut if (done := _settle(resources, one.session_id)) is not None)


def _settle(resources: Resources, session_id: str) -> Settled | None:
    """Settle one; None: it is under way, or is settled."""
    try:
        with hold_session(resources, session_id, patience_s=0.0):
            worktree = worktrees.find(resources.store, session_id)
            if worktree is None or worktree.state not in ("creating", "removing"):
                return None
            try:
                if worktree.state == "creating":
                    return _take_back(resources, worktree)
                return _finish(resources, worktree)
            except (RequestRefused, OSError) as error:
                why = str(getattr(error, "message", error))
                with suppress(RequestRefused):
                    worktrees.note(resources.store, session_id, reason=why)
                return Settled(session_id, worktree.state, why)
    except WorktreeBusy:
        return None


def _take_back(resources: Resources, worktree: Worktree) -> Settled:
    """Take away what was made of a worktree that was never ready, or came back from what is kept."""
    with lock_repository(resources.locks, Path(worktree.git_folder)):
        discard(worktree)
    begun = [one for one in operations.begun(resources.store, worktree.session_id) if one.kind in _KINDS]
    event = "undo" if any(one.kind == "restore" for one in begun) else "fail"
    store, now = resources.store, resources.clock.now()
    with store.write():
        worktrees.move(store, worktree.session_id, event, now, reason=_CUT)
        for one in begun:
            operations.end(store, one.operation_id, "undo", now)
    return Settled(worktree.session_id, "removed" if event == "undo" else "failed")


def _finish(resources: Resources, worktree: Worktree) -> Settled:
    """Finish a removal whose contents are kept; take one back that had not come so far."""
    if not worktree.salvage:
        keep(resources, worktree, "its removal was cut off, and it is as it was")
        return Settled(worktree.session_id, "ready")
    with suppress(RequestRefused):  # what is left of it may have been changed since; a half of it may be gone as well
        take_salvage(worktree, resources.clock.now())
    finish_removal(resources, worktree, force=True)
    return Settled(worktree.session_id, "removed")
