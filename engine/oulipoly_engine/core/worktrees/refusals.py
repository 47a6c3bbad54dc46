"""Why a change to a worktree, or a look at it, is refused: each kind with the slug that faces map to codes."""

from __future__ import annotations

from oulipoly_engine.errors import RequestRefused


class PathRefused(RequestRefused, slug="path-refused"):
    """A path leads out of the worktree, into git's own folder, or through a link."""


class FileMissing(RequestRefused, slug="file-missing"):
    """There is no such file in the worktree, the index or the commit."""


class FileNotText(RequestRefused, slug="file-not-text"):
    """A file cannot be shown or edited as text."""


class FileChanged(RequestRefused, slug="file-changed"):
    """A file, or a hunk of it, is no longer what the order was made from."""


class FileTooLarge(RequestRefused, slug="too-large"):
    """A file, or its diff, is larger than what is read for a look."""


class ChangesTimedOut(RequestRefused, slug="timed-out"):
    """Git took too long for a look."""


class SwitchedOff(RequestRefused, slug="switched-off"):
    """A setting has switched this off."""


class GitUnavailable(RequestRefused, slug="git-unavailable"):
    """The session's folder is not a git repository, is a bare one, or is gone."""


class IndexLocked(RequestRefused, slug="index-locked"):
    """Another git has the index's lock, or a killed one has left it."""


class NothingStaged(RequestRefused, slug="nothing-staged"):
    """There is nothing to commit."""


class MessageMissing(RequestRefused, slug="message-missing"):
    """A commit needs a message."""


class BranchRefused(RequestRefused, slug="branch-refused"):
    """A branch is missing, is detached, or cannot be moved as asked."""


class CheckoutDirty(RequestRefused, slug="uncommitted-changes"):
    """Changes that are not committed are in the way; `files` names them."""


class MergeConflicts(RequestRefused, slug="merge-conflicts"):
    """Two branches change the same lines; `conflicts` names the files. Nothing was moved."""


class BranchMoved(RequestRefused, slug="branch-moved"):
    """A branch was moved by somebody else meanwhile; nothing of it was lost."""


class PushRefused(RequestRefused, slug="push-refused"):
    """The remote repository did not take the branch."""


class RemoteMissing(RequestRefused, slug="remote-missing"):
    """There is no remote repository to push to."""
