"""Timing: one process to its end, series of timings, and pairs that run alternately.

The harness itself must stay small: on Linux a child's peak memory is at least its parent's at the moment of the start.
What needs the engine in process therefore runs in a fork of its own (`isolated`).
"""

from __future__ import annotations

import json
import os
import select
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oulipoly_engine.records import Record, replace

_CHUNK = 1 << 20
_SPAWN_PATIENCE_S = 30.0


class BenchBroken(Exception):
    """What was measured did not do what it should: its figure would mean nothing."""


class Command(Record, eq=False):
    """A process to time, and the exit code that shows that it did its work."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    expects: int = 0


class Spent(Record):
    """What one process took."""

    seconds: float  # from just before its start until it was reaped
    peak_bytes: int  # greatest resident size, of it or of a child that it waited for
    signal_s: float = 0.0  # from the same moment until the command said that its work begins (`signalled`)
    cpu_s: float = 0.0  # of it and of the children that it waited for
    flow_s: float = 0.0  # from its first bytes to the last that were asked for (`drain`)


class Series(Record):
    """Timings of the same thing, in the order in which they were taken."""

    values: tuple[float, ...]

    @property
    def least(self) -> float:
        """Return the minimum: the figure that other users of the machine disturb least."""
        return min(self.values)

    @property
    def median(self) -> float:
        """Return the median."""
        return statistics.median(self.values)


class Pairs(Record):
    """Two things timed alternately, A B A B ..."""

    subject: Series
    beside: Series

    @property
    def ratios(self) -> Series:
        """Return subject by beside, pair by pair."""
        return Series(tuple(a / b for a, b in zip(self.subject.values, self.beside.values, strict=True)))


def pairs(subject: Callable[[], float], beside: Callable[[], float], rounds: int, warm_ups: int = 2) -> Pairs:
    """Take entries between two timings, so that whatever disturbs the machine disturbs both."""
    for _ in range(warm_ups):
        subject()
        beside()
    taken = [(subject(), beside()) for _ in range(rounds)]
    return Pairs(Series(tuple(pair[0] for pair in taken)), Series(tuple(pair[1] for pair in taken)))


def run(command: Command, stdout: Path | None = None) -> Spent:
    """Run a command to its end; its stdout goes to a file, or nowhere.

    Raises BenchBroken when it ends with another exit code than expected.
    """
    target = os.open(stdout or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        begun = time.perf_counter()
        pid = _spawn(command, target)
        return _reap(command, pid, begun)
    finally:
        os.close(target)


def drain(command: Command, size: int) -> Spent:
    """Run a command and read its stdout through a pipe of the usual size; `size` bytes are the flow that is timed.

    The flow's time is from the first bytes until that many have come: no start-up, and no marker line after them.
    Raises BenchBroken when fewer come.
    """
    reader, writer = os.pipe()
    buffer = bytearray(_CHUNK)
    total = 0
    first = last = 0.0
    try:
        begun = time.perf_counter()
        pid = _spawn(command, writer)
        os.close(writer)
        while count := os.readv(reader, [buffer]):
            now = 0.0 if total and total + count < size else time.perf_counter()
            first = first or now
            last = last or (now if total + count >= size else 0.0)
            total += count
        spent = _reap(command, pid, begun)
    finally:
        os.close(reader)
    if total < size:
        raise BenchBroken(f"only {total} of {size} bytes came through {' '.join(command.argv)}")
    return replace(spent, flow_s=last - first)


def signalled(command: Command, fifo: Path, stdout: Path | None = None) -> Spent:
    """Run a command that, when its real work begins, writes to a named pipe; `signal_s` says when that came."""
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    target = os.open(stdout or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        begun = time.perf_counter()
        pid = _spawn(command, target)
        ready, _, _ = select.select([reader], [], [], _SPAWN_PATIENCE_S)
        seconds = time.perf_counter() - begun
        spent = _reap(command, pid, begun)
    finally:
        os.close(reader)
        os.close(target)
    if not ready:
        raise BenchBroken(f"nothing was written to {fifo} by {' '.join(command.argv)}")
    return replace(spent, signal_s=seconds)


def isolated(work: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Do work in a fork of this process and return its answer, which must be JSON; nothing of it stays here."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with os.fdopen(writer, "w") as file:
                json.dump(work(), file)
            code = 0
        except BaseException:  # noqa: BLE001, RUF100 - a fork's border: nothing may run on into the parent's code
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise BenchBroken("the measurement in a process of its own failed")
    return json.loads(text)


def calls(function: Callable[[], object], rounds: int, warm_ups: int = 5) -> Series:
    """Time a function in this process, in milliseconds."""
    for _ in range(warm_ups):
        function()
    values = []
    for _ in range(rounds):
        begun = time.perf_counter_ns()
        function()
        values.append((time.perf_counter_ns() - begun) / 1e6)
    return Series(tuple(values))


def _spawn(command: Command, stdout: int) -> int:
    actions: Sequence[tuple[Any, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, stdout, 1),
        (os.POSIX_SPAWN_OPEN, 2, _complaints(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
    ]
    return os.posix_spawnp(command.argv[0], command.argv, dict(command.env), file_actions=actions)


def _complaints() -> str:
    """Return the file for a child's stderr, one for each measuring process."""
    return str(Path(os.environ["TMPDIR"]) / f"stderr-{os.getpid()}")


def _reap(command: Command, pid: int, begun: float) -> Spent:
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - begun
    code = os.waitstatus_to_exitcode(status)
    if code != command.expects:
        text = Path(_complaints()).read_text(encoding="utf-8", errors="replace").strip()
        raise BenchBroken(f"{' '.join(command.argv)} ended with {code} instead of {command.expects}: {text}")
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return Spent(seconds, usage.ru_maxrss * unit, cpu_s=usage.ru_utime + usage.ru_stime)
