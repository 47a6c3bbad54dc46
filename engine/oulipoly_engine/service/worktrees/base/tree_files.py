"""Files of a worktree, opened folder by folder without following a link: an agent may put one there at any moment.

A check before an open would be a race; here no link is ever gone through. What is written is the user's own, with the
modes of the umask, and takes the place of the old file whole.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.core.worktrees.refusals import FileChanged, FileMissing, FileTooLarge, PathRefused
from oulipoly_engine.regular_files import DEEPEST, check_regular

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_FILE_MODE, _FOLDER_MODE = 0o666, 0o777  # less the umask, as of every program
_BLOCK = 1 << 20


def digest(content: bytes) -> str:
    """Return the etag of a file's content."""
    return hashlib.sha256(content).hexdigest()


def status_of(root: Path, names: Sequence[str]) -> os.stat_result | None:
    """Return the status of a file, or of a link itself; None: it is not there. Raises PathRefused as `read_file`."""
    try:
        with _open_folder(root, names[:-1]) as folder:
            return os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def link_target(root: Path, names: Sequence[str]) -> bytes:
    """Return what a link says. Raises OSError, and PathRefused for a link before it."""
    with _open_folder(root, names[:-1]) as folder:
        return os.fsencode(os.readlink(names[-1], dir_fd=folder))


def read_file(root: Path, names: Sequence[str], limit: int) -> bytes:
    """Return a regular file's content. limit: bytes; a larger file is not read.

    Raises FileMissing, FileTooLarge (`size`), and PathRefused for links and whatever else is not a regular file.
    """
    try:
        with _open_folder(root, names[:-1]) as folder:
            return _read(folder, names, limit)
    except FileNotFoundError as error:
        raise FileMissing(f"there is no file {_shown(names)} in the worktree") from error


def open_file(root: Path, names: Sequence[str]) -> BinaryIO:
    """Open a regular file to read; the caller closes it. Raises FileMissing, and PathRefused as `read_file`."""
    try:
        with _open_folder(root, names[:-1]) as folder:
            return open(_open_regular(folder, names)[0], "rb")  # noqa: PTH123 - a descriptor, for the caller
    except FileNotFoundError as error:
        raise FileMissing(f"there is no file {_shown(names)} in the folder") from error


def list_files(root: Path, most: int) -> list[tuple[str, os.stat_result]]:
    """Return the regular files below a folder, `most` at most, by their paths from there; no link is followed."""
    found: list[tuple[str, os.stat_result]] = []
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        names = waiting.pop(0)
        # What an agent takes away, or puts a link in place of, meanwhile is not there.
        with suppress(OSError, PathRefused), _open_folder(root, names) as folder, os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if len(found) == most:
                    return found
                if entry.is_file(follow_symlinks=False):
                    found.append(("/".join((*names, entry.name)), entry.stat(follow_symlinks=False)))
                elif entry.is_dir(follow_symlinks=False) and len(names) < DEEPEST:
                    waiting.append((*names, entry.name))
    return found


def write_file(root: Path, names: Sequence[str], content: bytes, expected: str | None) -> None:
    """Put a file in place of what is there, with its mode; folders that are missing are made.

    expected: the etag that the file has to have, empty for a file that must not be there; None: whatever is there.
    Raises FileChanged, PathRefused, and OSError of the system.
    """
    with _open_folder(root, names[:-1], makes=True) as folder:
        mode = _mode_of(folder, names)
        temporary = f".{uuid.uuid4().hex}.new"
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE_MODE, dir_fd=folder
        )
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(content)
                file.flush()
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            if expected is not None:
                _refuse_changed(folder, names, expected)
            os.rename(temporary, names[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException as error:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            if isinstance(error, OSError):
                error.filename = "/".join(names)  # a full disk names no file
            raise


def place_file(root: Path, names: Sequence[str], source: Path) -> None:
    """Move a file or a link in place of the one that is there; folders that are missing are made.

    source: on the same disk. Raises PathRefused for a folder there, and for a link or a file before it; and OSError.
    """
    with _open_folder(root, names[:-1], makes=True) as folder:
        try:
            os.rename(source, names[-1], dst_dir_fd=folder)
        except IsADirectoryError as error:
            raise PathRefused(f"{_shown(names)} is a folder now: move it away") from error


def remove_file(root: Path, names: Sequence[str]) -> None:
    """Remove a file or a link, and the folders that it leaves empty. Raises PathRefused, and OSError."""
    with suppress(FileNotFoundError), _open_folder(root, names[:-1]) as folder:
        os.unlink(names[-1], dir_fd=folder)
    for depth in range(len(names) - 1, 0, -1):
        try:
            with _open_folder(root, names[: depth - 1]) as folder:
                os.rmdir(names[depth - 1], dir_fd=folder)
        except OSError:
            return


def find_obstacles(root: Path, added: Iterable[str], gone: Collection[str]) -> dict[str, str]:
    """Return those files that cannot be added without a loss, with what is in their way: itself, or on the way to it.

    gone: files that are removed first.
    """
    obstacles = {}
    for path in added:
        names = path.split("/")
        for depth in range(1, len(names) + 1):
            part = "/".join(names[:depth])
            status = status_of(root, names[:depth])
            if status is None:
                break
            is_folder = stat.S_ISDIR(status.st_mode)
            if depth < len(names) and is_folder:
                continue
            if part not in gone and not (is_folder and _only_holds(root / part, part, gone)):
                obstacles[path] = part
            break
    return obstacles


def _only_holds(folder: Path, path: str, gone: Collection[str]) -> bool:
    """Tell whether a folder, where a file is to be, has only files that the move removes."""
    for place, folders, names in os.walk(folder):
        below = Path(place).relative_to(folder).as_posix()
        prefix = path if below == "." else f"{path}/{below}"
        if any(f"{prefix}/{name}" not in gone for name in names):
            return False
        if any((Path(place) / name).is_symlink() and f"{prefix}/{name}" not in gone for name in folders):
            return False
    return True


@contextmanager
def _open_folder(root: Path, names: Sequence[str], *, makes: bool = False) -> Iterator[int]:
    descriptor = os.open(root, _FOLDER)
    try:
        for name in names:
            if makes:
                with suppress(FileExistsError):
                    os.mkdir(name, _FOLDER_MODE, dir_fd=descriptor)
            try:
                below = os.open(name, _FOLDER, dir_fd=descriptor)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                    raise PathRefused(
                        f"{name!r} on the way to the file is a link or a file, and not a folder: no link is followed"
                    ) from error
                raise
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _open_regular(folder: int, names: Sequence[str]) -> tuple[int, os.stat_result]:
    """Return the descriptor of a regular file, and its status. Raises PathRefused, and OSError."""
    try:
        descriptor = os.open(names[-1], _READ, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise PathRefused(f"{_shown(names)} is a link, a socket or a device, and no link is followed") from error
        raise
    status = os.fstat(descriptor)
    try:
        check_regular(status, names[-1])
    except OSError as error:
        os.close(descriptor)
        raise PathRefused(f"{_shown(names)} cannot be read: {error.strerror}") from error
    return descriptor, status


def _read(folder: int, names: Sequence[str], limit: int) -> bytes:
    descriptor, status = _open_regular(folder, names)
    try:
        if status.st_size > limit:
            raise FileTooLarge(_too_large(names, status.st_size, limit), size=status.st_size)
        content = b""
        while part := os.read(descriptor, min(_BLOCK, limit + 1 - len(content))):
            content += part
            if len(content) > limit:
                raise FileTooLarge(_too_large(names, len(content), limit), size=len(content))
        return content
    finally:
        os.close(descriptor)


def _mode_of(folder: int, names: Sequence[str]) -> int | None:
    try:
        status = os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise PathRefused(f"{_shown(names)} is a link or a folder, and not a regular file: nothing was written")
    return stat.S_IMODE(status.st_mode)


def _refuse_changed(folder: int, names: Sequence[str], expected: str) -> None:
    try:
        found = digest(_read(folder, names, _BLOCK << 4))
    except FileNotFoundError:
        found = ""
    if found != expected:
        raise FileChanged(f"{_shown(names)} is no longer what was read: read it again, and make the change anew")


def _too_large(names: Sequence[str], size: int, limit: int) -> str:
    return f"{_shown(names)} has {size:,} bytes, more than the {limit:,} that are read here: look at it in its folder"


def _shown(names: Sequence[str]) -> str:
    return repr("/".join(names))
