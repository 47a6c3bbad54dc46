"""What `git worktree list --porcelain -z` prints, as values. Pure.

Source: git-worktree(1) of git 2.39, "Porcelain Format".
"""

from __future__ import annotations

import os

from oulipoly_engine.records import Record


class GitWorktree(Record):
    """A worktree as git lists it."""

    path: str
    head: str = ""
    branch: str = ""  # without refs/heads/; empty: detached
    is_bare: bool = False


def parse_worktrees(data: bytes) -> tuple[GitWorktree, ...]:
    """Read git's answer, the main worktree first."""
    found = []
    for block in data.split(b"\0\0"):
        fields = dict(_field(line) for line in block.split(b"\0") if line)
        if "worktree" in fields:
            found.append(
                GitWorktree(
                    path=fields["worktree"],
                    head=fields.get("HEAD", ""),
                    branch=fields.get("branch", "").removeprefix("refs/heads/"),
                    is_bare="bare" in fields,
                )
            )
    return tuple(found)


def _field(line: bytes) -> tuple[str, str]:
    name, _, value = os.fsdecode(line).partition(" ")
    return name, value
