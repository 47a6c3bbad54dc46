"""What stands for all files of an extension: a grant holds for these alone."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from oulipoly_engine.regular_files import read_regular, walk_folders

_MOST_FILES = 2000
_MOST_BYTES = 32 << 20
_SKIPPED = {".git"}
_CACHE = "__pycache__"


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
    for number, path in enumerate(_list_files(place, skips_bytecode=skips_bytecode)):
        content = read_regular(path, _MOST_BYTES)
        size += len(content)
        if number >= _MOST_FILES or size > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB")
        name = os.fsencode(path.relative_to(place))
        total.update(b"%d:%s:%d:" % (len(name), name, len(content)))
        total.update(content)
    return total.hexdigest()


def _list_files(place: Path, *, skips_bytecode: bool) -> list[Path]:
    skipped = _SKIPPED | ({_CACHE} if skips_bytecode else set())
    paths: list[Path] = []
    for folder, folders, files in walk_folders(place):
        folders[:] = [name for name in folders if name not in skipped]
        linked = next((name for name in folders if Path(folder, name).is_symlink()), None)
        if linked is not None:
            raise ValueError(f"{linked} is a link to a folder")
        paths.extend(Path(folder, name) for name in files)
        if len(paths) > _MOST_FILES:
            raise ValueError(f"it has more than {_MOST_FILES} files")
    return sorted(paths)
