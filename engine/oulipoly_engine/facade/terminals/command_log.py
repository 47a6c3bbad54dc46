"""What this process has started for a face: a bounded list in memory, without secrets.

It ends with the process. What runs of models were, `trace` knows for good.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.text.redact import redact, redact_argv
from oulipoly_engine.process.command import describe_exit, describe_running, watch_commands
from oulipoly_engine.records import Record

_KEPT = 500
_LONGEST = 4000  # characters of a command
_NAMELESS = "Thread-"  # begins the names that Python gives
_RUNS_ON = describe_running("")


class RanCommand(Record, frozen=False):
    """One command that was started."""

    number: int  # from 1, in the order of their starts
    at: datetime
    command: str  # its words as one would type them in a shell, redacted
    folder: str
    action: str  # what it was started for: the name of the thread, which is that of its work; empty: in the app's own
    outcome: str = ""  # "ended with 0", "runs in terminal 1a2b3c"; empty: it runs
    took_s: float | None = None  # None: it runs


class CommandLog:
    """Keeps the last commands. Safe to use from any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._all: deque[RanCommand] = deque(maxlen=_KEPT)
        self._count = 0
        self._lock = threading.Lock()
        self._watching = ExitStack()
        self._watching.enter_context(watch_commands(self._begin))

    def list(self) -> tuple[RanCommand, ...]:
        """Return what was started, the latest first."""
        with self._lock:
            return tuple(reversed(self._all))

    def end_terminal(self, terminal: str, code: int | None) -> None:
        """Note that a terminal's program has ended. code: its exit code; None: nobody knows it."""
        how = "ended" if code is None else describe_exit(code)
        with self._lock:
            found = next((one for one in self._all if one.outcome == describe_running(terminal)), None)
            if found is not None:
                found.outcome = f"{how} in terminal {terminal}"
                found.took_s = (self._clock.now() - found.at).total_seconds()

    def close(self) -> None:
        """Watch no longer."""
        self._watching.close()

    def _begin(self, argv: tuple[str, ...], cwd: Path | None) -> Callable[[str], None]:
        name, began = threading.current_thread().name, time.monotonic()
        action = "" if name == threading.main_thread().name or name.startswith(_NAMELESS) else name
        command = redact(shlex.join(redact_argv(argv)))[:_LONGEST]
        with self._lock:
            self._count += 1
            one = RanCommand(self._count, self._clock.now(), command, str(cwd or _find_folder()), action)
            self._all.append(one)

        def end(outcome: str) -> None:
            with self._lock:
                one.outcome = redact(outcome)
                one.took_s = None if outcome.startswith(_RUNS_ON) else time.monotonic() - began

        return end


def _find_folder() -> str:
    """Return the folder of this process, which may have been deleted: what is started there runs all the same."""
    try:
        return str(Path.cwd())
    except OSError:
        return "a folder that is gone"
