"""A program that we talk to over pipes for as long as it runs. Nothing here waits unless it says so."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence

from oulipoly_engine.process.command import Command
from oulipoly_engine.process.spawn import spawn
from oulipoly_engine.process.stop import TERM_LADDER, GroupWatch, group_lives, stop

_CHUNK = 256 << 10


class PipedProcess:
    """A running program that leads its own group and session; it is stopped if we are killed."""

    def __init__(self, command: Command) -> None:
        """Start it. Raises SpawnFailed."""
        self._process = spawn(command)
        self.pid = self._process.pid
        streams = self._process.stdin, self._process.stdout, self._process.stderr
        self.stdin, self.stdout, self.stderr = (-1 if one is None else one.fileno() for one in streams)
        for descriptor in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(descriptor, False)
        self._watch: GroupWatch | None = None
        with contextlib.suppress(OSError):  # without a shell it ends at the end of its stdin, as they do
            self._watch = GroupWatch(self.pid)

    def read(self, descriptor: int) -> bytes | None:
        """Return what has come at `stdout` or `stderr`; None: nothing now, empty: nothing will come again."""
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Give it bytes and return how many it took. Raises BrokenPipeError when it reads no more."""
        try:
            return os.write(self.stdin, data)
        except BlockingIOError:
            return 0

    def close_stdin(self) -> None:
        """Tell it that nothing comes any more."""
        if self._process.stdin is not None and self.stdin >= 0:
            self.stdin = -1
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def poll(self) -> int | None:
        """Return its exit code, minus the signal's number if one killed it; None while it runs."""
        return self._process.poll()

    def send(self, number: int) -> None:
        """Send a signal to its group."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, number)

    def is_gone(self) -> bool:
        """Tell whether it and all of its group are gone."""
        return self.poll() is not None and not group_lives(self.pid)

    def stop(self, ladder: Sequence[tuple[signal.Signals, float]] = TERM_LADDER) -> None:
        """End its group; waits as long as the ladder says at most."""
        self.close_stdin()
        stop(self._process, ladder)
        self.release()

    @property
    def own_pids(self) -> tuple[int, ...]:
        """Return the processes that we wait for ourselves."""
        return (self.pid,) if self._watch is None else (self.pid, self._watch.pid)

    def release(self) -> None:
        """Give the pipes back, once it has ended."""
        self.close_stdin()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        if self._watch is not None:
            self._watch.close()
            self._watch = None
