"""Homes of removed accounts that are to be deleted: noted with the removal, deleted by it or by the next start.

    configuration and note in one change, key out of the keyring, home set aside and deleted, no note

The note is one of the removal's files, so taking the removal back takes the note back too.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oulipoly_engine.config.edit.write_files import FileChange
from oulipoly_engine.errors import Interrupted
from oulipoly_engine.records import Record

_LARGEST = 1 << 16  # bytes of a note


class RemovedHome(Record):
    """What is to be deleted of an account that is out of the configuration."""

    account: str
    home: Path
    entry: str = ""  # of its key in the keyring; empty: it has none there


def plan_note(folder: Path, removed: RemovedHome) -> FileChange:
    """Return the note of a home, as a file that changes with the configuration."""
    document = {"account": removed.account, "home": str(removed.home), "entry": removed.entry}
    return FileChange(folder / f"{removed.home.name.lstrip('.')}.json", None, json.dumps(document) + "\n")


def find_notes(folder: Path) -> tuple[Path, ...]:
    """Return the notes that are there."""
    return tuple(sorted(folder.glob("[!.]*.json")))


@contextmanager
def hold_note(note: Path, *, waits: bool) -> Iterator[RemovedHome | None]:
    """Hold a note for the block, and drop it at its end, also where the block fails; a kill leaves it.

    Yields None where somebody else is at work on it, or has done it, or it cannot be read.
    waits: until who is at work on it has ended.
    """
    try:
        descriptor = os.open(note, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        is_ours = _lock(descriptor, waits=waits) and note.exists()
        removed = _read(descriptor) if is_ours else None
        try:
            yield removed
        except Interrupted:
            raise
        except Exception:
            _drop(note, is_ours=is_ours)
            raise
        _drop(note, is_ours=is_ours)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, waits: bool) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _read(descriptor: int) -> RemovedHome | None:
    try:
        told = json.loads(os.pread(descriptor, _LARGEST, 0))
        return RemovedHome(str(told["account"]), Path(told["home"]), str(told["entry"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _drop(note: Path, *, is_ours: bool) -> None:
    if is_ours:
        with suppress(OSError):
            note.unlink(missing_ok=True)
            note.parent.rmdir()  # an empty folder says to every start that nothing is left to do
