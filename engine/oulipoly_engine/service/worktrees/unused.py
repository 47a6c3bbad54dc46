"""Whether anybody uses a worktree: when that was last, what runs in it, and what its removal would lose for good."""

from __future__ import annotations

import filecmp
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.service.worktrees.base.repository import Resources, find_admin_folder

_WRITTEN_BY_GIT = ("HEAD", "index", "logs/HEAD")  # with each order; our own looks leave the index alone
_LARGEST_COMPARED = 16 << 20  # bytes of an ignored file


def note_look(logs: Path, session_id: str, now: datetime) -> None:
    """Note that somebody looks at a session's worktree now. Where that cannot be written, nobody is refused."""
    mark = _mark(logs, session_id)
    with suppress(OSError):
        if not mark.exists():
            make_folder(logs)
            write_private(mark, b"")
        os.utime(mark, (now.timestamp(), now.timestamp()))


def last_use(resources: Resources, worktree: Worktree) -> datetime:
    """Return when a worktree was last made, restored, looked at, or changed by git or at its top."""
    path = Path(worktree.path)
    places = [path, _mark(resources.logs, worktree.session_id)]
    admin = find_admin_folder(Path(worktree.git_folder), path)
    if admin is not None:
        places += [admin / name for name in _WRITTEN_BY_GIT]
    return max(worktree.updated_at, *_modified(places))


def _mark(logs: Path, session_id: str) -> Path:
    return logs / f"{session_id}.looked"


def _modified(places: list[Path]) -> Iterator[datetime]:
    yield datetime.fromtimestamp(0, UTC)
    for place in places:
        with suppress(OSError, OverflowError, ValueError):
            yield datetime.fromtimestamp(place.lstat().st_mtime, UTC)


def is_kept_elsewhere(worktree: Worktree, name: str) -> bool:
    """Tell whether an ignored file is a link, or the same as the main checkout's: its removal loses nothing."""
    own, other = Path(worktree.path) / name, Path(worktree.repository) / name
    try:
        status, others = own.lstat(), other.lstat()
    except OSError:
        return own.is_symlink()
    if stat.S_ISLNK(status.st_mode):
        return True
    if not (stat.S_ISREG(status.st_mode) and stat.S_ISREG(others.st_mode)):
        return False
    is_small = status.st_size == others.st_size <= _LARGEST_COMPARED
    with suppress(OSError):
        return is_small and filecmp.cmp(own, other, shallow=False)
    return False
