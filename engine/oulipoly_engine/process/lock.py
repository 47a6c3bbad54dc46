"""Advisory file locks that the kernel takes back when their holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.private_files import make_folder, open_private


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Hold a lock file for the block if nobody else holds it; yields whether we do. The file stays.

    Raises OSError when the file cannot be opened.
    """
    make_folder(path.parent)
    descriptor = open_private(path, os.O_RDWR)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
