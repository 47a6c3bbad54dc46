"""What stands for all files of an extension: a grant holds for these alone."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import msgspec

from oulipoly_engine.config import snapshot
from oulipoly_engine.config.base.problem import Loaded
from oulipoly_engine.paths import Paths
from oulipoly_engine.regular_files import read_regular, walk_folders

_MOST_FILES = 2000
_MOST_BYTES = 32 << 20
_SKIPPED = {".git"}
_CACHE = "__pycache__"
_FORM = "digest-1"  # the number counts the ways in which a digest was made
_SAFE_AGE_NS = 2_000_000_000  # of a file that would have another time if it were written again; FAT counts in 2 s

# Name below the folder, device, inode, size, and when it was written and changed, in ns.
FileMark = tuple[str, int, int, int, int, int]


def mark_files(place: Path, *, skips_bytecode: bool = False) -> tuple[FileMark, ...]:
    """Return what changes when any file that counts for a digest is written. Raises as `digest_of` does."""
    if not place.is_dir():
        return (_mark("", os.stat(place)),)  # noqa: PTH116 - as below
    skipped = _SKIPPED | ({_CACHE} if skips_bytecode else set())
    start = len(os.fspath(place)) + 1
    marks: list[FileMark] = []
    for folder, folders, files in walk_folders(place):
        folders[:] = [name for name in folders if name not in skipped]
        linked = next((name for name in folders if os.path.islink(f"{folder}/{name}")), None)  # noqa: PTH114 - as below
        if linked is not None:
            raise ValueError(f"{linked} is a link to a folder")
        if len(marks) + len(files) > _MOST_FILES:
            raise ValueError(f"it has more than {_MOST_FILES} files")
        for name in files:
            path = f"{folder}/{name}"
            marks.append(_mark(path[start:], os.stat(path)))  # noqa: PTH116 - a Path for each would take three times as long
    return tuple(sorted(marks))


def _mark(name: str, status: os.stat_result) -> FileMark:
    # The time of change as well: `touch -r` and `cp -p` set the other one back.
    return name, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def digest_of(place: Path, *, skips_bytecode: bool = False) -> str:
    """Return the SHA-256 of a file, or of all files of a folder with their names.

    Links to files count by what they hold, links to folders are refused: what lies there could change.
    skips_bytecode: Python itself writes it there; else it counts, since who could write it would have it run.
    Raises OSError, ValueError for one that is too large or has such a link.
    """
    if not place.is_dir():
        return hashlib.sha256(read_regular(place)).hexdigest()
    total = hashlib.sha256()
    size = 0
    names = [mark[0] for mark in mark_files(place, skips_bytecode=skips_bytecode)]
    for path in sorted(place / name for name in names):
        content = read_regular(path, _MOST_BYTES)
        size += len(content)
        if size > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES >> 20} MiB")
        name = os.fsencode(path.relative_to(place))
        total.update(b"%d:%s:%d:" % (len(name), name, len(content)))
        total.update(content)
    return total.hexdigest()


def recall_digest(paths: Paths, place: Path, *, skips_bytecode: bool = False) -> str:
    """Return the same as `digest_of`, counted once for files that do not change. Raises as it does.

    Code is imported by a digest that is counted then: this one says which are there, and what was allowed to them.
    """

    def count() -> Loaded[str]:
        return Loaded(digest_of(place, skips_bytecode=skips_bytecode))

    marks = mark_files(place, skips_bytecode=skips_bytecode)
    newest_ns = max((time_ns for mark in marks for time_ns in mark[4:]), default=0)
    if newest_ns > time.time_ns() - _SAFE_AGE_NS:
        return count().value  # it could be written again and look the same
    known_by = hashlib.sha256(msgspec.msgpack.encode([(os.fsencode(name), *rest) for name, *rest in marks])).digest()
    return snapshot.read_bytes(paths, f"{_FORM}:{place}", known_by, Loaded[str], count).value
