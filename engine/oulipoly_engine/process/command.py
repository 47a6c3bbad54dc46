"""What to run, as data, and what came of it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.core.boxes.box import Box


class Command(Record):
    """One process to start: its whole environment is given, nothing is inherited by accident."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None = None
    stdin: bytes | None = None  # None: nothing to read, never our own terminal
    timeout_s: float | None = None
    silence_warning_s: float | None = None  # tell the sink once nothing has come for so long
    is_configured: bool = True  # by an account; false: the user has typed it
    named_in: str = "`command` in providers.toml"  # where its name stands, if it is configured
    ends_with_us: bool = False  # its group is stopped even if we are killed; it has no stdin then
    box: Box | None = None  # what it reaches; None: all that we reach


class ProcessResult(Record):
    """How a process ended, and the ends of what it printed."""

    exit_code: int  # 128 plus the signal's number if a signal killed it
    killed_by: int | None  # that number
    stopped_for: str | None  # by us: "timeout", "stdout_closed", "stopped" by its user; None: it ended by itself
    stdout_tail: bytes
    stderr_tail: bytes
    stdout_bytes: int
    duration_s: float


class Sink(Protocol):
    """Where a running process's output goes, as it comes."""

    def read(self, data: memoryview) -> None:
        """Look at bytes of its stdout before they are passed on; no signal interrupts this, so it must not wait."""

    def stdout(self, data: memoryview) -> None:
        """Take bytes of its stdout; the view is only valid during the call."""

    def stderr(self, data: memoryview) -> None:
        """Take bytes of its stderr; the view is only valid during the call."""

    def tick(self, idle_s: float) -> None:
        """Be told, now and then while nothing comes, for how long nothing has come."""


# Is called with what is started and where (None: here), and returns what is called with how that ended.
Watch = Callable[[tuple[str, ...], Path | None], Callable[[str], None]]
_watches: list[Watch] = []  # of this process: what it starts is told to whoever watches it


@contextlib.contextmanager
def watch_commands(watch: Watch) -> Iterator[None]:
    """Tell a watch of every command that this process starts in the block, from whatever thread."""
    _watches.append(watch)
    try:
        yield
    finally:
        _watches.remove(watch)


@contextlib.contextmanager
def watched(argv: Sequence[str], cwd: Path | None) -> Iterator[Callable[[str], object]]:
    """Tell the watches of a command that is run in the block. Yields what takes how it ended, in a few words."""
    ends = [watch(tuple(argv), cwd) for watch in _watches]
    told: list[str] = []
    try:
        yield told.append
    except BaseException as error:
        told.append(getattr(error, "message", "") or "was stopped")
        raise
    finally:
        for end in ends:
            end(told[-1] if told else "could not be started")


def describe_exit(code: int) -> str:
    """Say how a process ended. code: its exit code; minus a signal's number where one killed it."""
    return f"ended by signal {-code}" if code < 0 else f"ended with {code}"


def describe_running(terminal: str) -> str:
    """Say where a program runs on. terminal: the terminal's id."""
    return f"runs in terminal {terminal}"


def inherited_environment() -> dict[str, str]:
    """Return our own environment as a base for a child's."""
    return dict(os.environ)


def replace_process(argv: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Flush our streams and run `argv` in place of this process, so that signals and exit code are its own."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execve(argv[0], list(argv), dict(env))  # noqa: S606 - no shell is wanted
