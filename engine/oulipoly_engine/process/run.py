"""Run a one-shot: bytes pass through as they come, memory stays flat, and nothing is left behind.

One thread, one selector: the child's stdout and stderr are read, its stdin is fed, and time is watched. SIGINT and
SIGTERM raise Interrupted out of whatever we are doing, a write to a blocked reader included; the child's group is
stopped on the way out.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import IO

from oulipoly_engine.errors import Interrupted, SpawnFailed
from oulipoly_engine.process.command import Command, ProcessResult, Sink, describe_exit, watched
from oulipoly_engine.process.signals import Guard, interruptible
from oulipoly_engine.process.spawn import DEVNULL, PIPE, boxed_words, spawn, spawn_problem
from oulipoly_engine.process.stop import TERM_LADDER, group_lives, stop, stopped_with_us
from oulipoly_engine.stopping import is_asked

_CHUNK = 256 << 10  # fits the processor's cache: a megabyte is a quarter slower
_CHUNKS_A_TURN = 16  # before stderr and the time limit are looked at again
_PIPE_SIZE = 1 << 20  # Linux's default limit for unprivileged users
_TAIL = 64 << 10
_TICK_S = 0.25
_HELD_PIPE_PATIENCE_S = 1.0  # how long a grandchild may keep our pipes open after its parent has gone


class Discard:
    """A sink for nobody: the tails alone are wanted."""

    def read(self, data: memoryview) -> None:
        """Look for nothing in it."""

    def stdout(self, data: memoryview) -> None:
        """Drop it."""

    def stderr(self, data: memoryview) -> None:
        """Drop it."""

    def tick(self, idle_s: float) -> None:
        """Do nothing."""


class StdoutClosed(Exception):
    """Raised by a sink: nobody reads our output any more."""


def run(command: Command, sink: Sink, started: Callable[[int], None] | None = None) -> ProcessResult:
    """Run a command to its end and return how it ended.

    started: called with the child's pid once it runs.
    Raises SpawnFailed if it cannot be started, and Interrupted after the child's group has been stopped.
    """
    with watched(command.argv, command.cwd) as tell:
        result = _run(command, sink, started)
        how = describe_exit(result.exit_code if result.killed_by is None else -result.killed_by)
        tell(how if result.stopped_for is None else f"{how}: {result.stopped_for.replace('_', ' ')}")
    return result


def _run(command: Command, sink: Sink, started: Callable[[int], None] | None) -> ProcessResult:
    started_at = time.monotonic()
    with interruptible() as guard, _words_and_stdin(command) as (words, stdin):
        process = spawn(command, words, stdin=stdin, pipe_bytes=_PIPE_SIZE)
        flow = _Flow(process, command, sink, guard)
        reason: str | None = None
        try:
            guard.arm()
            if started is not None:
                started(process.pid)
            reason = flow.pump()
        except StdoutClosed:
            reason = "stdout_closed"
        except Interrupted as error:
            guard.disarm()
            stop(process)
            error.unread = flow.unread()
            raise
        finally:
            guard.disarm()
            if reason is not None:
                stop(process)
            elif group_lives(process.pid):
                stop(process, TERM_LADDER)
            flow.close()
        code = process.wait()
    return ProcessResult(
        exit_code=code if code >= 0 else 128 - code,
        killed_by=-code if code < 0 else None,
        stopped_for=reason,
        stdout_tail=flow.stdout_tail.value(),
        stderr_tail=flow.stderr_tail.value(),
        stdout_bytes=flow.stdout_bytes,
        duration_s=time.monotonic() - started_at,
    )


@contextlib.contextmanager
def _words_and_stdin(command: Command) -> Iterator[tuple[tuple[str, ...], int]]:
    if not command.ends_with_us:
        yield boxed_words(command), DEVNULL if command.stdin is None else PIPE
        return
    with contextlib.ExitStack() as stack:
        try:
            started = stack.enter_context(stopped_with_us(boxed_words(command)))
        except OSError as error:
            raise SpawnFailed(spawn_problem(command, error)) from error
        yield started


class _Flow:
    """The pipes of one child."""

    def __init__(self, process: subprocess.Popen[bytes], command: Command, sink: Sink, guard: Guard) -> None:
        self._process = process
        self._command = command
        self._sink = sink
        self._guard = guard
        self._selector = selectors.DefaultSelector()
        self._input = memoryview(command.stdin or b"")
        self._exited_at: float | None = None
        self.stdout_tail = _Tail()
        self.stderr_tail = _Tail()
        self.stdout_bytes = 0
        for stream, action in ((process.stdout, self._read_stdout), (process.stderr, self._read_stderr)):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, selectors.EVENT_READ, action)
        if process.stdin is not None:
            if self._input:
                os.set_blocking(process.stdin.fileno(), False)
                self._selector.register(process.stdin, selectors.EVENT_WRITE, self._feed)
            else:
                process.stdin.close()

    def pump(self) -> str | None:
        """Pass bytes until the child and its pipes are done; return why we gave up on it, if we did."""
        started_at = last = time.monotonic()
        while self._selector.get_map():
            ready = self._selector.select(_TICK_S)
            now = time.monotonic()
            if is_asked():  # in a thread, which no signal reaches
                return "stopped"
            for key, _events in ready:
                if key.data():
                    last = now
            if self._command.timeout_s is not None and now - started_at > self._command.timeout_s:
                return "timeout"
            if not ready:
                self._sink.tick(now - last)
                if self._is_abandoned(now):
                    return None
        self._wait(started_at)
        return "timeout" if self._process.returncode is None else None

    def _wait(self, started_at: float) -> None:
        """Wait for a child that has closed its pipes but still runs."""
        limit = self._command.timeout_s
        remaining = None if limit is None else max(0.0, started_at + limit - time.monotonic())
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=remaining)

    def _is_abandoned(self, now: float) -> bool:
        """Return whether the child is gone and only a grandchild holds the pipes."""
        if self._process.poll() is None:
            return False
        self._exited_at = self._exited_at or now
        return now - self._exited_at > _HELD_PIPE_PATIENCE_S

    def _read_stdout(self) -> bool:
        came = False
        for _ in range(_CHUNKS_A_TURN):
            # A signal in between would lose what has left the pipe and was not looked at: the id of a session, say.
            self._guard.disarm()
            data = self._take(self._process.stdout, self.stdout_tail)
            if data:
                self._sink.read(data)
            self._guard.arm()
            if not data:
                return came
            came = True
            self.stdout_bytes += len(data)
            self._sink.stdout(data)
            if len(data) < _TAIL:  # probably all there is; a flood is read on without asking the kernel each time
                return came
        return came

    def _read_stderr(self) -> bool:
        data = self._take(self._process.stderr, self.stderr_tail)
        if not data:
            return False
        self._sink.stderr(data)
        return True

    def _take(self, stream: IO[bytes] | None, tail: _Tail) -> memoryview | None:
        """Return what has come, or None when nothing is ready after all; a stream that has ended is dropped."""
        data = None if stream is None or stream.closed else tail.read(stream.fileno())
        if data is not None and not data:
            self._drop(stream)
        return data

    def unread(self) -> bytes:
        """Return what waits in the child's stdout; it is not passed on, for nobody may be reading us any more."""
        collected = bytearray()
        for _ in range(_CHUNKS_A_TURN):
            data = self._take(self._process.stdout, self.stdout_tail)
            if not data:
                break
            collected += data
        return bytes(collected)

    def _feed(self) -> bool:
        stream = self._process.stdin
        if stream is None:
            return False
        try:
            count = os.write(stream.fileno(), self._input[:_CHUNK])
        except BlockingIOError:
            return False
        except OSError:  # it does not read its input: its right
            self._drop(stream)
            return False
        self._input = self._input[count:]
        if not self._input:
            self._drop(stream)
        return False

    def _drop(self, stream: object) -> None:
        self._selector.unregister(stream)  # type: ignore[arg-type]
        stream.close()  # type: ignore[attr-defined]

    def close(self) -> None:
        """Close whatever is still open."""
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class _Tail:
    """Reads one stream and keeps its last 64 KiB and more.

    Two buffers take turns, so that the end of a large chunk lies untouched until the next one has come and need not be
    copied out of each: that alone costs a tenth of the throughput.
    """

    def __init__(self) -> None:
        self._buffers = (bytearray(_CHUNK), bytearray(_CHUNK))
        self._large: memoryview | None = None  # the newest chunk, if it is a tail by itself
        self._small = bytearray()  # the tail otherwise

    def read(self, descriptor: int) -> memoryview | None:
        """Return what is there, an empty view at the end, or None when nothing is ready after all."""
        buffer, other = self._buffers
        try:
            count = os.readv(descriptor, [buffer])
        except BlockingIOError:
            return None
        except OSError:
            count = 0
        self._buffers = (other, buffer)
        data = memoryview(buffer)[:count]
        self._keep(data)
        return data

    def _keep(self, data: memoryview) -> None:
        if len(data) >= _TAIL:
            self._large = data
            return
        if self._large is not None:
            self._small[:] = self._large[-_TAIL:]
            self._large = None
        self._small += data
        if len(self._small) > 2 * _TAIL:
            del self._small[:-_TAIL]

    def value(self) -> bytes:
        """Return the end of all that came."""
        return bytes(self._small if self._large is None else self._large[-_TAIL:])
