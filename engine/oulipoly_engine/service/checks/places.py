"""Look at our folders and the state file's contents."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from oulipoly_engine.core.checks.places import SeenPlace, SeenState
from oulipoly_engine.paths import Paths
from oulipoly_engine.process.lock import try_flock
from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.database_errors import make_damage
from oulipoly_engine.store.models.damage import find_damage

_CHECK_S = 5.0  # for the state file's pages: 100 MB take about one


def look_at_places(paths: Paths) -> Iterator[SeenPlace]:
    """Yield what our folders and files are; a folder of sockets is made and mended by whoever uses it."""
    for path in (paths.config, paths.models, paths.agents):
        yield _look(path, is_private=False)
    for path in (paths.providers, paths.settings, paths.sessions, paths.config / "app.toml"):
        yield _look(path, is_private=False, is_folder=False)
    folders = [paths.data, paths.results, paths.locks, paths.terminal_logs, paths.runtime, paths.live_runtime]
    for path in (*folders, *((paths.cache,) if paths.cache is not None else ())):
        yield _look(path, is_private=True)
    yield _look(paths.state_db, is_private=True, is_folder=False)


def _look(path: Path, *, is_private: bool, is_folder: bool = True) -> SeenPlace:
    try:
        found = path.stat()
    except FileNotFoundError:
        state = "broken link" if path.is_symlink() else "missing"
        return SeenPlace(str(path), state, is_private=is_private, is_folder=is_folder)
    except NotADirectoryError:  # said of the part of the path that is none
        return SeenPlace(str(path), "missing", is_private=is_private, is_folder=is_folder)
    except OSError:
        return SeenPlace(str(path), "unreadable", is_private=is_private, is_folder=is_folder)
    is_kind = stat.S_ISDIR(found.st_mode) == is_folder
    if not is_kind and not is_folder:  # told where it is read
        return SeenPlace(str(path), "missing", is_private=is_private, is_folder=is_folder)
    return SeenPlace(
        str(path),
        "there" if is_kind else "no folder",
        stat.S_IMODE(found.st_mode),
        found.st_uid == os.getuid(),
        os.access(path, os.W_OK),
        is_private,
        is_folder,
        can_lock=not is_private or not is_folder or _can_lock(path),
    )


def _can_lock(folder: Path) -> bool:
    """Tell whether the file system of a folder has locks; where it cannot be opened, others say so."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        try_flock(descriptor, fcntl.LOCK_SH, folder)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def look_at_state_file(path: Path) -> SeenState:
    """Return what a state file is that can be opened, its contents checked. Raises StoreDamaged."""
    if not path.exists():
        return SeenState(str(path), None)
    is_whole, damage = True, None
    try:
        damage = find_damage(path, _CHECK_S)
    except TimeoutError:
        is_whole = False
    if damage is not None:
        raise make_damage(path, damage)
    return SeenState(str(path), path.stat().st_size, schema.CURRENT_VERSION, is_whole)
