"""The worktree of a session, as a value and a table of its states. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from oulipoly_engine.records import Record, field

FOLDER = ".agent-runner-worktrees"  # beside the repository's own files; told to git's `info/exclude`
BRANCH_PREFIX = "aw/"  # contract B3: the branch of a session is `aw/<session id>`

# A worktree (contract B3 and rivals/web.md, lesson 6): its row is written before git hears of it.
WORKTREE: Mapping[tuple[str, str], str] = {
    ("creating", "made"): "ready",
    ("creating", "fail"): "failed",
    ("ready", "remove"): "removing",
    ("removing", "gone"): "removed",
    ("removing", "keep"): "ready",  # the removal could not be done, and nothing was lost
    ("removed", "restore"): "creating",
    ("creating", "undo"): "removed",  # a restore that was cut off: what was kept is still kept
    ("failed", "again"): "creating",
}


class Worktree(Record):
    """A folder and a branch of a repository that one session works on."""

    session_id: str
    repository: str  # the main worktree's folder, as the real path
    path: str  # the worktree's own folder
    branch: str  # without refs/heads/
    base: str  # the branch, tag or commit that it began at, as it was named; else what the checkout stood at
    base_commit: str
    state: str  # of `WORKTREE`
    created_at: datetime
    updated_at: datetime
    is_new_branch: bool = True  # False: an existing branch is worked on, which is never deleted
    reason: str = ""  # why it failed, or could not be removed
    port_first: int | None = None  # the first of its own range of ports
    port_count: int = 0
    salvage: str = ""  # the reference that holds what a removal would have lost
    settings: Mapping[str, Any] = field(default_factory=dict)  # of its repository, as they were when it was made
    git_folder: str = ""  # what all worktrees of the repository share, as the real path

    @property
    def isolation(self) -> str:
        """Return the level of the box in which every CLI stands that works in it; empty: in none."""
        return str(self.settings.get("isolation", ""))
