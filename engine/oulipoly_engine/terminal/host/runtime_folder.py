"""What the runtime folder tells about each terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oulipoly_engine.host import runtime_folder
from oulipoly_engine.records import Record


class Terminal(Record):
    """What is told about a terminal."""

    id: str
    label: str  # the command, redacted
    cwd: str
    pid: int  # the child's
    host_pid: int
    started_at: str  # RFC 3339, UTC
    screen_pid: int = 0
    model: str | None = None
    account: str | None = None
    invocation: str | None = None  # UUID
    invocation_row: int | None = None
    session_id: str | None = None
    title: str = ""
    exit_code: int | None = None  # None: it runs; 128 plus the signal's number if one killed it
    ended_at: str | None = None
    began_ticks: int | None = None  # the child's start in the kernel's ticks since boot; None: the system does not tell

    @property
    def is_running(self) -> bool:
        """Return whether its child still runs."""
        return self.exit_code is None


Survey = runtime_folder.Survey[Terminal]


def survey(folder: Path, runs_on: Callable[[Terminal], bool] = lambda _: False) -> Survey:
    """List the living terminals, as `host.runtime_folder.survey` does."""
    return runtime_folder.survey(folder, Terminal, runs_on)
