"""Settle what a kill has cut: a worktree that was half made goes away, one that was half removed goes as well.

A step that is under way holds its session's lock; one whose lock is free was cut. Whoever comes next settles it, as
often as it takes.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from oulipoly_engine.core.operations.operations import Operation
from oulipoly_engine.core.worktrees.worktree_refusals import WorktreeBusy
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.service.operations.operations import Settlers
from oulipoly_engine.service.worktrees.base.repository import Resources, hold_session
from oulipoly_engine.service.worktrees.create import end_operation, take_back
from oulipoly_engine.service.worktrees.remove import finish_removal
from oulipoly_engine.service.worktrees.snapshot.salvage import take_salvage
from oulipoly_engine.store.operations import operations
from oulipoly_engine.store.worktrees import worktrees

# The state of a worktree while an operation of a kind is under way.
_UNDER_WAY = {"create": "creating", "remove": "removing", "restore": "creating"}


def settlers(resources: Resources) -> Settlers:
    """Return who settles worktrees that were half made, removed or restored."""
    return dict.fromkeys(_UNDER_WAY, partial(_settle, resources))


def _settle(resources: Resources, operation: Operation) -> str:
    store, session_id = resources.store, operation.subject
    try:
        with hold_session(resources, session_id, patience_s=0.0):
            if operation not in operations.find(store, "begun", (operation.kind,), session_id):
                return ""
            worktree = worktrees.find(store, session_id)
            if worktree is None or worktree.state != _UNDER_WAY[operation.kind]:
                operations.end(store, operation.operation_id, "fail", resources.clock.now())
                return ""
            try:
                is_finished = _finish_or_undo(resources, worktree, operation)
            except (RequestRefused, OSError) as error:
                with suppress(RequestRefused):
                    worktrees.note(store, session_id, reason=str(getattr(error, "message", error)))
                raise
    except WorktreeBusy:
        return ""
    done = "finished" if is_finished else "undone"
    return f"a {operation.kind} of the worktree of session {session_id} that was cut off was {done}"


def _finish_or_undo(resources: Resources, worktree: Worktree, operation: Operation) -> bool:
    """Finish a removal whose contents are kept, and undo all else. Returns whether it was finished."""
    if operation.kind != "remove":
        event = "undo" if operation.kind == "restore" else "fail"
        take_back(resources, worktree, event, "it was cut off, and taken back")
        return False
    if not worktree.salvage:
        end_operation(resources, worktree, "keep", "its removal was cut off, and it is as it was")
        return False
    with suppress(RequestRefused):  # what is left of it may have been changed since; a half of it may be gone as well
        take_salvage(worktree, resources.clock.now())
    finish_removal(resources, worktree, force=True)
    return True
