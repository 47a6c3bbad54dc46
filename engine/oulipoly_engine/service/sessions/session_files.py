"""Session files on the disk: read, brought to version 2, and appended to.

Whoever writes holds the session's lease. A kill at any step loses nothing: a new file gets its name when it is whole,
a migrated one takes the old one's place when the old one has a second name, and what is appended goes out in one write.
A line that was torn stays as it is, and the next begins behind it. A file without a usable header counts as empty and
is never written, for nobody knows whose it is.
"""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.adapters.transcript_file import lines_of, open_to_append, open_transcript
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.transcripts.session_file.decode import CURRENT, SessionFile, SessionFileReader, read_file
from oulipoly_engine.core.transcripts.session_file.encode import encode, encode_entry
from oulipoly_engine.core.transcripts.session_file.entry import ASSISTANT, USER, Header, SessionEntry
from oulipoly_engine.errors import NameTaken, SessionBusy, StorageUnsupported
from oulipoly_engine.private_files import make_folder, sync_folder
from oulipoly_engine.process.lock import try_flock
from oulipoly_engine.records import replace
from oulipoly_engine.service.sessions.journal import drop_files, translate_errors, write

_PIECE = 1 << 20  # bytes


def read(path: Path, longest: int, session_id: str = "") -> SessionFile:
    """Return what a session file holds, old versions as version 2 has it; nothing is written.

    longest: bytes of a line. session_id: of a file whose lines tell none; empty: its name. Of a file without a usable
    header the entries are left out, unless it lacks but an id and is given one here.
    Raises StorageUnsupported for a newer version, and OSError as `open_transcript`.
    """
    with open_transcript(path) as file, _naming(path):
        content = read_file(_reader(path, file, longest, session_id))
    if session_id and content.is_nameless:
        return replace(content, header=replace(content.header, id=session_id))
    return content if content.is_usable else replace(content, entries=())


@contextmanager
def open_twice(
    path: Path, longest: int, session_id: str = ""
) -> Iterator[tuple[BinaryIO, Callable[[], SessionFileReader]]]:
    """Lend a session file, and what begins to read it from its start. Arguments as of `read`.

    Raises StorageUnsupported for a newer version, and OSError as `open_transcript`.
    """
    with open_transcript(path) as file, _naming(path):

        def read_again() -> SessionFileReader:
            file.seek(0)
            return _reader(path, file, longest, session_id)

        yield file, read_again


def migrate(path: Path, longest: int) -> Path | None:
    """Bring a file of version 0 or 1 to version 2, and return where the old one is kept. None: nothing was to be done.

    What cannot be read stays in the old one alone. longest: bytes of a line.
    Raises StorageUnsupported for a newer version, SessionBusy where somebody else does the same, RunnerError where that
    is not possible, and OSError as `open_transcript`.
    """
    with open_transcript(path) as file, _naming(path):
        if not try_flock(file.fileno(), fcntl.LOCK_EX, path):
            raise SessionBusy(f"{path} is just being migrated by another process: try again")
        if not _is_at(path, file):  # the other process was done before we had the lock
            return None
        reader = _reader(path, file, longest)
        if reader.header.version >= CURRENT or not _is_usable_to_the_end(reader):
            return None
        _drop_unfinished(path)
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        backup = _keep(path, file, reader.header.version, mode)
        file.seek(0)
        reader = _reader(path, file, longest)
        write(path, encode(reader.header, reader), mode)
        return backup


class SessionWriter:
    """Writes one session's file: nothing before the first answer, then all of it at once, then line by line."""

    def __init__(self, path: Path, header: Header) -> None:
        """Begin a session's file, which must not be there yet when it is written."""
        self._path = path
        self._header = header
        self._waiting: list[SessionEntry] = []
        self._is_on_disk = False
        self._is_ours = True
        self._has_prompt = False

    @classmethod
    def resume(cls, path: Path, longest: int) -> SessionWriter:
        """Go on with a session's file, which is migrated first where it is old.

        Raises StorageUnsupported where its header is not usable or it is not of version 2 then, and as `migrate`.
        """
        migrate(path, longest)
        with open_transcript(path) as file, _naming(path):
            reader = _reader(path, file, longest)
        if not reader.is_usable or reader.header.version != CURRENT:
            raise StorageUnsupported(
                f"{path} is not a session file of version {CURRENT} with an id in its first line: it is left as it is, "
                "and a new session can take its place"
            )
        writer = cls(path, reader.header)
        writer._is_on_disk = True
        writer._is_ours = False
        return writer

    def append(self, *entries: SessionEntry) -> None:
        """Add entries; they are on the disk when an assistant has answered. Raises RunnerError, and NameTaken."""
        self._has_prompt = self._has_prompt or any(entry.role == USER for entry in entries)
        if self._is_on_disk:
            _append(self._path, b"".join(map(encode_entry, entries)))
            return
        self._waiting += entries
        if any(each.role == ASSISTANT for each in self._waiting):
            self._create()

    def close(self) -> None:
        """End the session: a file of ours in which nobody has asked anything is removed. Raises RunnerError."""
        self._waiting.clear()
        if self._is_on_disk and self._is_ours and not self._has_prompt:
            with translate_errors(self._path):
                self._path.unlink(missing_ok=True)

    def _create(self) -> None:
        with translate_errors(self._path):
            make_folder(self._path.parent)
        if os.path.lexists(self._path):
            raise NameTaken(f"{self._path} is there already: it is left as it is")
        _drop_unfinished(self._path)
        write(self._path, encode(self._header, self._waiting))
        self._is_on_disk = True
        self._waiting.clear()


def _drop_unfinished(path: Path) -> None:
    """Remove what was left by a process that was killed while it wrote the file, or its backup, anew."""
    drop_files(path.parent.glob(f".{glob.escape(path.name)}.*.tmp"))


def _append(path: Path, lines: bytes) -> None:
    """Append lines in one write, behind a torn one on a line of its own. Raises RunnerError."""
    with translate_errors(path):
        with open_transcript(path, 0) as file:
            size = os.fstat(file.fileno()).st_size
            is_torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
        with open_to_append(path) as file:
            data = b"\n" + lines if is_torn else lines
            if file.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def _reader(path: Path, file: BinaryIO, longest: int, session_id: str = "") -> SessionFileReader:
    modified_at = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
    return SessionFileReader(lines_of(file, longest), session_id or path.stem, to_text(modified_at))


def _is_usable_to_the_end(reader: SessionFileReader) -> bool:
    """Read a file to its end, where a header may come that makes it another's."""
    for _ in reader:
        pass
    return reader.is_usable


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _keep(path: Path, file: BinaryIO, version: int, mode: int) -> Path:
    """Give a file a second name and return that: a link, so that whoever has it open writes into what is kept."""
    number = 1
    backup = path.with_name(f"{path.name}.bak-v{version}")
    while os.path.lexists(backup):
        if backup.exists() and backup.samefile(path):  # a kill came before the migrated file
            return backup
        number += 1
        backup = path.with_name(f"{path.name}.bak-v{version}.{number}")
    try:
        os.link(path, backup)
    except OSError:  # a file system without links
        file.seek(0)
        write(backup, iter(lambda: file.read(_PIECE), b""), mode)
    with translate_errors(backup):
        sync_folder(path.parent)
    return backup


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Have an error of the block about a file's version name the file."""
    try:
        yield
    except StorageUnsupported as error:
        raise StorageUnsupported(f"{path}: {error.message}") from error
