"""Set a state file aside as a backup and start a fresh one: the way out of a foreign, newer or broken file."""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from pathlib import Path

from oulipoly_engine.clock import to_text
from oulipoly_engine.errors import RequestRefused, StoreUnusable
from oulipoly_engine.private_files import make_new_folder
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.base.state_path import refuse_other_kinds

_SIDE_FILES = ("", "-wal", "-shm")


def rebuild(path: Path, backups: Path, now: datetime) -> Path:
    """Move the state file with its side files into a new folder below `backups`, create a fresh one, return the folder.

    The backup is complete and synced before the live file goes. Raises RequestRefused when there is no state file,
    StoreUnusable when what is there is no file or cannot be set aside.
    """
    refuse_other_kinds(path)
    if not path.exists():
        raise RequestRefused(f"there is no state file at {path}: nothing to rebuild")
    try:
        folder = _new_folder(backups, now)
        present = [side for side in _SIDE_FILES if _beside(path, side).exists()]
        for side in present:
            _copy(_beside(path, side), folder / _beside(path, side).name)
        for side in present:
            _beside(path, side).unlink(missing_ok=True)
    except OSError as error:
        message = f"cannot back up {path} to {backups}: {error.strerror or error}; the live file is still in place"
        raise StoreUnusable(message) from error
    open_store(path).close()
    return folder


def _new_folder(backups: Path, now: datetime) -> Path:
    stamp = to_text(now)[:19].replace("-", "").replace(":", "") + "Z"
    for attempt in range(100):
        suffix = f"-{attempt}" if attempt else ""
        folder = backups / f"{stamp}-pid{os.getpid()}{suffix}"
        try:
            make_new_folder(folder)
        except FileExistsError:
            continue
        return folder
    raise StoreUnusable(f"cannot find a free name for a backup below {backups}")


def _beside(path: Path, side: str) -> Path:
    return path.with_name(path.name + side)


def _copy(source: Path, target: Path) -> None:
    shutil.copy2(source, target)
    with target.open("rb") as copied:
        os.fsync(copied.fileno())
