"""Advisory file locks that the kernel takes back when their holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.private_files import make_folder, open_private

_PAUSE_S = 0.01


def try_flock(descriptor: int, kind: int, path: Path) -> bool:
    """Lock an open file or folder unless somebody else holds it, and return whether that was possible.

    kind: LOCK_EX or LOCK_SH. Raises OSError that names the path where its file system has no locks, as some mounts of
    NFS: what must not be done twice at once is refused then.
    """
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OSError(error.errno, f"it cannot be locked ({error.strerror})", str(path)) from error
    return True


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Hold a lock file for the block if nobody else holds it; yields whether we do. The file stays.

    Raises OSError when the file cannot be opened or locked.
    """
    make_folder(path.parent)
    descriptor = open_private(path, os.O_RDWR)
    try:
        yield try_flock(descriptor, fcntl.LOCK_EX, path)
    finally:
        os.close(descriptor)


@contextmanager
def hold_lock_with_children(path: Path, patience_s: float) -> Iterator[int | None]:
    """Hold a lock file for the block, and after a kill as long as a child lives that was given the descriptor.

    Without that, whoever comes next would find the lock free while a child of the killed process still works. Yields
    the descriptor, and None where nobody gives the lock back within patience_s. Raises as `try_lock`.
    """
    make_folder(path.parent)
    descriptor = open_private(path, os.O_RDWR)
    deadline = time.monotonic() + patience_s
    try:
        while not try_flock(descriptor, fcntl.LOCK_EX, path):
            if time.monotonic() >= deadline:
                yield None
                return
            time.sleep(_PAUSE_S)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def hold_lock(path: Path, patience_s: float) -> Iterator[bool]:
    """Hold a lock file for the block, once nobody else does; yields False where that takes longer than patience_s.

    Raises as `try_lock`.
    """
    deadline = time.monotonic() + patience_s
    while True:
        with try_lock(path) as is_ours:
            if is_ours or time.monotonic() >= deadline:
                yield is_ours
                return
        time.sleep(_PAUSE_S)
