"""Write several files so that none is ever half there: all lie ready beside their places before the first rename."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.private_files import make_folder, sync_folder
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular

_NEW_FILE_MODE = 0o600  # accounts may hold secrets in their environment


class FileChange(Record):
    """One file's text before and after."""

    path: Path
    before: str | None  # None: the file does not exist yet
    after: str

    @property
    def diff(self) -> str:
        """Return the change as a unified diff."""
        old = (self.before or "").splitlines(keepends=True)
        new = self.after.splitlines(keepends=True)
        name = str(self.path)
        lines = difflib.unified_diff(old, new, "/dev/null" if self.before is None else name, name)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def write(changes: Sequence[FileChange]) -> None:
    """Write all changes; each file changes in one step and keeps its mode, and a link stays a link.

    Raises ConfigInvalid when a file is no longer what it was, or cannot be prepared; nothing is written then.
    """
    for change in changes:
        _refuse_if_changed(change)
    prepared: list[tuple[Path, Path]] = []
    try:
        for change in changes:
            target = change.path.resolve()
            prepared.append((_prepare(target, change), target))
    except OSError as error:
        _discard(prepared)
        message = f"{error.filename or 'a file'} cannot be written, so nothing was: {error.strerror}"
        raise ConfigInvalid(message) from error
    _rename(prepared)


def _refuse_if_changed(change: FileChange) -> None:
    try:
        now: str | None = read_regular(change.path).decode("utf-8-sig", "replace")
    except FileNotFoundError:
        now = None
    except OSError as error:
        raise ConfigInvalid(f"{change.path} cannot be read: {error.strerror}") from error
    if now != change.before:
        raise ConfigInvalid(f"{change.path} was changed in the meantime, so nothing was written: run the command again")


def _prepare(target: Path, change: FileChange) -> Path:
    make_folder(target.parent)
    mode = _NEW_FILE_MODE if change.before is None else target.stat().st_mode & 0o7777
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(change.after.encode())
            file.flush()
            os.fsync(descriptor)
    except OSError:
        Path(name).unlink()
        raise
    return Path(name)


def _rename(prepared: Sequence[tuple[Path, Path]]) -> None:
    for done, (source, target) in enumerate(prepared):
        try:
            source.replace(target)
        except OSError as error:
            _discard(prepared[done:])
            written = ", ".join(str(path) for _, path in prepared[:done]) or "nothing"
            message = f"{target} cannot be replaced: {error.strerror}; written before it: {written}"
            raise ConfigInvalid(message) from error
    for folder in {target.parent for _, target in prepared}:
        with contextlib.suppress(OSError):  # where the file system has no way to
            sync_folder(folder)


def _discard(prepared: Sequence[tuple[Path, Path]]) -> None:
    for source, _ in prepared:
        source.unlink(missing_ok=True)
