"""Commands on the worktrees of sessions. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import SESSION, Argument, destroys, reads, writes
from oulipoly_engine.core.commands.needs import Need

COMMANDS = (
    reads(
        "worktree list",
        "worktrees",
        "list the worktrees of sessions: branch, changes, merged, size",
        synonyms=("checkouts", "clean up", "disk space", "prune"),
    ),
    destroys(
        "worktree remove",
        "remove worktree",
        "remove a worktree; what is in it is kept",
        (SESSION,),
        undo="worktree restore",
        needs=(Need.WORKTREE,),
    ),
    writes(
        "worktree restore",
        "restore worktree",
        "bring back a worktree that was removed",
        (SESSION,),
        needs=(Need.WORKTREE,),
    ),
    destroys(
        "worktree prune",
        "prune worktrees",
        "remove the worktrees that are clean, merged and not in use",
        undo="worktree restore",
        needs=(Need.WORKTREES,),
    ),
    reads(
        "worktree setup",
        "set-up commands",
        "show the set-up commands of a repository, and whether they are allowed",
        (Argument("folder"),),
        scope="view",
    ),
    writes(
        "worktree allow",
        "allow commands",
        "allow the set-up commands of a repository",
        (Argument("folder"),),
        scope="operate",
        is_confirmed=True,
    ),
)
