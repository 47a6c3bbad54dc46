"""Whether a process still lives, since when, and what it has started."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_SET_CHILD_SUBREAPER = 36  # of prctl, linux/prctl.h
_STAT_BYTES = 4096  # far more than the kernel writes in its one line
_DEAD = (b"Z", b"X")  # states of proc(5)
_SLACK = timedelta(seconds=60)  # the calendar may have been set meanwhile; numbers come round much later


def is_alive(pid: int) -> bool:
    """Tell whether a process of that number lives; a number may have been given to another one since.

    One that has ended and is only not yet waited for does not live.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's, so not the one that ran as us
        return False
    state = _state_and_start(pid)
    return state is None or state[0] not in _DEAD


def was_alive_at(pid: int, instant: datetime) -> bool:
    """Tell whether a process lives that was there at an instant; one that began later has only got its number."""
    if not is_alive(pid):
        return False
    ticks = start_ticks(pid)
    if ticks is None:
        return True
    began = datetime.now(UTC) - timedelta(seconds=time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / _ticks_a_second())
    return began <= instant + _SLACK


@cache  # of one process it stays the same, and each turn of a live session is written down with it
def here() -> str | None:
    """Return what tells apart the systems in which the same process number means different processes.

    One boot of one machine, and one namespace of process numbers on it; None where the system does not tell.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except (OSError, ValueError):
        return None


def own_mark() -> str:
    """Return what tells this process apart from all others: its number, when it began, and where that counts."""
    return f"{os.getpid()} {start_ticks(os.getpid()) or 0} {here() or ''}"


def has_ended_mark(mark: str) -> bool:
    """Tell whether the process that a mark is of is gone; of one elsewhere nobody knows."""
    pid, ticks, place = mark.split(" ", 2)
    return place == (here() or "") and has_ended(int(pid), int(ticks))


def has_ended(pid: int, ticks: int) -> bool:
    """Tell whether the process that began at those ticks is gone, or dead and only not yet waited for."""
    state = _state_and_start(pid)
    return not is_alive(pid) if state is None else state[0] in _DEAD or state[1] != ticks


def group_has_ended(group: int) -> bool:
    """Tell whether a group has processes, and all of them are dead and only not yet waited for.

    False where the kernel lists none.
    """
    found = False
    for entry in os.listdir(_PROC) if _PROC.is_dir() else ():  # noqa: PTH208 - names are enough
        with contextlib.suppress(OSError):
            if entry.isdecimal() and os.getpgid(int(entry)) == group:
                found = True
                state = _state_and_start(int(entry))
                if state is not None and state[0] not in _DEAD:
                    return False
    return found


def start_ticks(pid: int) -> int | None:
    """Return when a process began, in the kernel's ticks since boot; None where the system does not tell."""
    state = _state_and_start(pid)
    return None if state is None else state[1]


def _state_and_start(pid: int) -> tuple[bytes, int] | None:
    try:
        fields = _fields_of(pid)
        return fields[0], int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


def _fields_of(pid: int | str) -> list[bytes]:
    """Return what the kernel tells of a process, from its state on. Raises OSError."""
    stat = os.open(f"{_PROC}/{pid}/stat", os.O_RDONLY)  # a look reads those of all: a Path takes twice as long
    try:
        return os.read(stat, _STAT_BYTES).rpartition(b")")[2].split()
    finally:
        os.close(stat)


def _ticks_a_second() -> int:
    return os.sysconf("SC_CLK_TCK")


def adopt_orphans() -> None:
    """Become the parent of what our children leave behind, so that it can be found; only Linux knows that."""
    import ctypes  # noqa: PLC0415 - 5 ms, only hosts need it

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_children(is_spared: Callable[[int], bool]) -> None:
    """Kill what we have started or adopted and have not waited for, and what that has started.

    is_spared: tells of a process that it stands on its own feet, and so does what it has started.
    """
    left = Descendants(os.getpid(), is_spared)
    left.look()
    left.kill()


def find_marked(name: str, text: str) -> dict[int, int]:
    """Return the processes in whose environment a variable holds a text: pid to its start in ticks.

    None where the kernel lists none; other users' are not looked at.
    """
    begin, wanted = f"{name}=".encode(), text.encode()
    found: dict[int, int] = {}
    for entry in os.listdir(_PROC) if _PROC.is_dir() else ():  # noqa: PTH208 - names are enough
        with contextlib.suppress(OSError):
            if entry.isdecimal():
                variables = (_PROC / entry / "environ").read_bytes().split(b"\0")
                ticks = start_ticks(int(entry))
                if ticks is not None and any(each.startswith(begin) and wanted in each for each in variables):
                    found[int(entry)] = ticks
    return found


def reap_adopted(own: Collection[int]) -> None:
    """Wait for the adopted children that have ended. own: those that somebody else of us waits for."""
    try:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    except OSError:
        return
    for pid in map(int, children):
        if pid not in own:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


class Descendants:
    """What a child has started, however deep, also what has left its group; empty where the kernel lists none."""

    def __init__(self, pid: int, is_spared: Callable[[int], bool]) -> None:
        """pid: the child's. is_spared: tells of a process that neither it nor what it has started counts."""
        self._pid, self._is_spared = pid, is_spared
        self._seen: dict[int, int] = {}  # pid to its start in ticks

    def look(self) -> None:
        """Remember those that live now."""
        children: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for entry in os.listdir(_PROC) if _PROC.is_dir() else ():  # noqa: PTH208 - names are enough
            if entry.isdecimal():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    fields = _fields_of(entry)
                    children[int(fields[1])].append((int(entry), int(fields[19])))
        self._seen = {pid: ticks for pid, ticks in self._seen.items() if not has_ended(pid, ticks)}
        unseen = [self._pid, *self._seen]
        while unseen:
            for pid, ticks in children.pop(unseen.pop(), ()):
                if pid in self._seen or not self._is_spared(pid):
                    self._seen[pid] = ticks
                    unseen.append(pid)

    def kill(self) -> None:
        """End those that live on."""
        for pid, ticks in self._seen.items():
            if not has_ended(pid, ticks) and not self._is_spared(pid):  # it may have become one since
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
