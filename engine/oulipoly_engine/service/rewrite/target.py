"""The transcript that is replaced: read at one moment, free of its CLI, and not built upon by another one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.adapters import codex_threads, live_owner
from oulipoly_engine.adapters.transcript_file import check_lines, open_transcript, status_of
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.rewrite import rewrite
from oulipoly_engine.core.rewrite.rewrite import Reading
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.transcripts.canonical import Origin
from oulipoly_engine.errors import ReplacementInvalid, RunnerError, SessionBusy
from oulipoly_engine.process.open_files import OpenForWriting, hold_writers
from oulipoly_engine.records import Record
from oulipoly_engine.service.sessions.locate import Locator

_ATTEMPTS = 4  # at a file that changes while it is read


class Target(Record):
    """The transcript that is replaced."""

    session: ResolvedSession
    storage_type: StorageType
    path: Path  # absolute, no symlink in it
    longest_line: int

    @property
    def origin(self) -> Origin:
        """Return what its records are exported with."""
        return Origin(self.session.session_id, self.session.account, str(self.path))

    def read(self, data: bytes) -> Reading:
        """Return what an export shows of a state of it. Raises TranscriptMalformed."""
        return rewrite.read(self.storage_type, data, self.origin)


class Image(Record):
    """A transcript's bytes at one moment."""

    data: bytes
    state: os.stat_result

    @property
    def file_sha256(self) -> str:
        """Return the hash of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    def is_of(self, state: os.stat_result) -> bool:
        """Return whether a file is still the one that was read, untouched."""
        mine, other = self.state, state
        return (mine.st_dev, mine.st_ino, mine.st_size, mine.st_mtime_ns) == (
            other.st_dev,
            other.st_ino,
            other.st_size,
            other.st_mtime_ns,
        )


def image_of(path: Path, longest_line: int) -> Image:
    """Read a transcript as it is at one moment.

    Raises RunnerError when it cannot be read, TranscriptMalformed for a line that is too long, SessionBusy when it
    never holds still.
    """
    try:
        check_lines(path, longest_line)
        for _ in range(_ATTEMPTS):
            with open_transcript(path) as file:
                image = Image(file.read(), os.fstat(file.fileno()))
                if len(image.data) == image.state.st_size and image.is_of(status_of(path)):
                    return image
    except OSError as error:
        raise RunnerError(f"the transcript {path} cannot be read: {error.strerror or error}") from error
    message = f"its CLI is at work: the transcript {path} changed each time it was read; wait for it, or end it there"
    raise SessionBusy(message)


@contextmanager
def alone(target: Target) -> Iterator[None]:
    """Keep the session's CLI away for the block, as far as it lets us. Raises SessionBusy while it is at work.

    A CLI that opens its transcript for each line and leaves no mark is at work between its lines too; whether it wrote
    meanwhile is looked at when the transcript is exchanged.
    """
    session_id = target.session.session_id
    if target.storage_type is StorageType.CLAUDE_CODE:
        pid = live_owner.claude_owner(target.path, session_id)
        if pid is not None:
            message = f"Claude Code is at work on session {session_id} (process {pid}): end it there, then try again"
            raise SessionBusy(message, pid=pid)
        _check_unopened(target.path)
        yield
        return
    with live_owner.codex_writer(target.path, session_id) as is_free:
        if not is_free:
            raise SessionBusy(
                f"Codex has session {session_id} open: end it there (its background service too, with "
                "`codex app-server daemon stop`), then try again"
            )
        _check_unopened(target.path)
        yield


def open_elsewhere(path: Path, error: OpenForWriting) -> str:
    """Return the message for a transcript that somebody has open for writing."""
    who = f"process {error.pids[0]}" if error.pids else "another process"
    return f"the session is live: {who} has its transcript {path} open for writing: end it there, then try again"


def _check_unopened(path: Path) -> None:
    """Raise SessionBusy while somebody has a transcript open for writing, as a CLI that leaves no other mark."""
    try:
        with open_transcript(path) as file, hold_writers(file):
            pass
    except OpenForWriting as error:
        raise SessionBusy(open_elsewhere(path, error)) from error
    except OSError:
        return  # whoever reads it next tells why it cannot be read


def check_forks(target: Target, old: bytes, new: bytes) -> None:
    """Raise ReplacementInvalid when another rollout builds on bytes that would change."""
    home = live_owner.codex_home(target.path) if target.storage_type is StorageType.CODEX_SESSION else None
    if home is None or old == new:
        return
    for fork in codex_threads.forks_of(home, target.session.session_id):
        if fork.path != target.path and old[: fork.end_byte_offset] != new[: fork.end_byte_offset]:
            message = (
                f"the rollout {fork.path} is a fork that reads the first {fork.end_byte_offset} bytes of "
                f"{target.path} as its own history: it could not be resumed any more"
            )
            raise ReplacementInvalid(message, fork=str(fork.path))


def clear_projection(locator: Locator, target: Target) -> Iterator[str]:
    """Have the CLI's screens read the transcript again; yield a note when that could not be done."""
    home = live_owner.codex_home(target.path) if target.storage_type is StorageType.CODEX_SESSION else None
    if home is None:
        return
    account = locator.accounts.get(target.session.account)
    moved = (account.environment if account is not None else {}).get("CODEX_SQLITE_HOME")
    moved = moved or locator.environ.get("CODEX_SQLITE_HOME")
    folders = [home, *([Path(moved)] if moved else [])]
    problem = codex_threads.clear_projection(folders, target.session.session_id)
    if problem is not None:
        yield problem
