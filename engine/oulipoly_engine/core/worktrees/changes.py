"""What faces are told of a session's changes, as values. Pure."""

from __future__ import annotations

from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
from oulipoly_engine.records import Record

WORKTREE, INDEX, HEAD = "worktree", "index", "head"
BRANCH = "branch"
SIDES = (WORKTREE, INDEX)  # of a file that differs: what is not staged, what is
DIFF_SIDES = (*SIDES, BRANCH)  # of a diff: and what the session's branch has committed since it began
REVISIONS = (HEAD, INDEX, WORKTREE)  # of a file
MOST_CONTEXT = 20  # lines around a change
DIFF_LIMIT = 500 << 10  # bytes of a diff that is shown
TEXT_LIMIT = 1 << 20  # bytes of a file that is shown or written
LOOK_LIMIT = 16 << 20  # bytes of a file that is read for a look at all


class ChangeSet(Record):
    """What differs in a session's folder from its branch, and its branch from the base."""

    git_available: bool
    reason: str = ""  # why git is not available
    branch: str | None = None  # None: HEAD is detached
    head: str | None = None  # commit; None: the branch has none
    base: str = ""  # the branch that it began at; empty: not known, or gone
    ahead: int | None = None  # commits that the base does not have
    behind: int | None = None
    staged: tuple[ChangeEntry, ...] = ()
    unstaged: tuple[ChangeEntry, ...] = ()  # untracked files and conflicts among them
    is_cut: bool = False  # there are more files than are told


class HunkText(Record):
    """A hunk for people; `digest` names it in orders."""

    digest: str
    header: str
    lines: tuple[str, ...]
    old_start: int
    new_start: int


class FileDiff(Record):
    """How a file differs."""

    path: str
    side: str  # of `DIFF_SIDES`
    is_binary: bool = False
    diff: str = ""  # as git prints it; bytes that are not UTF-8 are replaced
    size: int | None = None  # bytes, of a binary file as it is now
    sha: str | None = None  # SHA-256 of the same; empty: it is gone
    hunks: tuple[HunkText, ...] = ()


class FileText(Record):
    """A file as text."""

    path: str
    rev: str  # of `REVISIONS`
    content: str
    etag: str  # SHA-256 of its bytes


class Written(Record):
    """A file that was written."""

    path: str
    etag: str
    is_staged: bool = False


class Discarded(Record):
    """What was thrown away, and where it is kept."""

    paths: tuple[str, ...]
    side: str
    reference: str  # git's; empty: there was nothing to keep


class CommitLine(Record):
    """A commit in a list."""

    sha: str
    subject: str


class Committed(Record):
    """A commit that was made."""

    sha: str
    branch: str
    subject: str


class MergePreview(Record):
    """What a merge would do. Nothing has moved."""

    branch: str
    into: str
    branch_commit: str
    into_commit: str
    commits: tuple[CommitLine, ...] = ()  # that `into` would get, newest first
    files: tuple[str, ...] = ()  # that would change in `into`
    conflicts: tuple[str, ...] = ()
    is_fast_forward: bool = False
    is_merged: bool = False  # there is nothing to merge
    checkout: str | None = None  # the folder where `into` is checked out
    uncommitted: tuple[str, ...] = ()  # files of the session that a merge would leave out
    in_the_way: tuple[str, ...] = ()  # files of the checkout that a merge would overwrite


class Moved(Record):
    """A branch, or the main checkout, that was changed."""

    kind: str  # merge, rebase, apply
    branch: str  # that has moved; of apply: the one that is checked out there
    before: str  # commit
    after: str  # commit; of apply: the tree whose changes are staged
    backup: str  # the reference that still has `before`
    checkout: str | None = None  # the folder whose files changed along
    files: tuple[str, ...] = ()


class Preflight(Record):
    """What a push would do."""

    branch: str  # of the session
    target: str  # the name that it would get at the remote
    base: str
    remote: str | None  # its name; None: there is none
    remote_url: str | None  # without a login
    compare_url: str | None
    has_gh: bool
    ahead: int | None
    behind: int | None
    uncommitted: int
    problems: tuple[str, ...] = ()


class Promoted(Record):
    """A branch that was pushed."""

    branch: str
    remote: str
    pushed: bool
    commit: str
    url: str | None  # of the pull request, or where one is made; None: the remote is not at GitHub
    is_pull_request: bool = False


class LeftOut(Record):
    """What is in a checkout and not in a snapshot of it, by name; names of folders end in a slash."""

    ignored: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()  # submodules, and others that lie inside
    large: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()  # nobody may read them, or git refuses their names


class TurnFiles(Record):
    """A snapshot of a checkout."""

    reference: str
    commit: str
    tree: str
    is_new: bool  # False: an earlier snapshot has the same files, and this is its reference
    left_out: LeftOut
    changed_at: float = 0.0  # when the last file that the snapshot before has otherwise was changed, s since 1970


class FileChanges(Record):
    """What bringing a snapshot back does to the files of a checkout."""

    changing: tuple[str, ...] = ()
    coming: tuple[str, ...] = ()
    going: tuple[str, ...] = ()
    staying: tuple[str, ...] = ()  # what is there is in no snapshot: ignored, too large, or a repository's

    @property
    def touched(self) -> tuple[str, ...]:
        """Return the files that are there and change or go."""
        return (*self.changing, *self.going)


class TurnPreview(Record):
    """What bringing a snapshot back would do."""

    changes: FileChanges
    unsaved: tuple[str, ...] = ()  # of the files that would change or go: those whose changes the last snapshot has not
    left_out: LeftOut = LeftOut()


class BroughtBack(Record):
    """What bringing a snapshot back has done."""

    changes: FileChanges
    before: TurnFiles | None  # the files as they were, for the way back; None: nothing was to be done
