"""Who writes to a file of another program, how to have such writers wait for a moment, and what a process has open.

Linux grants a read lease on a file only while nobody has it open for writing, and has every later open for writing wait
until the lease is given back (`fcntl(2)`, F_SETLEASE; after 45 s it is taken away). Some file systems have no leases
(NFS, some FUSE), other systems neither: there the open files of all processes are looked through once, if `/proc` shows
them, and nobody is made to wait.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.records import Record

PATIENCE_S = 0.3  # for a writer that opens, appends and closes: that takes a millisecond
_PAUSE_S = 0.002
_LARGEST_FAMILY = 64  # processes that are looked at for what they have open


class OpenForWriting(Exception):
    """Somebody has the file open for writing, and does not close it."""

    def __init__(self, pids: tuple[int, ...]) -> None:
        super().__init__(f"open for writing by {pids}")
        self.pids = pids  # those that can be seen; perhaps none


class Hold(Record):
    """Writers of a file are kept waiting."""

    descriptor: int
    is_sure: bool  # False: nobody waits here, for there are no leases

    def is_wanted(self) -> bool:
        """Return whether somebody waits to write, or the lease was taken away meanwhile."""
        return self.is_sure and fcntl.fcntl(self.descriptor, fcntl.F_GETLEASE) != fcntl.F_RDLCK


@contextmanager
def hold_writers(file: BinaryIO, patience_s: float = PATIENCE_S) -> Iterator[Hold]:
    """Have everybody who opens a file for writing wait during the block; it must be short.

    file: open for reading only. Raises OpenForWriting when somebody has it open for writing for longer than patience_s.
    """
    descriptor = file.fileno()
    is_sure = _take(descriptor, patience_s)
    if not is_sure and (pids := writers_of(os.fstat(descriptor))):
        raise OpenForWriting(pids)
    try:
        yield Hold(descriptor, is_sure)
    finally:
        if is_sure:
            with contextlib.suppress(OSError):  # it was taken away
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def writers_of(state: os.stat_result) -> tuple[int, ...]:
    """Return the processes that have a file open for writing, as far as `/proc` shows them to us; takes some 20 ms."""
    return tuple(pid for pid in sorted(_pids()) if any(_is_writer(pid, number, state) for number in _open_files(pid)))


def list_open_files(pid: int) -> frozenset[str]:
    """Return the paths of what a process and its descendants have open, without pipes, sockets and devices.

    Linux tells; elsewhere there is nothing to see.
    """
    found = set()
    for one in _list_family(pid):
        for number in _open_files(one):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{one}/fd/{number}"))  # noqa: PTH115 - asked often
    return frozenset(path for path in found if path.startswith("/") and not path.startswith(("/dev/", "/proc/")))


def list_workers(folder: Path) -> tuple[int, ...]:
    """Return the processes that work in a folder, or have something below it open, as far as `/proc` shows them to us.

    Takes some 20 ms; elsewhere than on Linux there is nothing to see.
    """
    root = os.path.realpath(folder)
    return tuple(pid for pid in sorted(_pids()) if any(_is_below(path, root) for path in _list_places(pid)))


def _list_places(pid: int) -> Iterator[str]:
    for name in ("cwd", *(f"fd/{number}" for number in _open_files(pid))):
        with contextlib.suppress(OSError):
            yield os.readlink(f"/proc/{pid}/{name}")  # noqa: PTH115 - thousands of them


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def _list_family(pid: int) -> list[int]:
    found = [pid]
    for one in found:  # grows on the way
        with contextlib.suppress(OSError, ValueError):
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        if len(found) >= _LARGEST_FAMILY:
            break
    return found


def _take(descriptor: int, patience_s: float) -> bool:
    """Take the lease; False where there are none. Raises OpenForWriting."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    # Whoever opens the file makes the kernel send us a signal: SIGIO, which ends a process, unless told otherwise.
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                return False
            if time.monotonic() < deadline:
                time.sleep(_PAUSE_S)
                continue
            raise OpenForWriting(writers_of(os.fstat(descriptor))) from error
        return True


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names are all we want
    except OSError:
        return []


def _open_files(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - as above
    except OSError:
        return []


def _is_writer(pid: int, number: str, state: os.stat_result) -> bool:
    try:
        if not os.path.samestat(state, os.stat(f"/proc/{pid}/fd/{number}")):  # noqa: PTH116 - thousands of them
            return False
        info = Path(f"/proc/{pid}/fdinfo/{number}").read_text()
    except OSError:
        return False  # closed meanwhile, or a pipe that cannot be looked at
    flags = next((int(line.split()[1], 8) for line in info.splitlines() if line.startswith("flags:")), 0)
    return flags & os.O_ACCMODE != os.O_RDONLY
