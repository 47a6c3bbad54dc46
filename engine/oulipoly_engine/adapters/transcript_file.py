"""The one way to open a transcript: a file of its own, and a line at a time.

A link in a transcript's place may lead anywhere: what is behind it would be shown, packed, or carried into another
account's home. So it counts as no transcript, and what has been opened is looked at again. Links among the folders
above are somebody's own arrangement and are followed: an account's home or its projects often lie elsewhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.core.transcripts.canonical import LongLine, describe_length
from oulipoly_engine.errors import TranscriptMalformed
from oulipoly_engine.regular_files import check_regular, open_regular

_PIECE = 1 << 20  # bytes


def open_transcript(path: str | Path, buffering: int = -1) -> BinaryIO:
    """Open a transcript, or a file in a session's own folder, to be read; buffering: as for `open`.

    Raises OSError, also for a link and for whatever else is not a regular file; its `strerror` says what it is.
    """
    return open_regular(path, follows_links=False, buffering=buffering)


def lines_of(file: BinaryIO, longest: int) -> Iterator[bytes | LongLine]:
    """Yield a file's lines from where it stands, each with its LF; only the last may lack one.

    longest: bytes, with the LF. Of a longer line no more than that is ever in memory.
    """
    piece = min(_PIECE, longest + 1)
    while line := file.readline(piece):
        if len(line) == piece and not line.endswith(b"\n"):
            yield _read_on(file, line, longest)
        elif len(line) <= longest:
            yield line
        else:
            yield LongLine(len(line))


def _read_on(file: BinaryIO, first: bytes, longest: int) -> bytes | LongLine:
    """Return the line that begins so."""
    pieces, size = [first], len(first)
    while not first.endswith(b"\n") and (first := file.readline(_PIECE)):
        size += len(first)
        if size > longest:
            pieces.clear()
        else:
            pieces.append(first)
    return b"".join(pieces) if size <= longest else LongLine(size)


def check_lines(path: str | Path, longest: int) -> None:
    """Look whether a transcript may be read as a whole. Raises TranscriptMalformed for a line that is too long.

    Raises OSError as `open_transcript` does.
    """
    with open_transcript(path, _PIECE) as file:
        if os.fstat(file.fileno()).st_size <= longest:
            return
        start = 0
        for number, line in enumerate(lines_of(file, longest), 1):
            if isinstance(line, LongLine):
                message = f"{path}, line {number}: {describe_length(start, line)}; raise it, or remove that line"
                raise TranscriptMalformed(message, line=number)
            start += len(line)


def read_transcript(path: str | Path, longest: int) -> bytes:
    """Return all of a transcript. Raises as `check_lines` does, before anything is kept in memory."""
    check_lines(path, longest)
    with open_transcript(path, 0) as file:
        return file.read()


def open_to_append(path: str | Path) -> BinaryIO:
    """Open a transcript to append to it, in one go with each write. Raises OSError as `open_transcript` does."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY)
    try:
        check_regular(os.fstat(descriptor), path)
        return open(descriptor, "ab", 0)  # noqa: PTH123 - a descriptor, which the caller closes
    except BaseException:
        os.close(descriptor)
        raise


def status_of(path: str | Path) -> os.stat_result:
    """Return what the file system says of a transcript. Raises OSError as `open_transcript` does."""
    status = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - ten thousand of them
    check_regular(status, path)
    return status


def find_status(path: str | Path) -> os.stat_result | None:
    """Return the same, None where no transcript is. Raises OSError where nobody can tell."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def is_transcript(path: str | Path) -> bool:
    """Tell whether a path leads to a file of its own, not to a link or anything else."""
    try:
        return find_status(path) is not None
    except (OSError, ValueError):  # ValueError: a character that no path can have
        return False
