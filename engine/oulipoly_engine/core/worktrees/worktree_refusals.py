"""Why a worktree is not made, not used, or not removed: each kind with the slug that faces map to their own codes."""

from __future__ import annotations

from oulipoly_engine.errors import RequestRefused


class RepositoryUnusable(RequestRefused, slug="repository-unusable"):
    """A folder is not in a git repository that can have worktrees."""


class BaseMissing(RequestRefused, slug="base-missing"):
    """There is no branch, tag or commit of that name."""


class BranchInUse(RequestRefused, slug="branch-in-use"):
    """A branch is there already, is checked out elsewhere, or has moved meanwhile."""


class WorktreeNotFound(RequestRefused, slug="worktree-not-found"):
    """No session of that id has a worktree."""


class WorktreeBlocked(RequestRefused, slug="worktree-blocked"):
    """A worktree is not what it was made as: nothing is started in it, and in no other folder either."""


class WorktreeBusy(RequestRefused, slug="worktree-busy"):
    """Another process makes, removes or restores the same worktree, or its session runs."""


class WorktreeKept(RequestRefused, slug="worktree-kept"):
    """A worktree is not removed, because of what is in it."""


class SalvageFailed(RequestRefused, slug="salvage-failed"):
    """What a removal would lose cannot be kept, so nothing is removed."""


class SetupInvalid(RequestRefused, slug="setup-invalid"):
    """The repository's file of settings cannot be used."""


class SetupNotAllowed(RequestRefused, slug="setup-not-allowed"):
    """Nobody has allowed the commands that the repository's file of settings names; `digest` stands for them."""


class SetupFailed(RequestRefused, slug="setup-failed"):
    """A set-up or tear-down command ended with an error."""
