"""The journals by which a change to a session that was cut off is finished or undone: of replacements and of moves.

Everything is written whole or not at all: temporary file, fsync, rename, fsync of the folder. Whoever changes a session
holds a shared lock on the folder, whoever recovers an exclusive one, and the kernel takes both back from a process that
dies: so what lies here while nobody else holds the lock was cut off.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.core.sessions.move_journal import MoveJournal, read_move
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.private_files import make_folder, open_private, sync_folder
from oulipoly_engine.process.lock import try_flock
from oulipoly_engine.records import Record

_PENDING = re.compile(r"session-(?P<id>.+)\.pending")
_CANONICAL = re.compile(r"session-(?P<id>.+)\.canonical\.jsonl")
_PATIENCE_S = 10.0  # for a recovery that is under way; it takes milliseconds
_PAUSE_S = 0.01


class JournalFolder(Record):
    """The folder of one state's journals."""

    path: Path

    @property
    def staging(self) -> Path:
        """Return the folder of input that nobody has taken up yet."""
        return self.path / "staging"

    @property
    def quarantine(self) -> Path:
        """Return the folder of journals that fit neither the old transcript nor the new one."""
        return self.path / "quarantine"

    def pending_path(self, session_id: str) -> Path:
        """Return a session's journal."""
        return self.path / f"session-{session_id}.pending"

    def canonical(self, session_id: str) -> Path:
        """Return the canonical lines that belong to a session's journal."""
        return self.path / f"session-{session_id}.canonical.jsonl"

    def pending_sessions(self) -> list[str]:
        """List the sessions that have a journal."""
        return _list_matching(self.path, _PENDING)

    def canonical_sessions(self) -> list[str]:
        """List the sessions that have canonical lines."""
        return _list_matching(self.path, _CANONICAL)

    def moves(self) -> Iterator[MoveJournal]:
        """Yield the journals of moves, as far as they can be understood."""
        for session_id in self.pending_sessions():
            with contextlib.suppress(OSError, ValueError):
                move = read_move(self.pending_path(session_id).read_bytes())
                if move is not None:
                    yield move

    def publish(self, session_id: str, content: bytes) -> None:
        """Write a session's journal: from now on the next start settles what it says. Raises RunnerError."""
        write(self.pending_path(session_id), content)

    def is_quarantined(self, session_id: str) -> bool:
        """Return whether a journal of a session was set aside."""
        return any(self.quarantine.glob(f"session-{session_id}.*"))

    @contextmanager
    def lock_shared(self) -> Iterator[None]:
        """Keep recoveries away for the block. Raises RunnerError when one does not end."""
        with translate_errors(self.path):
            make_folder(self.path)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            deadline = time.monotonic() + _PATIENCE_S
            while not try_flock(descriptor, fcntl.LOCK_SH, self.path):
                if time.monotonic() > deadline:
                    message = f"{self.path} stayed locked by another process for {_PATIENCE_S:.0f} s: try again"
                    raise RunnerError(message)
                time.sleep(_PAUSE_S)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def exclusive(self) -> Iterator[bool]:
        """Hold the folder alone for the block if nobody replaces or recovers just now; yields whether we do."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield try_flock(descriptor, fcntl.LOCK_EX, self.path)
        finally:
            os.close(descriptor)

    def drop_unfinished(self) -> None:
        """Remove files that were cut off while they were written; the caller holds the folder alone.

        So none of them is being written, whichever process has its number by now.
        """
        drop_files(self.path.glob(".session-*.tmp"))

    def remove(self, session_id: str, *, with_lines: bool) -> None:
        """Take a session's journal away.

        with_lines: and then the canonical lines that it needs; a move's needs none, and they may be another's.
        """
        with translate_errors(self.path):
            self.pending_path(session_id).unlink(missing_ok=True)
            if with_lines:
                self.canonical(session_id).unlink(missing_ok=True)
            sync_folder(self.path)

    def set_aside(self, session_id: str) -> Path:
        """Move a session's journal into quarantine and return where it lies; its canonical lines stay."""
        with translate_errors(self.path):
            make_folder(self.quarantine)
            number, target = 1, self.quarantine / f"session-{session_id}.pending"
            while target.exists():
                number += 1
                target = self.quarantine / f"session-{session_id}.{number}.pending"
            self.pending_path(session_id).rename(target)
            sync_folder(self.quarantine)
            sync_folder(self.path)
        return target


def has_journals(folder: Path) -> bool:
    """Tell whether any journal lies in a folder, which need not be there; costs next to nothing."""
    try:
        return any(name.endswith(".pending") for name in os.listdir(folder))  # noqa: PTH208 - ten times as fast
    except OSError:
        return False


def write(path: Path, content: bytes | Iterable[bytes], mode: int = 0o600, temporary: Path | None = None) -> None:
    """Write a file whole or not at all, and have it last through a power cut. content: as a whole, or its pieces.

    Raises RunnerError, naming the file, when that is not possible; then nothing is left of it.
    """
    place = temporary or path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with translate_errors(path):
        try:
            prepare(place, content, mode)
            place.rename(path)
        except BaseException:
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def prepare(path: Path, content: bytes | Iterable[bytes], mode: int) -> None:
    """Write a new file and see it to the disk. Raises OSError."""
    pieces = (content,) if isinstance(content, bytes) else content
    path.unlink(missing_ok=True)
    descriptor = open_private(path, os.O_WRONLY | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into RunnerError that names the file."""
    try:
        yield
    except OSError as error:
        raise RunnerError(
            f"{path} cannot be written: {error.strerror or error}; free some space, or mend the rights of its folder"
        ) from error


def drop_files(paths: Iterable[Path]) -> None:
    """Remove files as far as that is possible."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _list_matching(folder: Path, pattern: re.Pattern[str]) -> list[str]:
    matches = (pattern.fullmatch(name) for name in sorted(path.name for path in folder.iterdir()))
    return [match["id"] for match in matches if match is not None]
