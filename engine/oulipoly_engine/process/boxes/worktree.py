"""The mounts of a work tree as it lies on the disk: a repository of its own, or linked to one."""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.core.boxes.box import Box, Mount, list_runs_later, protect_worktree
from oulipoly_engine.records import replace

_LINE = "gitdir: "
_LONGEST = 4096


def mount_worktree(root: Path, branch: str = "") -> tuple[Mount, ...]:
    """Return the mounts of a work tree that is written; of a linked one also what its commits to a branch need.

    root: absolute, and no link. A `.git` that points where it is not known is not followed: git does not work there.
    """
    git, own = _find_git(root)
    return protect_worktree(str(root), git, own, branch)


def drop_links(box: Box) -> Box:
    """Return a box without the mounts that a link leads to which somebody may have left in a folder that they write."""
    return replace(box, mounts=tuple(mount for mount in box.mounts if not _is_behind_link(mount)))


def _is_behind_link(mount: Mount) -> bool:
    if not mount.within:
        return False
    path = Path(mount.path)
    below = (path, *path.parents)[: len(path.relative_to(mount.within).parts)]
    return any(each.is_symlink() for each in below)


def list_present(root: Path) -> frozenset[str]:
    """Return what is there of what runs later: what is new after a box has ended could not be kept read-only."""
    paths = list_runs_later(str(root), _find_git(root)[0])
    return frozenset(path for path in paths if os.path.lexists(path))


def _find_git(root: Path) -> tuple[str, str]:
    """Return the shared folder of git and the tree's own in it; empty: the tree is not linked."""
    own = _read_path(root / ".git", _LINE)
    if own is None:
        return "", ""
    git = _read_path(own / "commondir")
    points_back = _read_path(own / "gitdir") == (root / ".git").resolve()
    if git is None or not points_back or not own.is_relative_to(git) or not (git / "objects").is_dir():
        return "", ""
    return str(git), str(own)


def _read_path(file: Path, before: str = "") -> Path | None:
    """Return the path that a file of git holds; None: it holds none."""
    try:
        if not file.is_file() or file.stat().st_size > _LONGEST:
            return None
        line = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    if not line.startswith(before):
        return None
    return (file.parent / line.removeprefix(before)).resolve()
