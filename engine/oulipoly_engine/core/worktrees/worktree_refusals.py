"""Why a worktree is not made, not used, or not removed: each kind with the slug that faces map to their own codes."""

from __future__ import annotations

from oulipoly_engine.errors import RequestRefused


class RepositoryUnusable(RequestRefused):
    """A folder is not in a git repository that can have worktrees."""

    slug = "repository-unusable"


class BaseMissing(RequestRefused):
    """There is no branch, tag or commit of that name."""

    slug = "base-missing"


class BranchInUse(RequestRefused):
    """A branch is there already, is checked out elsewhere, or has moved meanwhile."""

    slug = "branch-in-use"


class WorktreeNotFound(RequestRefused):
    """No session of that id has a worktree."""

    slug = "worktree-not-found"


class WorktreeBlocked(RequestRefused):
    """A worktree is not what it was made as: nothing is started in it, and in no other folder either."""

    slug = "worktree-blocked"


class WorktreeBusy(RequestRefused):
    """Another process makes, removes or restores the same worktree, or its session runs."""

    slug = "worktree-busy"


class WorktreeKept(RequestRefused):
    """A worktree is not removed, because of what is in it."""

    slug = "worktree-kept"


class SalvageFailed(RequestRefused):
    """What a removal would lose cannot be kept, so nothing is removed."""

    slug = "salvage-failed"


class SetupInvalid(RequestRefused):
    """The repository's file of settings cannot be used."""

    slug = "setup-invalid"


class SetupNotAllowed(RequestRefused):
    """Nobody has allowed the commands that the repository's file of settings names; `digest` stands for them."""

    slug = "setup-not-allowed"


class SetupFailed(RequestRefused):
    """A set-up or tear-down command ended with an error."""

    slug = "setup-failed"
