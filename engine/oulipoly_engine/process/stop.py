"""The stop ladder: INT, TERM, KILL to a whole process group, with patience between the steps."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence

LADDER: tuple[tuple[signal.Signals, float], ...] = (
    (signal.SIGINT, 2.0),  # claude -p answers within 50 ms, codex exec within 100 ms (seen 2026-11)
    (signal.SIGTERM, 2.0),
    (signal.SIGKILL, 5.0),
)
TERM_LADDER = LADDER[1:]
_POLL_S = 0.01


def stop(process: subprocess.Popen[bytes], ladder: Sequence[tuple[signal.Signals, float]] = LADDER) -> None:
    """Stop a process and its whole group, and reap it.

    The process must lead its own group. Returns when the group is gone, or after the ladder's last patience.
    """

    def is_gone() -> bool:
        process.poll()  # reaps, so that a zombie leader does not count as alive
        return not group_lives(process.pid)

    stop_group(process.pid, is_gone, ladder)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0 if process.returncode is not None else 1)


def stop_group(
    group: int, is_gone: Callable[[], bool], ladder: Sequence[tuple[signal.Signals, float]] = LADDER
) -> None:
    """Send a process group one signal of the ladder after the other until it is gone."""
    for number, patience_s in ladder:
        if not _signal_group(group, number) or _becomes_true(is_gone, patience_s):
            break


def group_lives(group: int) -> bool:
    """Return whether any process of a group is left."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _signal_group(group: int, number: signal.Signals) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _becomes_true(is_gone: Callable[[], bool], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while True:
        if is_gone():
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_S)
