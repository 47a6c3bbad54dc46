"""Write a file that is there whole or not at all, and never in place of another unless that was asked for."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.private_files import name_file, open_nameless, open_private, sync_folder

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_HOUR_S = 3600.0


class FileExists(RunnerError, slug="file-exists", exit_code=2):
    """A file that would be written is there already."""


@contextmanager
def new_file(path: Path, *, force: bool = False, suffix: str | None = None) -> Iterator[BinaryIO]:
    """Open a file to be written; it appears under its name, synced, when the block ends well.

    Until then it has none where the file system can do that, so that a kill leaves nothing.

    force: take the place of a file that is there. suffix: of the temporary name, where a lock keeps others away: then
    what a killed run left is written over.
    Raises FileExists, and OSError for what the disk or the folder refuses.
    """
    if not force and (path.exists() or path.is_symlink()):
        raise exists(path)
    if suffix is None:
        _remove_leavings(path)
    temporary = temporary_of(path, suffix or str(os.getpid()))
    nameless = open_nameless(path.parent) if suffix is None else None
    try:
        if nameless is not None:
            with os.fdopen(nameless, "wb", buffering=1 << 20) as file:
                yield file
                file.flush()
                os.fsync(nameless)
                _name_whole(nameless, temporary, path, force=force)
            sync_folder(path.parent)
            return
        descriptor = open_private(temporary, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "wb", buffering=1 << 20) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if force:
            temporary.replace(path)
        else:
            place(temporary, path)
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _name_whole(descriptor: int, temporary: Path, path: Path, *, force: bool) -> None:
    """Give a finished file without a name its own. Raises FileExists and OSError."""
    if force:
        name_file(descriptor, temporary)
        temporary.replace(path)
        return
    try:
        name_file(descriptor, path)
    except FileExistsError as error:
        raise exists(path) from error


def temporary_of(path: Path, suffix: str) -> Path:
    """Return the name that a file has before it is whole; no name can have more than 255 bytes."""
    return path.with_name(f".{os.fsdecode(os.fsencode(path.name)[:200])}.{suffix}.part")


def _remove_leavings(path: Path) -> None:
    """Remove what killed writers of this file have left beside it.

    The writer's process must be gone and its file an hour old: on a shared disk it may run on another machine.
    """
    prefix = temporary_of(path, "").name.removesuffix("part").removesuffix(".")
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            process = entry.name.removeprefix(prefix).removesuffix(".part")
            if entry.name == f"{prefix}{process}.part" and process.isascii() and process.isdigit():
                with suppress(OSError):
                    is_old = entry.stat(follow_symlinks=False).st_mtime < time.time() - _HOUR_S
                    if is_old and not _is_running(int(process)):
                        Path(entry).unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's, or no process id at all: not ours to judge
        return True
    return True


def place(temporary: Path, path: Path) -> None:
    """Give a finished file its name, unless another has it by now. Raises FileExists and OSError."""
    try:
        os.link(temporary, path)
    except FileExistsError as error:
        raise exists(path) from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():  # no hard links here: a moment stays in which another could appear
            raise exists(path) from error
        temporary.rename(path)
    else:
        temporary.unlink()


def exists(path: Path) -> FileExists:
    """Return the error that names a file in the way."""
    return FileExists(f"{path} is there already: name another file, or add --force to replace it", path=str(path))
