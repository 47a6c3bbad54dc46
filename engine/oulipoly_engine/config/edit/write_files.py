"""Write several files so that none is ever half there: all lie ready beside their places before the first rename."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import fcntl
import glob
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from oulipoly_engine.errors import ConfigChanged, ConfigInvalid
from oulipoly_engine.private_files import make_folder, sync_folder
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import CONFIGURATION_LIMIT, read_regular

LARGEST = 32 << 20  # bytes; Claude Code keeps a history of all projects beside its MCP servers
_PATIENCE_S = 5.0  # a write takes milliseconds
_PAUSE_S = 0.01


class FileChange(Record):
    """One file's text before and after."""

    path: Path
    before: str | None  # None: the file does not exist yet
    after: str | None  # None: it is deleted
    mode: int = 0o600  # of a file that does not exist yet: accounts may hold secrets in their environment
    link: str | None = None  # of a file that is deleted: where its path led, if that was a link

    @property
    def diff(self) -> str:
        """Return the change as a unified diff."""
        old = (self.before or "").splitlines(keepends=True)
        new = (self.after or "").splitlines(keepends=True)
        name_before, name_after = (
            "/dev/null" if text is None else str(self.path) for text in (self.before, self.after)
        )
        lines = difflib.unified_diff(old, new, name_before, name_after)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def edit_lines(path: Path, before: str | None, after: str | None) -> FileChange:
    """Return the change of a file by lines of ours: where all its lines end in CR LF, these do too."""
    ends = (before or "").count("\n")
    if before is not None and after is not None and ends and before.count("\r\n") == ends:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    return FileChange(path, before, after)


def write(changes: Sequence[FileChange]) -> None:
    """Write all changes; each file changes in one step and keeps its mode, and a link stays a link.

    Files are deleted after all others have been written.

    Raises ConfigChanged when a file is no longer what it was, ConfigInvalid when one cannot be prepared; nothing is
    written then.
    """
    with hold_folders({change.path.resolve().parent for change in changes}):
        made = _make_missing({change.path.resolve().parent for change in changes if change.after is not None})
        try:
            with hold_folders(made):  # whoever comes from now on holds these, and not what was there before
                _write(changes)
        except BaseException:
            for folder in reversed(made):
                with contextlib.suppress(OSError):  # somebody else has written there
                    folder.rmdir()
            raise


def _make_missing(folders: Iterable[Path]) -> list[Path]:
    """Make folders and return those that were not there, each behind the one that it lies in. Raises ConfigInvalid."""
    made: list[Path] = []
    for folder in sorted(folders):
        missing = [one for one in (folder, *folder.parents) if not one.is_dir()]
        try:
            make_folder(folder)
        except OSError as error:
            message = f"{error.filename or folder} cannot be written, so nothing was: {error.strerror}"
            raise ConfigInvalid(message) from error
        made += reversed(missing)
    return made


def _write(changes: Sequence[FileChange]) -> None:
    for change in changes:
        _refuse_if_changed(change)
    prepared: list[tuple[Path, Path]] = []
    try:
        _remove_left({change.path.resolve() for change in changes})
        for change in changes:
            if change.after is not None:
                target = change.path.resolve()
                prepared.append((_prepare(target, change, change.after), target))
    except OSError as error:
        _discard(prepared)
        message = f"{error.filename or 'a file'} cannot be written, so nothing was: {error.strerror}"
        raise ConfigInvalid(message) from error
    _rename(prepared)
    for change in changes:
        if change.after is None:
            _delete(change.path)


def remove_left(places: Iterable[Path]) -> None:
    """Remove what killed writers of some files have left beside them. Raises ConfigInvalid while somebody writes."""
    targets = {place.resolve() for place in places}
    with hold_folders({target.parent for target in targets}), contextlib.suppress(OSError):
        _remove_left(targets)


def _remove_left(targets: Iterable[Path]) -> None:
    for target in targets:
        for left in target.parent.glob(f"{glob.escape(_prefix(target))}*"):
            left.unlink()


def read_text(path: Path, limit: int = CONFIGURATION_LIMIT) -> str | None:
    """Return what a file says now, as changes have it; None: there is none. limit: bytes. Raises ConfigInvalid."""
    try:
        return read_regular(path, limit).decode("utf-8-sig", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be read: {error.strerror}") from error


@contextlib.contextmanager
def hold_folders(folders: Iterable[Path]) -> Iterator[None]:
    """Let no other process of ours write in folders: between our look at a file and its rename, its change were lost.

    The kernel takes the locks back when their holder dies. Raises ConfigInvalid.
    """
    existing = {next(one for one in (folder, *folder.parents) if one.is_dir()) for folder in folders}
    deadline = time.monotonic() + _PATIENCE_S
    with contextlib.ExitStack() as held:
        for folder in sorted(existing):  # in one order, so that no two wait for each other
            try:
                descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError:  # it cannot be read: then no file in it can be changed either
                continue
            held.callback(os.close, descriptor)
            while not _lock(descriptor):
                if time.monotonic() >= deadline:
                    raise ConfigInvalid(
                        f"another process changes files in {folder}, so nothing was written: run the command again"
                    )
                time.sleep(_PAUSE_S)
        yield


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _refuse_if_changed(change: FileChange) -> None:
    if read_text(change.path, LARGEST) != change.before:
        raise ConfigChanged(f"{change.path} was changed in the meantime, so nothing was written: run the command again")


def _prepare(target: Path, change: FileChange, text: str) -> Path:
    mode = change.mode if change.before is None else target.stat().st_mode & 0o7777
    descriptor, name = tempfile.mkstemp(prefix=_prefix(target), dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(_find_mark(target) + text.encode())
            file.flush()
            os.fsync(descriptor)
    except OSError:
        Path(name).unlink()
        raise
    return Path(name)


def _find_mark(target: Path) -> bytes:
    """Return the byte order mark that a file begins with, which no text has that is read here."""
    try:
        with target.open("rb") as file:
            return codecs.BOM_UTF8 if file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 else b""
    except FileNotFoundError:
        return b""


def _prefix(target: Path) -> str:
    return f".{target.name}.new-"


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


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be deleted: {error.strerror}; everything else was written") from error


def _discard(prepared: Sequence[tuple[Path, Path]]) -> None:
    for source, _ in prepared:
        source.unlink(missing_ok=True)
