"""What a session has made for people: the files of a folder of its own, which whoever asks may name only from there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.core.worktrees.refusals import FileMissing, PathRefused
from oulipoly_engine.core.worktrees.tree_paths import split_path
from oulipoly_engine.service.worktrees.base import tree_files


def list_artifacts(folder: Path, most: int) -> tuple[tuple[str, int, datetime], ...]:
    """Return paths from the folder on, bytes, and times of the last change."""
    found = tree_files.list_files(folder, most)
    return tuple((name, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC)) for name, status in found)


def open_artifact(folder: Path, name: str) -> BinaryIO:
    """Open one to read. Raises FileMissing, and PathRefused for a path that leads out or through a link."""
    try:
        return tree_files.open_file(folder, split_path(name))
    except (FileMissing, PathRefused) as error:
        raise type(error)(f"the session has no artifact {name[:200]!r}: its list names files, not links") from error
