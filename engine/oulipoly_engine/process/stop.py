"""The stop ladder: INT, TERM, KILL to a whole process group, with patience between the steps.

What must not outlive us even if we are killed, when no code of ours runs any more, is stopped by a shell that waits for
the end of a pipe.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from oulipoly_engine.process.liveness import group_has_ended

LADDER: tuple[tuple[signal.Signals, float], ...] = (
    (signal.SIGINT, 2.0),  # claude -p answers within 50 ms, codex exec within 100 ms (seen 2026-11)
    (signal.SIGTERM, 2.0),
    (signal.SIGKILL, 5.0),
)
TERM_LADDER = LADDER[1:]
_POLL_S = 0.01
# The first line is the group's number; the pipe ends when whoever writes to it is gone, and that are we alone.
# $1: for how many tenths of a second the group may still end by itself.
_WATCH = """
read -r group || exit
while read -r _; do :; done
left=$1
while [ "$left" -gt 0 ]; do kill -s 0 -- "-$group" || exit; sleep 0.1; left=$((left - 1)); done
kill -s TERM -- "-$group"; sleep 2; kill -s KILL -- "-$group"
"""
_JOIN = 'echo $$ >&0; exec "$@" </dev/null'  # the shell becomes the command, so its number is the group's


def stop(process: subprocess.Popen[bytes], ladder: Sequence[tuple[signal.Signals, float]] = LADDER) -> None:
    """Stop a process and its whole group, and reap it.

    The process must lead its own group. Returns when the group is gone, or after the ladder's last patience.
    """

    def is_gone() -> bool:
        process.poll()  # reaps, so that a zombie leader does not count as alive
        return not group_lives(process.pid)

    stop_group(process.pid, is_gone, ladder)
    wait_for_end(process, 0 if process.returncode is not None else 1)


def wait_for_end(process: subprocess.Popen[bytes], patience_s: float) -> None:
    """Wait for the end of a process of ours, and reap it; no longer than so many seconds."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=patience_s)


@contextlib.contextmanager
def stopped_with_us(words: Sequence[str], patience_s: float = 0.0) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the words and the stdin by which a command starts whose group is stopped if we are killed in the block.

    The command has to lead its own group; it finds nothing on its stdin. patience_s: for its end by itself, before any
    signal. Raises OSError where no shell starts.
    """
    with GroupWatch(patience_s=patience_s) as watch:
        yield ("/bin/sh", "-c", _JOIN, "sh", *words), watch.descriptor


class GroupWatch:
    """A shell that stops a process group if we are killed before `close`."""

    def __init__(self, group: int | None = None, patience_s: float = 0.0) -> None:
        """group: the one to stop; None: whoever gets `descriptor` writes its number there.

        patience_s: for its end by itself, before any signal. Raises OSError.
        """
        reading, self.descriptor = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own lines
                ("/bin/sh", "-c", _WATCH, "sh", str(round(patience_s * 10))),
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                start_new_session=True,
            )
            if group is not None:
                os.write(self.descriptor, b"%d\n" % group)
        except OSError:
            os.close(self.descriptor)
            raise
        finally:
            os.close(reading)

    @property
    def pid(self) -> int:
        """Return the shell's process number."""
        return self._process.pid

    def __enter__(self) -> GroupWatch:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Watch no more."""
        self.close()

    def close(self) -> None:
        """Watch no more: the group is gone, or may go on."""
        self._process.kill()
        self._process.wait()
        os.close(self.descriptor)


def stop_group(
    group: int, is_gone: Callable[[], bool], ladder: Sequence[tuple[signal.Signals, float]] = LADDER
) -> None:
    """Send a process group one signal of the ladder after the other until it is gone."""
    for number, patience_s in ladder:
        if not _signal_group(group, number) or _becomes_true(is_gone, patience_s):
            break


def find_boxed_group(pid: int) -> int | None:
    """Return the group of the program in a sealed box; None: there is none, or this kernel tells no children.

    pid: of what has started the box: it waits outside for the first process inside, whose child the program is.
    """
    with contextlib.suppress(OSError, ValueError):
        for _ in range(2):
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        return os.getpgid(pid)
    return None


def group_lives(group: int) -> bool:
    """Return whether any process of a group is left; one that has ended and is only not yet waited for does not count.

    The first process of a container waits late, or never, for what it inherits.
    """
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    # Twice: who was listed may have ended in between, and whom it had started was not listed.
    return not (group_has_ended(group) and group_has_ended(group))


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
