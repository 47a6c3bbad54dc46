"""The files of a package: which paths are taken, within which limits, and the digest of them all. Pure.

A path is taken where it can mean one file only, below the package's folder, on every file system: so neither a path
that leads out nor two that differ in case alone.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from hashlib import sha256

from oulipoly_engine.core.packages.lock import KINDS
from oulipoly_engine.core.packages.refusals import PackageRefused
from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.records import Record

MOST_FILES = 5_000  # and as many folders
MOST_BYTES = 128 << 20  # of all files
LARGEST = 32 << 20  # bytes of a file
DEEPEST = 16  # folders in folders
_LONGEST_PATH = 512  # bytes
_LONGEST_NAME = 200  # bytes
_RATIO = 200  # of unpacked to packed bytes; text of one letter alone is packed tighter
_SMALL = 8 << 20  # bytes unpacked, up to which no ratio is asked for


class PackageFile(Record):
    """A file of a package."""

    path: str
    sha256: str
    size: int  # bytes
    is_executable: bool = False


class Paths:
    """The paths that were taken so far."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}  # by what file systems take for equal
        self._folders: dict[str, str] = {}
        self._seen = 0

    def add(self, text: str, *, is_folder: bool = False) -> str:
        """Return a path in its plain form, `a/b`, after looking at it. Raises PackageRefused, which names it."""
        path = check_path(text)
        if not path and not is_folder:
            raise PackageRefused(f"{_shown(text)} is not a name for a file")
        self._seen += 1
        if self._seen > 2 * MOST_FILES or len(self._files) >= MOST_FILES:
            raise PackageRefused(f"it has more than {MOST_FILES:,} files: a package is smaller")
        parts = path.split("/") if path else []
        for count in range(1, len(parts) + is_folder):
            self._add_folder("/".join(parts[:count]), text)
        if not is_folder:
            key = _fold(path)
            other = self._files.get(key) or self._folders.get(key)
            if other is not None:
                raise PackageRefused(f"{_shown(text)} is there twice, as {_shown(other)}: remove one of them")
            self._files[key] = path
        return path

    def _add_folder(self, path: str, text: str) -> None:
        key = _fold(path)
        other = self._files.get(key) or self._folders.setdefault(key, path)
        if other != path or key in self._files:
            raise PackageRefused(f"{_shown(text)} is in the way of {_shown(other)}: remove one of them")


def common_folder(paths: Sequence[str]) -> str:
    """Return the folder, `NAME/`, that an archive has around everything, as npm's have; empty: there is none."""
    tops = {path.partition("/")[0] for path in paths}
    top = min(tops)
    is_around = len(tops) == 1 and all("/" in path for path in paths) and top not in KINDS
    return f"{top}/" if is_around else ""


def check_path(text: str) -> str:
    """Return a path in its plain form. Raises PackageRefused for one that leads out or that is no name everywhere."""
    parts = [part for part in text.split("/") if part not in ("", ".")]
    reason = ""
    if text.startswith("/") or ".." in parts or "\\" in text or text[1:2] == ":":
        reason = "leads out of the package"
    elif any(unicodedata.category(sign)[0] == "C" for sign in text):
        reason = "has control characters in its name"
    elif len(parts) > DEEPEST or len(text.encode()) > _LONGEST_PATH:
        reason = f"lies deeper than {DEEPEST} folders, or has more than {_LONGEST_PATH} bytes"
    elif any(len(part.encode()) > _LONGEST_NAME or part != part.strip() for part in parts):
        reason = f"has a name of more than {_LONGEST_NAME} bytes, or blanks around it"
    if reason:
        raise PackageRefused(f"{_shown(text)} {reason}: nothing of the package was taken")
    return "/".join(parts)


def check_size(path: str, size: int, total: int) -> None:
    """Raise PackageRefused for a file that is too large, alone or with all before it. size, total: bytes."""
    if size > LARGEST:
        raise PackageRefused(f"{_shown(path)} has more than {size_text(LARGEST)}: a package holds no such files")
    if total > MOST_BYTES:
        raise PackageRefused(
            f"the package has more than {size_text(MOST_BYTES)}, up to {_shown(path)}: it is too large"
        )


def check_ratio(packed: int, unpacked: int) -> None:
    """Raise PackageRefused for an archive that unpacks to far more than it has. packed, unpacked: bytes."""
    if unpacked > MOST_BYTES + _SMALL or (unpacked > _SMALL and unpacked > packed * _RATIO):
        raise PackageRefused(f"the archive unpacks to more than {size_text(unpacked)}, out of {size_text(packed)}")


def list_text(files: Iterable[PackageFile]) -> bytes:
    """Return the list of a package's files, whose SHA-256 is the package's: `HASH SIZE x|- PATH`, a line each."""
    lines = (f"{file.sha256} {file.size} {'x' if file.is_executable else '-'} {file.path}\n" for file in files)
    return "".join(sorted(lines, key=lambda line: line.split(" ", 3)[3])).encode()


def read_list(text: bytes) -> tuple[PackageFile, ...]:
    """Return the files of a list."""
    rows = (line.split(" ", 3) for line in text.decode().splitlines())
    return tuple(PackageFile(path, name, int(size), mode == "x") for name, size, mode, path in rows)


def digest_of(files: Iterable[PackageFile]) -> str:
    """Return the digest of a package's content."""
    return sha256(list_text(files)).hexdigest()


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _shown(text: str) -> str:
    return ascii(text[:120]) if not text.isprintable() else repr(text[:120])
