"""Find, open and read files that somebody else may have put there: regular ones, without waiting, within limits.

A FIFO makes its reader wait for a writer, a device like /dev/zero never ends, and both can stand behind a link where a
configuration file or a transcript is expected. Whatever is wrong comes as OSError whose `strerror` is a sentence's
second half ("it is a FIFO, not a regular file"), so that a caller says one thing for all that can go wrong.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CONFIGURATION_LIMIT = 4 << 20  # bytes; nothing that people or CLIs write as configuration comes near
_BLOCK = 64 << 10
DEEPEST = 16  # folders below a CLI's own that are looked into; the deepest known are 4
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: str | Path, *, follows_links: bool = True, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading bytes. buffering: as for `open`.

    follows_links: whether the last part of the path may be a link; links among its folders are always followed.
    Raises OSError, also for what is not a regular file and for what can be no path at all.
    """
    try:
        descriptor = os.open(path, _FLAGS if follows_links else _FLAGS | os.O_NOFOLLOW)
    except ValueError as error:  # a NUL, or half a character
        raise OSError(errno.EINVAL, "its name has a character that no path can have", str(path)) from error
    except OSError as error:
        if (text := _explain(error.errno, follows_links=follows_links)) is not None:
            raise OSError(error.errno, text, str(path)) from error
        raise
    try:
        check_regular(os.fstat(descriptor), path)
        return open(descriptor, "rb", buffering)  # noqa: PTH123 - a descriptor, which the caller closes
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | Path, limit: int = CONFIGURATION_LIMIT, *, follows_links: bool = True) -> bytes:
    """Return what is in a regular file. limit: bytes. Raises OSError as `open_regular`, EFBIG for a larger one."""
    with open_regular(path, follows_links=follows_links, buffering=0) as file:
        expected = os.fstat(file.fileno()).st_size
        if expected > limit:
            raise _too_large(path, limit)
        parts: list[bytes] = []
        size = 0
        # Not at once: it can grow, and /proc says 0 bytes of what has some. Not more than it may have: Python takes
        # memory for as much as it is told to read.
        while part := file.read(min(limit + 1 - size, max(expected + 1, _BLOCK))):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise _too_large(path, limit)
    return b"".join(parts)


def walk_folders(
    root: str | Path, onerror: Callable[[OSError], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk as os.walk does, no deeper than any CLI keeps something; links to folders are not followed.

    Without a bound, folders in folders end in a RecursionError (Python 3.11), and paths in what the system refuses.
    """
    top = os.fspath(root).rstrip(os.sep).count(os.sep)
    for folder, folders, names in os.walk(root, onerror=onerror):
        if folder.count(os.sep) - top >= DEEPEST:
            folders.clear()
        yield folder, folders, names


def check_regular(status: os.stat_result, path: str | Path) -> None:
    """Raise OSError unless a status is that of a regular file; for whoever must not open the file."""
    if stat.S_ISREG(status.st_mode):
        return
    kind = next((kind for is_kind, kind in _KINDS if is_kind(status.st_mode)), "something else")
    number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
    raise OSError(number, f"it is {kind}, not a regular file", str(path))


def _explain(number: int | None, *, follows_links: bool) -> str | None:
    if number == errno.ENXIO:  # what a socket gives; a driver may be absent as well
        return "it is a socket or a device, not a regular file"
    if number == errno.ELOOP and not follows_links:  # FreeBSD says EMLINK; Linux and macOS say this
        return "it is a link, not a regular file"
    return None


def _too_large(path: str | Path, limit: int) -> OSError:
    size = f"{limit >> 20} MB" if limit >= 1 << 20 else f"{limit} bytes"
    return OSError(errno.EFBIG, f"it has more than {size}", str(path))
