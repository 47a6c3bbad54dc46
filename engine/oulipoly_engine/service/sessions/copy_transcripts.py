"""Carry transcripts from one folder to another: whole or not at all, the source untouched, nothing overwritten unseen.

A file gets its name only once all of it is on the disk. What lay there under that name is kept beside it, until the
move has happened and the copy has all of it. A copy that was cut short leaves a hidden file, which the next one
replaces.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from oulipoly_engine.adapters.transcript_file import lines_of, open_transcript, status_of
from oulipoly_engine.errors import MoveRefused, SessionBusy
from oulipoly_engine.private_files import make_folder, open_private, sync_folder
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import walk_folders

_BLOCK = 1 << 20
_LONGEST = 200  # bytes of a name that others are made from
_KEPT = re.compile(r"\.kept-\d{8}T\d+Z$")
_ATTEMPTS = 3  # at a file that changes while it is read


class Part(Record):
    """One file on its way."""

    source: Path
    target: Path
    start: int = 0  # the byte of the source from which it is copied

    @property
    def is_done(self) -> bool:
        """Tell whether the target holds these very bytes already."""
        return _length(self.target) == _length(self.source) - self.start and _begins_with(self, self.target)

    @property
    def grows(self) -> bool:
        """Tell whether the target holds a beginning of these bytes, so that nothing is lost by replacing it."""
        return _length(self.target) <= _length(self.source) - self.start and _begins_with(self, self.target)

    @property
    def is_ahead(self) -> bool:
        """Tell whether the target holds all of these bytes, and more behind them."""
        length = _length(self.source) - self.start
        return 0 <= length < _length(self.target) and self.agrees_up_to(length)

    def agrees_up_to(self, length: int) -> bool:
        """Tell whether source and target begin with the same bytes, so many of them."""
        try:
            with open_transcript(self.source) as source, open_transcript(self.target) as target:
                source.seek(self.start)
                return _same_beginning(source, target, length)
        except OSError:
            return False


class CopyResult(Record):
    """What came of it."""

    target: Path
    size_bytes: int
    kept: Path | None  # where the former file of that name lies now


def temporary_of(target: Path) -> Path:
    """Return the hidden name of a file while it is copied."""
    return target.with_name(f".{_cut(target.name)}.moving")


def kept_path(target: Path, at: str) -> Path:
    """Return the name that a file gets which a copy replaces; no CLI looks for sessions under it. at: RFC 3339."""
    return target.with_name(f"{_cut(target.name)}.kept-{''.join(sign for sign in at if sign.isalnum())}")


def is_kept(name: str) -> bool:
    """Tell whether a file's name is one that `kept_path` gives."""
    return _KEPT.search(name) is not None


def carry(part: Part, at: str) -> CopyResult:
    """Copy one file and return once it is safe on the disk under its name.

    at: when the move began, for the name of what it replaces. Raises MoveRefused when it cannot be read or written, or
    a link is in its place, SessionBusy when somebody keeps writing to the source.
    """
    refuse_link(part.target)
    if part.target.exists() and part.is_done:
        return CopyResult(part.target, part.target.stat().st_size, None)
    temporary = temporary_of(part.target)
    try:
        make_folder(part.target.parent)
        size_bytes = _copy(part, temporary)
        kept = _set_aside(part.target, at) if part.target.exists() else None
        temporary.rename(part.target)
        sync_folder(part.target.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        message = f"{part.source} cannot be copied to {part.target}: {error.strerror or error}; nothing was moved"
        raise MoveRefused(message) from error
    return CopyResult(part.target, size_bytes, kept)


def refuse_link(target: Path) -> None:
    """Raise MoveRefused for a link in the place of a copy, whether it leads anywhere or not."""
    if target.is_symlink():
        raise MoveRefused(f"{target} is a link, and what is behind it is not touched: move that file away first")


def list_folder(source: Path, target: Path) -> Iterator[Part]:
    """Yield a folder's files on their way into another one.

    Links and whatever is not a file are left out: they may lead anywhere.
    """
    for folder, _, names in walk_folders(source):
        for name in sorted(names):
            found = Path(folder, name)
            if found.is_file() and not found.is_symlink():
                yield Part(found, target / found.relative_to(source))


def first_line_with(path: Path, text: str, longest_line: int) -> tuple[int, int] | None:
    """Return the byte at which the first line begins that holds a text, and the line's number; None: no line does.

    longest_line: bytes; a longer one is passed over.
    """
    wanted = text.encode()
    position = 0
    with open_transcript(path) as file:
        for number, line in enumerate(lines_of(file, longest_line), 1):
            if isinstance(line, bytes) and wanted in line:
                return position, number
            position += len(line)
    return None


def _copy(part: Part, temporary: Path) -> int:
    """Copy one unmoved state of a file and return its size."""
    for _ in range(_ATTEMPTS):
        with open_transcript(part.source) as source:
            before = os.fstat(source.fileno())
            source.seek(part.start)
            temporary.unlink(missing_ok=True)
            descriptor = open_private(temporary, os.O_WRONLY | os.O_EXCL)
            with os.fdopen(descriptor, "wb") as file:
                shutil.copyfileobj(source, file, _BLOCK)
                file.flush()
                os.fsync(file.fileno())
            after = status_of(part.source)
        if (before.st_ino, before.st_size, before.st_mtime_ns) == (after.st_ino, after.st_size, after.st_mtime_ns):
            # The instant of its last record stays visible: the CLIs' pickers sort by it.
            os.utime(temporary, ns=(before.st_atime_ns, before.st_mtime_ns))
            return before.st_size - part.start
    raise SessionBusy(f"{part.source} is being written to: end the program that has the session open, and try again")


def _set_aside(path: Path, at: str) -> Path:
    kept = kept_path(path, at)
    try:
        os.link(path, kept)  # the name itself is replaced by the rename that follows: at no instant is there no file
    except OSError:
        if kept.exists() or not path.is_file():
            raise
        path.rename(kept)  # a file system without second names
    return kept


def _cut(name: str) -> str:
    """Return a file's name with room behind it, as none can have more than 255 bytes; still another for each file."""
    data = os.fsencode(name)
    return name if len(data) <= _LONGEST else f"{os.fsdecode(data[:_LONGEST])}-{zlib.crc32(data):08x}"


def _length(path: Path) -> int:
    try:
        return status_of(path).st_size
    except OSError:
        return -1


def _begins_with(part: Part, beginning: Path) -> bool:
    try:
        with open_transcript(part.source) as source, open_transcript(beginning) as other:
            source.seek(part.start)
            return _all_alike(source, other)
    except OSError:
        return False


def _all_alike(source: IO[bytes], other: IO[bytes]) -> bool:
    while block := other.read(_BLOCK):
        if source.read(len(block)) != block:
            return False
    return True


def _same_beginning(source: IO[bytes], other: IO[bytes], length: int) -> bool:
    while length > 0:
        block = source.read(min(_BLOCK, length))
        if not block or other.read(len(block)) != block:
            return False
        length -= len(block)
    return True
