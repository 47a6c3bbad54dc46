"""How a state file is read that cannot be written, without making or changing any file.

A database with a write-ahead log is read through two more files, `-wal` and `-shm`, which SQLite makes where they are
missing: on a full disk, and in a folder without rights, it cannot even read. Source: sqlite.org/wal.html, "Read-Only
Databases"; unixOpenSharedMemory and walBeginShmUnreliable in SQLite's source, 3.22 and later.
"""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.store.base.connections import Connections
from oulipoly_engine.store.base.state_path import ALONE, has_log

# Where a log holds changes, the file alone is not the whole. Other processes' locks and new changes are seen through
# `-shm`; where nobody is there, SQLite reads the log itself, into its own memory. `readonly_shm`: else it would cut
# that file first and make it anew, which a full disk refuses halfway.
_WITH_LOG = "mode=ro&readonly_shm=1"


def find_way_to_read(path: Path) -> Connections | None:
    """Return connections that read a state file as it is; None: there is none, or a log of it that cannot be read."""
    if not path.exists():
        return None
    if not has_log(path):
        return UnlockedConnections(path)
    if not path.with_name(path.name + "-shm").exists():
        return None  # SQLite would have to make it, and the file without its log can be torn
    return Connections(path, _WITH_LOG)


class UnlockedConnections(Connections):
    """Connections without locks: who reads asks afterwards whether anybody has written meanwhile.

    A writer comes back when there is space again, or has rights that we have not. It writes into a log first; the file
    itself changes only when the log is taken over into it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, ALONE)
        self._path = path
        self._before = self._look()

    def has_changed(self) -> bool:
        """Return whether the file is another than when it was opened."""
        return self._look() != self._before

    def _look(self) -> tuple[int, ...]:
        try:
            status = os.stat(self._path)  # noqa: PTH116 - 2 us instead of 10
        except OSError:
            return ()
        return status.st_ino, status.st_size, status.st_mtime_ns
