"""The branches of a repository, for whoever chooses the one that a session begins at."""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.core.worktrees.work import Repository
from oulipoly_engine.core.worktrees.worktrees import BRANCH_PREFIX
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.looking import offline

_MOST = 500
_TIMEOUT_S = 5.0


def find_repository(folder: Path) -> Repository | None:
    """Return the repository that a folder lies in, with its branches; None: it lies in none that has files.

    Raises GitFailed where git cannot tell its branches.
    """
    git = offline(Git(folder))
    root = git.run("rev-parse", "--show-toplevel", timeout_s=_TIMEOUT_S)
    if not folder.is_dir() or not root.succeeded:
        return None
    current = git.run("symbolic-ref", "--quiet", "--short", "HEAD", timeout_s=_TIMEOUT_S)
    branches = list_branches(git)
    head = git.run("rev-parse", "--short", "HEAD", timeout_s=_TIMEOUT_S)
    return Repository(
        os.fsdecode(root.stdout).rstrip("\n"),
        os.fsdecode(current.stdout).strip() if current.succeeded else "",
        os.fsdecode(head.stdout).strip() if head.succeeded else "",
        branches,
    )


def list_branches(git: Git) -> tuple[str, ...]:
    """Return the branches, the newest first, but those of sessions last: hardly anybody begins at one.

    500 at most. Raises GitFailed.
    """
    words = ("for-each-ref", "--sort=-committerdate", "--format=%(refname:lstrip=2)", "refs/heads")
    names = git.text(*words, timeout_s=_TIMEOUT_S).splitlines()
    names.sort(key=lambda name: name.startswith(BRANCH_PREFIX))
    return tuple(names[:_MOST])
