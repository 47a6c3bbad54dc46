"""Why a change to a worktree, or a look at it, is refused: each kind with the slug that faces map to codes."""

from __future__ import annotations

from oulipoly_engine.errors import RequestRefused


class PathRefused(RequestRefused):
    """A path leads out of the worktree, into git's own folder, or through a link."""

    slug = "path-refused"


class FileMissing(RequestRefused):
    """There is no such file in the worktree, the index or the commit."""

    slug = "file-missing"


class FileNotText(RequestRefused):
    """A file cannot be shown or edited as text."""

    slug = "file-not-text"


class FileChanged(RequestRefused):
    """A file, or a hunk of it, is no longer what the order was made from."""

    slug = "file-changed"


class FileTooLarge(RequestRefused):
    """A file, or its diff, is larger than what is read for a look."""

    slug = "too-large"


class ChangesTimedOut(RequestRefused):
    """Git took too long for a look."""

    slug = "timed-out"


class SwitchedOff(RequestRefused):
    """A setting has switched this off."""

    slug = "switched-off"


class GitUnavailable(RequestRefused):
    """The session's folder is not a git repository, is a bare one, or is gone."""

    slug = "git-unavailable"


class IndexLocked(RequestRefused):
    """Another git has the index's lock, or a killed one has left it."""

    slug = "index-locked"


class NothingStaged(RequestRefused):
    """There is nothing to commit."""

    slug = "nothing-staged"


class MessageMissing(RequestRefused):
    """A commit needs a message."""

    slug = "message-missing"


class BranchRefused(RequestRefused):
    """A branch is missing, is detached, or cannot be moved as asked."""

    slug = "branch-refused"


class CheckoutDirty(RequestRefused):
    """Changes that are not committed are in the way; `files` names them."""

    slug = "uncommitted-changes"


class MergeConflicts(RequestRefused):
    """Two branches change the same lines; `conflicts` names the files. Nothing was moved."""

    slug = "merge-conflicts"


class BranchMoved(RequestRefused):
    """A branch was moved by somebody else meanwhile; nothing of it was lost."""

    slug = "branch-moved"


class PushRefused(RequestRefused):
    """The remote repository did not take the branch."""

    slug = "push-refused"


class RemoteMissing(RequestRefused):
    """There is no remote repository to push to."""

    slug = "remote-missing"
