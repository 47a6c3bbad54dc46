"""Whole folders that are copied in a change of the configuration, so that the change can be undone.

A copy is made beside its place and then renamed; what was there before is kept in our data folder until the change can
no longer be undone. Links are never followed: one that stays inside the folder is copied as a link, others are left
out and told, as is what git keeps there.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oulipoly_engine.config.edit.write_files import hold_folders
from oulipoly_engine.errors import ChangedSince, ConfigInvalid, RequestRefused
from oulipoly_engine.private_files import make_folder, make_new_folder, sync_folder, write_private
from oulipoly_engine.records import Record, replace
from oulipoly_engine.regular_files import read_regular

LARGEST_FILE = 4 << 20  # bytes
_LARGEST = 32 << 20  # of all of them
_MOST_ENTRIES = 2000
_DEEPEST = 12  # folders in folders
_VERSIONS = (".git",)  # a folder, or in a worktree a file that names one elsewhere


class Entry(Record):
    """One thing in a folder."""

    name: str  # its path below the folder
    mode: int | None = None  # of a file, its permissions; None: a folder or a link
    data: bytes | None = None  # of a file; None: a folder or a link
    link: str | None = None  # where a link leads


class Folder(Record):
    """What is in a folder."""

    entries: tuple[Entry, ...]  # a folder before what is in it
    left_out: tuple[str, ...] = ()  # what is left out, and why: "a is a link that leads out of it"

    @property
    def digest(self) -> str:
        """Return what tells it from any other content."""
        found = hashlib.sha256()
        for one in self.entries:
            for part in (one.name, str(one.mode), str(one.link), str(None if one.data is None else len(one.data))):
                found.update(f"{part}\0".encode("utf-8", "surrogateescape"))
            found.update(one.data or b"")
        return found.hexdigest()

    @property
    def files(self) -> dict[str, bytes]:
        """Return what is in its files, by name."""
        return {one.name: one.data for one in self.entries if one.data is not None}


class FolderChange(Record):
    """One folder's content before and after, as digests; the contents lie elsewhere."""

    path: Path
    before: str | None  # None: there is none yet
    after: str
    source: Path | None = None  # what is copied; None: that was done
    kept: str | None = None  # the name under which what was there is kept


def read_folder(path: Path) -> Folder | None:
    """Return what is in a folder; None where there is none. A link to a folder counts as that folder.

    Raises ConfigInvalid for what is not a folder, cannot be read, holds a device, or is too large.
    """
    if not os.path.lexists(path):
        return None
    try:
        root = Path(os.path.realpath(path, strict=True))
        found, left_out, size = [], [], 0
        for name in _walk(root):
            entry = _read_entry(root, name)
            if entry is None:
                left_out.append(f"{name} {_why_left_out(name)}")
                continue
            size += len(entry.data or b"")
            found.append(entry)
            if size > _LARGEST or len(found) > _MOST_ENTRIES:
                message = f"{path} has more than {_LARGEST >> 20} MB or {_MOST_ENTRIES} files: it is not copied"
                raise ConfigInvalid(message)
    except OSError as error:
        raise ConfigInvalid(f"{error.filename or path} cannot be copied: {error.strerror}") from error
    return Folder(tuple(found), tuple(left_out))


def check_replaceable(path: Path, present: Folder) -> None:
    """Refuse to replace what could not be kept for an undo. Raises RequestRefused."""
    if present.left_out:
        raise RequestRefused(
            f"{path} is not replaced, for an undo could not bring all of it back: {present.left_out[0]}; remove it"
        )


def keep_folder(change: FolderChange, kept: Path) -> FolderChange:
    """Copy what lies in a place into our folder of kept ones, and return the change with its name.

    Raises ConfigInvalid where it is no longer what it was, or cannot be copied, and RequestRefused.
    """
    clear_left(change.path)
    now = read_folder(change.path)
    if (None if now is None else now.digest) != change.before:
        raise ConfigInvalid(_changed(change.path))
    if now is None:
        return change
    check_replaceable(change.path, now)
    try:
        make_folder(kept)
        place = Path(tempfile.mkdtemp(dir=kept))
        _write_entries(place, now)
    except OSError as error:
        message = f"{change.path} cannot be kept for an undo, so nothing was copied: {error.strerror}"
        raise ConfigInvalid(message) from error
    return replace(change, kept=place.name)


def forget_kept(kept: Path, names: Container[str | None]) -> None:
    """Delete the kept folders that no change needs any more. names: of those that are needed."""
    if kept.is_dir():
        for place in kept.iterdir():
            if place.name not in names:
                shutil.rmtree(place, ignore_errors=True)


def place_folder(source: Path, expected: str, target: Path, before: str | None) -> None:
    """Copy a folder into a place, whole or not at all. expected, before: the digests of both, None: nothing is there.

    Raises ConfigInvalid where one of them has changed meanwhile, or the place cannot be written.
    """
    content = read_folder(source)
    if content is None or content.digest != expected:
        raise ConfigInvalid(_changed(source))
    with _aside(target) as aside:
        present = read_folder(target)
        if (None if present is None else present.digest) != before:
            raise ConfigInvalid(_changed(target))
        make_new_folder(aside / "new")
        _write_entries(aside / "new", content)
        if os.path.lexists(target):
            target.rename(aside / "old")
        (aside / "new").rename(target)


def check_undo(change: FolderChange) -> None:
    """Refuse to undo the change of a folder that was changed since. Raises RequestRefused, ConfigInvalid."""
    clear_left(change.path)
    now = read_folder(change.path)
    is_more = now is not None and bool(now.left_out)  # git's versions, or a link: no copy of ours has any
    if is_more or (None if now is None else now.digest) not in (change.before, change.after):
        raise ChangedSince(f"{change.path} was changed since, so nothing was undone: change it back by hand")


def put_back(change: FolderChange, kept: Path) -> None:
    """Put what was in a place before a change back there. Raises ConfigInvalid."""
    now = read_folder(change.path)
    if now is None or now.digest == change.before:
        return  # it was done, or never came to pass
    if change.before is not None and change.kept is not None:
        place_folder(kept / change.kept, change.before, change.path, change.after)
    elif change.before is None:
        with _aside(change.path) as aside:
            change.path.rename(aside / "gone")


def _changed(path: Path) -> str:
    return f"{path} was changed in the meantime, so nothing was copied: run the command again"


@contextmanager
def _aside(target: Path) -> Iterator[Path]:
    """Lend a folder beside a place, which is deleted afterwards. Raises ConfigInvalid for any OSError in the block."""
    try:
        make_folder(target.parent)
        with hold_folders([target.parent]):
            _clear_left(target)
            aside = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
            try:
                yield aside
            finally:
                _restore(aside / "old", target)
                shutil.rmtree(aside, ignore_errors=True)
            sync_folder(target.parent)
    except OSError as error:
        message = f"{error.filename or target} cannot be written, so {target} is as it was: {error.strerror}"
        raise ConfigInvalid(message) from error


def clear_left(target: Path) -> None:
    """Clear away what a killed process has left beside a place, where nobody else is at work. Raises ConfigInvalid."""
    if any(target.parent.glob(f"{glob.escape(_prefix(target))}*")):
        with hold_folders([target.parent]):
            _clear_left(target)


def _clear_left(target: Path) -> None:
    """Delete what was left, after what was moved out of the place is back there."""
    for left in target.parent.glob(f"{glob.escape(_prefix(target))}*"):
        with suppress(OSError):
            _restore(left / "old", target)
            shutil.rmtree(left, ignore_errors=True)


def _prefix(target: Path) -> str:
    return f".{target.name}.copy-"


def _restore(old: Path, target: Path) -> None:
    if old.exists() and not os.path.lexists(target):
        old.rename(target)


def _write_entries(folder: Path, content: Folder) -> None:
    for entry in content.entries:
        place = folder / entry.name
        if entry.link is not None:
            place.symlink_to(entry.link)
        elif entry.data is None:
            make_new_folder(place)
        else:
            write_private(place, entry.data)
            place.chmod((entry.mode or 0) | 0o600)


def _walk(root: Path, below: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the names of all things below a folder, one folder after the other. Raises OSError."""
    if depth > _DEEPEST:
        raise OSError(errno.ELOOP, f"it has more than {_DEEPEST} folders in folders", str(root / below))
    with os.scandir(root / below) as found:
        entries = sorted(found, key=lambda one: one.name)
    for entry in entries:
        name = f"{below}/{entry.name}" if below else entry.name
        yield name
        if entry.is_dir(follow_symlinks=False) and entry.name not in _VERSIONS:
            yield from _walk(root, name, depth + 1)


def _why_left_out(name: str) -> str:
    return "has git's versions of it" if name.rpartition("/")[2] in _VERSIONS else "is a link that leads out of it"


def _read_entry(root: Path, name: str) -> Entry | None:
    """Return what lies in a folder under a name; None for what is left out. Raises OSError."""
    place = root / name
    if place.name in _VERSIONS:
        return None
    mode = place.lstat().st_mode
    if stat.S_ISLNK(mode):
        link = str(place.readlink())
        is_inside = not link.startswith("/") and Path(os.path.realpath(place)).is_relative_to(root)
        return Entry(name, link=link) if is_inside else None
    if stat.S_ISDIR(mode):
        return Entry(name)
    return Entry(name, mode & 0o777, read_regular(place, LARGEST_FILE, follows_links=False))
