"""Remove what processes of ours that were killed have left in our folders: halves of files, empty logs, old marks.

Nobody else ever would. Only names that we give are touched, and only files that nobody can be at work on any more.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.paths import Paths

_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S


def remove_leavings(paths: Paths, locks: Path, now_s: float) -> int:
    """Remove what is left and return how many files that were.

    locks: the folder of leases. now_s: seconds since the epoch, as files have them.
    """
    removed = 0
    for path in _find_leavings(paths, locks, now_s):
        with suppress(OSError):
            path.unlink()
            removed += 1
    return removed


def _find_leavings(paths: Paths, locks: Path, now_s: float) -> Iterator[Path]:
    for entry in _list_old(paths.results, ".*.result.*", now_s - _HOUR_S):
        yield Path(entry)
    for entry in _list_old(paths.results, "*.returns", now_s - _HOUR_S):
        if Path(entry).with_suffix(".result").exists():  # its run has ended
            yield Path(entry)
    for folder in (paths.config, paths.models, paths.data):  # halves of files of the configuration
        for entry in _list_old(folder, ".*.new-????????", now_s - _HOUR_S):
            yield Path(entry)
    for account in _list_folders(paths.data / "sessions"):
        for entry in _list_old(Path(account), ".*-turns-*", now_s - _HOUR_S):
            yield Path(entry)
    for entry in _list_old(locks, "session-*.released", now_s - _DAY_S):  # by then nobody asks again whether it worked
        yield Path(entry)
    for entry in _list_old(paths.terminal_logs, "*.log", now_s - _HOUR_S):
        if entry.stat(follow_symlinks=False).st_size == 0 and not (paths.runtime / f"{Path(entry).stem}.sock").exists():
            yield Path(entry)


def _list_old(folder: Path, pattern: str, before_s: float) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if fnmatch.fnmatchcase(entry.name, pattern):
                with suppress(OSError):
                    if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < before_s:
                        yield entry


def _list_folders(folder: Path) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from (entry for entry in entries if entry.is_dir(follow_symlinks=False))
