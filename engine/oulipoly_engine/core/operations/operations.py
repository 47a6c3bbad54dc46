"""What is done in steps that a kill may cut: noted before the first step, ended once behind the last. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from oulipoly_engine.records import Record

OPERATION: Mapping[tuple[str, str], str] = {
    ("begun", "finish"): "done",  # all of it is there
    ("begun", "undo"): "undone",  # nothing of it is
    ("begun", "fail"): "failed",  # what there is of it stays
}


class Operation(Record):
    """One thing that is done in steps, for example a worktree made or a branch merged."""

    operation_id: str
    subject: str  # the id of what it is done to or for, as its kind has it: of worktrees and merges the session's
    kind: str  # which names the one that settles it
    state: str  # of `OPERATION`
    detail: Mapping[str, Any]  # what an undo needs to know of before
    begun_at: datetime
    ended_at: datetime | None = None
