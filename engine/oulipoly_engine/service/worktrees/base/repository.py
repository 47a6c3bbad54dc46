"""The repository that a folder belongs to, and what all steps on its worktrees need."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.worktrees.worktree_list import GitWorktree, parse_worktrees
from oulipoly_engine.core.worktrees.worktree_refusals import RepositoryUnusable, WorktreeBusy
from oulipoly_engine.core.worktrees.worktrees import FOLDER
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.process.lock import hold_lock_with_children
from oulipoly_engine.records import Record
from oulipoly_engine.service.worktrees.base.git import Git, describe_failure, hold_in_children, is_missing
from oulipoly_engine.store.base.db import Store

LONG_S = 900.0  # for a checkout, which may be large
PATIENCE_S = 60.0  # until somebody who works on a worktree has done so
_SESSION_ID = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z_-]|\.(?!\.|lock$|$)){0,127}")


class Resources(Record):
    """What steps on worktrees work with."""

    store: Store
    locks: Path  # `Paths.locks`
    logs: Path  # a folder of ours: what set-up commands print
    clock: Clock


class Repository(Record):
    """A repository with a main worktree."""

    folder: Path  # of the main worktree, as the real path
    git_folder: Path  # what all its worktrees share, as the real path
    asked: Path  # the folder that was asked for, which may be another worktree of it

    @property
    def git(self) -> Git:
        """Return git in the main worktree."""
        return Git(self.folder)

    @property
    def worktrees(self) -> Path:
        """Return the folder of the sessions' worktrees."""
        return self.folder / FOLDER

    def checkouts(self) -> tuple[GitWorktree, ...]:
        """Return all worktrees, the main one first."""
        return parse_worktrees(self.git.check("worktree", "list", "--porcelain", "-z"))


def open_repository(folder: Path) -> Repository:
    """Return the repository that a folder lies in. Raises RepositoryUnusable, which says what to do."""
    if not folder.is_dir():
        raise RepositoryUnusable(f"there is no folder {folder}: name a folder of a git repository")
    git = Git(Path(os.path.realpath(folder)))
    common, own, is_bare = _ask_all(git, folder, "--git-common-dir", "--absolute-git-dir", "--is-bare-repository")
    if is_bare == "true":
        raise RepositoryUnusable(
            f"{folder} is a bare repository, which has no files to work on: clone it, and name the clone's folder"
        )
    shared = Path(os.path.realpath(git.folder / common))
    if Path(os.path.realpath(own)) == shared:
        main = Path(os.path.realpath(_ask(git, folder, "--show-toplevel")))
    else:
        first = parse_worktrees(git.check("worktree", "list", "--porcelain", "-z"))[0]
        if first.is_bare:
            raise RepositoryUnusable(
                f"{folder} belongs to the bare repository {first.path}: clone it, and name the clone's folder"
            )
        main = Path(os.path.realpath(first.path))
    try:
        os.fsencode(main).decode()
    except UnicodeDecodeError as error:
        raise RepositoryUnusable(f"the path {main} is not UTF-8: rename the folder") from error
    return Repository(main, shared, git.folder)


def _ask_all(git: Git, folder: Path, *words: str) -> list[str]:
    """Return an answer to each word, by one git unless a path has more than one line."""
    answers = _ask(git, folder, *words).split("\n")
    return answers if len(answers) == len(words) else [_ask(git, folder, word) for word in words]


def _ask(git: Git, folder: Path, *words: str) -> str:
    result = git.run("rev-parse", *words)
    if result.succeeded:
        return os.fsdecode(result.stdout.removesuffix(b"\n"))
    said = result.stderr.decode("utf-8", "replace")
    if is_missing(result):
        raise RepositoryUnusable("git was not found: install it")
    if "dubious ownership" in said:
        raise RepositoryUnusable(
            f"{folder} belongs to another user, so git does not touch it: "
            f"`git config --global --add safe.directory {folder}` allows it"
        )
    if "not a git repository" in said or "must be run in a work tree" in said:
        raise RepositoryUnusable(
            f"{folder} is not in a git repository: run `git init` there, or begin the session without a worktree"
        )
    raise RepositoryUnusable(f"{folder}: {describe_failure(result)}")


@contextmanager
def hold_session(resources: Resources, session_id: str, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Hold the right to make, remove or restore one session's worktree. Raises WorktreeBusy after patience_s."""
    check_session_id(session_id)
    with hold_lock_with_children(lock_of(resources.locks, session_id), patience_s) as lock:
        if lock is None:
            raise WorktreeBusy(f"another process works on the worktree of session {session_id}: try again later")
        with hold_in_children(lock):
            yield


def lock_of(locks: Path, session_id: str) -> Path:
    """Return the file whose holder alone makes, removes, restores or enters a session's worktree."""
    return locks / f"worktree-{session_id}.lock"


def check_session_id(session_id: str) -> None:
    """Raise UsageInvalid unless an id can be the name of a folder and of a branch."""
    if not _SESSION_ID.fullmatch(session_id):
        raise UsageInvalid(f"{session_id!r} cannot be the id of a session that has a worktree")


def find_admin_folder(git_folder: Path, path: Path) -> Path | None:
    """Return the folder in which git keeps a worktree's index and HEAD, by what it says of itself; None: it is gone.

    The worktree's own `.git` file is not asked: who works there can change it.
    """
    folder = git_folder / "worktrees"
    try:
        names = sorted(os.listdir(folder), key=lambda name: (name != path.name, name))  # noqa: PTH208 - names alone
    except OSError:
        return None
    for name in names:
        admin = folder / name
        if read_link_file(admin / "gitdir", admin) == path / ".git":
            return admin
    return None


def read_link_file(file: Path, folder: Path, prefix: str = "") -> Path | None:
    """Return the path that a file of git's names, relative ones below `folder`; None: it is not such a file."""
    try:
        if file.is_symlink() or not file.is_file():
            return None
        text = os.fsdecode(file.read_bytes().rstrip(b"\r\n"))
    except OSError:
        return None
    if not text.startswith(prefix) or text == prefix:
        return None
    return Path(os.path.normpath(folder / text.removeprefix(prefix)))


def commit_of(git: Git, name: str) -> str | None:
    """Return the commit that a name stands for; None: there is none."""
    result = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return os.fsdecode(result.stdout).strip() if result.succeeded else None
