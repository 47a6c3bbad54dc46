"""Signal a child's process groups, and kill all processes of its session."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from oulipoly_engine.terminal.host.handles import ChildPty

_PROC = Path("/proc")


def send(pty: ChildPty, number: int) -> None:
    """Signal the child's group and the one in the foreground of its terminal."""
    groups = {pty.pid}
    with contextlib.suppress(OSError):
        groups.add(os.tcgetpgrp(pty.fd))
    for group in groups - {0}:  # 0: nobody is in the foreground any more; as a group's number it would be our own
        with contextlib.suppress(OSError):
            os.killpg(group, number)


def end_session(pty: ChildPty) -> None:
    """Kill the child, its jobs in the foreground and, where the kernel lists them, all processes of its session."""
    _kill_members(pty.pid)
    send(pty, signal.SIGKILL)


def send_orphan(pid: int, number: int) -> None:
    """Signal the group of a child whose terminal is gone; KILL goes to all of its session."""
    if number == signal.SIGKILL:
        _kill_members(pid)
    with contextlib.suppress(OSError):
        os.killpg(pid, number)


def _kill_members(session: int) -> None:
    for pid in members(session):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def cpu_time_s(pid: int) -> float | None:
    """Return the processor time that a process has taken so far, in seconds; None where the kernel lists none."""
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def members(session: int) -> Iterator[int]:
    """Yield the processes of a session. Linux tells; elsewhere there are none to see."""
    if not (_PROC / "self" / "stat").exists():
        return
    for entry in os.listdir(_PROC):  # noqa: PTH208 - names are enough
        if entry.isdecimal():
            with contextlib.suppress(OSError):
                if os.getsid(int(entry)) == session:
                    yield int(entry)
