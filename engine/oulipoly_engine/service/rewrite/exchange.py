"""One file put in another's place while the program that appends to it may be at work; what it appends is not lost.

A rename is whole or not at all, but a program that has opened the old file writes on into it, where nobody will look.
So the file's writers are kept waiting (`process/open_files.py`) from the last look at the old file until the new one is
in its place:

* whoever has it open for writing before that makes the exchange be refused;
* whoever opens it meanwhile waits; then the old file, which has a second name until the end, is put back, and they
  write into what they meant;
* whoever comes later opens the new file: their lines stand behind it, and stay;
* what is written into the old file all the same is carried over behind the new one at the end (`carry_over`), or by
  the next start when we are killed (`late_bytes`). That takes a system without leases, or a program that the scheduler
  has stopped within its open(2) for as long as all of this takes.

What nobody can see is a program that opened the file before, on a system with neither leases nor /proc, and writes
after all this is over.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.adapters.transcript_file import open_to_append, open_transcript
from oulipoly_engine.errors import RunnerError, SessionBusy
from oulipoly_engine.private_files import sync_folder
from oulipoly_engine.process.open_files import Hold, OpenForWriting, hold_writers
from oulipoly_engine.records import Record
from oulipoly_engine.service.rewrite.target import Image, open_elsewhere
from oulipoly_engine.service.sessions.journal import translate_errors, write

_PATIENCE_S = 1.0  # for a program that writes a line into what was put there for a moment


class WrittenMeanwhile(Exception):
    """The old file was written to; it is in its place."""


class Exchange(Record):
    """A file that lies ready to take the place of a transcript."""

    path: Path
    image: Image  # of the transcript as it was read
    old: BinaryIO  # the transcript, open for reading
    temporary: Path  # the file that lies ready
    size_bytes: int  # of it
    aside: Path  # the old file's second name

    def carry_out(self, last_look: Callable[[], None], renamed: Callable[[], None]) -> None:
        """Exchange them. Raises WrittenMeanwhile, SessionBusy, whatever last_look raises, and OSError.

        last_look: called when nobody writes any more, right before the exchange. renamed: called right behind it.
        The old file has its second name until `end`, unless the file system has no such thing.
        """
        with contextlib.suppress(OSError):
            self.aside.unlink(missing_ok=True)
            os.link(self.path, self.aside)
        with self.temporary.open("rb") as new:
            with _alone_at(self.old, self.path) as hold:
                last_look()
                if hold.is_wanted():
                    raise WrittenMeanwhile
                self.temporary.rename(self.path)
                renamed()
                sync_folder(self.path.parent)
                is_written = hold.is_wanted() or self._has_grown()
                copied_bytes = self._put_back() if is_written else None
            if is_written:
                self._append(_rest(new, self.size_bytes))
                if copied_bytes is not None:
                    self._append(_rest(self.old, copied_bytes))
                raise WrittenMeanwhile

    def carry_over(self) -> int:
        """Append to the new transcript what has come into the old one after all; return how many bytes."""
        late = _rest(self.old, self.image.state.st_size)
        self._append(late)
        return len(late)

    def end(self) -> None:
        """Give up the old file's second name."""
        with contextlib.suppress(OSError):
            self.aside.unlink(missing_ok=True)

    def _has_grown(self) -> bool:
        now, then = os.fstat(self.old.fileno()), self.image.state
        return (now.st_size, now.st_mtime_ns) != (then.st_size, then.st_mtime_ns)

    def _put_back(self) -> int | None:
        """Put the old file back; return its size where a copy had to do, for a file system without second names."""
        if self.aside.exists():
            self.aside.rename(self.path)
            sync_folder(self.path.parent)
            return None
        self.old.seek(0)
        data = self.old.read()
        write(self.path, data, self.image.state.st_mode & 0o7777, self.temporary)
        return len(data)

    def _append(self, late: bytes) -> None:
        if late:
            append(self.path, late)


def append(path: Path, late: bytes) -> None:
    """Append what was written into a file that is no more to the one in its place, as lines of their own.

    Does nothing when it stands there already: whoever did this before was killed before it could note it.
    """
    with translate_errors(path), open_transcript(path, 0) as file:
        data = file.read()
    if late in data:
        return
    between = b"" if data[-1:] in (b"", b"\n") else b"\n"
    with translate_errors(path), open_to_append(path) as file:  # one write: another program may append as well
        file.write(between + late)
        os.fsync(file.fileno())


def late_bytes(path: Path, aside: Path, size_bytes: int) -> bytes:
    """Return what came into an old file after it was exchanged; nothing while it is still the transcript itself.

    size_bytes: of the old file when it was read.
    """
    try:
        with aside.open("rb") as old:
            is_other = not os.path.samestat(os.fstat(old.fileno()), path.stat())
            return _rest(old, size_bytes) if is_other else b""
    except OSError:
        return b""


@contextmanager
def _alone_at(file: BinaryIO, path: Path) -> Iterator[Hold]:
    try:
        with hold_writers(file) as hold:
            yield hold
    except OpenForWriting as error:
        raise SessionBusy(open_elsewhere(path, error)) from error


def _rest(file: BinaryIO, size_bytes: int) -> bytes:
    """Return what stands behind a file's first bytes once nobody writes to it any more, or does not end to."""
    with contextlib.suppress(OpenForWriting, RunnerError), hold_writers(file, _PATIENCE_S):
        pass
    return os.pread(file.fileno(), max(os.fstat(file.fileno()).st_size - size_bytes, 0), size_bytes)
