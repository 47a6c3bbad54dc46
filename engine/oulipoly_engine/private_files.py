"""Make our folders (0700) and files (0600), whatever the umask: the only place that makes any.

A mode given to mkdir(2) holds for the last folder alone, not for those above it, and a umask can only take from it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600
_DESCRIPTORS = "/proc/self/fd"


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, where there is none. Raises OSError."""
    missing = []
    place = path
    while not _make(place):
        missing.append(place)
        place = place.parent
    for place in reversed(missing):
        _make(place)


def make_new_folder(path: Path) -> None:
    """Make a folder that must not be there yet, and those above it. Raises FileExistsError and other OSErrors."""
    make_folder(path.parent)
    path.mkdir(FOLDER_MODE)
    path.chmod(FOLDER_MODE)


def open_private(path: str | Path, flags: int) -> int:
    """Open a file of ours by flags such as os.O_WRONLY, make it where it is missing, and return the descriptor.

    One that is there keeps its mode. Raises OSError.
    """
    descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        if os.fstat(descriptor).st_mode & FILE_MODE != FILE_MODE:  # the umask took what is ours
            os.fchmod(descriptor, FILE_MODE)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_nameless(folder: Path) -> int | None:
    """Open a new file of ours that has no name yet and return the descriptor; `name_file` gives it one.

    A kill leaves nothing of it. None: this file system has no such files, or something else hinders.
    """
    if not hasattr(os, "O_TMPFILE") or not os.path.lexists(_DESCRIPTORS):
        return None
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE)
    except OSError:
        return None
    os.fchmod(descriptor, FILE_MODE)
    return descriptor


def name_file(descriptor: int, path: Path) -> None:
    """Give a file its first name. Raises FileExistsError and other OSErrors."""
    # A folder's descriptor has Python call linkat(2), which alone follows the link to what is open.
    with_folder = os.open(_DESCRIPTORS, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.link(str(descriptor), path, src_dir_fd=with_folder, follow_symlinks=True)
    finally:
        os.close(with_folder)


def write_private(path: Path, data: bytes) -> None:
    """Write a file of ours, in place of what is in it. Raises OSError."""
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(data)


def keep_first(path: Path, data: bytes) -> None:
    """Make a file of ours, whole at once. Where another process was faster, its file stays. Raises OSError."""
    fresh = path.with_name(f"{path.name}-{os.getpid()}.new")
    write_private(fresh, data)
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()


def _make(path: Path) -> bool:
    """Make one folder unless it is there; returns whether there was a folder to make it in. Raises OSError."""
    try:
        path.mkdir(FOLDER_MODE)
    except FileNotFoundError:
        if path.parent == path:
            raise
        return False
    except OSError:  # a file system that is read-only, or an automounter's, may say something else of what is there
        if not path.is_dir():
            raise
    else:
        path.chmod(FOLDER_MODE)
    return True


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last through a power cut. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
