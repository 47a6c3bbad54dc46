"""What a terminal's processes share: the child and our end of its PTY, the socket, the crash buffer and the rules."""

from __future__ import annotations

import socket
from typing import Protocol

from oulipoly_engine.host.runtime_folder import HostFiles
from oulipoly_engine.records import Record
from oulipoly_engine.terminal.host.crash_buffer import CrashBuffer
from oulipoly_engine.terminal.host.runtime_folder import Terminal
from oulipoly_engine.terminal.protocol.screen import ScreenLimits


class ChildPty(Protocol):
    """Our end of the child's terminal; never blocks."""

    fd: int
    pid: int

    def read(self, size: int = ...) -> bytes | None:
        """Return output: None when nothing is there now, empty when nobody holds the other end."""

    def write(self, data: bytes | memoryview) -> int:
        """Type bytes and return how many were taken."""

    def resize(self, columns: int, rows: int) -> None:
        """Change the window's size."""


class ChildProcess(ChildPty, Protocol):
    """What only the process that started the child can do."""

    def poll(self) -> int | None:
        """Return the exit code, 128 plus the signal's number if one killed it; None while it lives."""

    @property
    def killed_by(self) -> int | None:
        """Return the number of the signal that ended it."""

    def close(self) -> None:
        """Give our end back, which hangs up."""


class Rules(Record):
    """How a terminal behaves."""

    limits: ScreenLimits
    size_rule: str = "smallest"  # or "last": whoever typed last
    linger_s: float = 3600.0  # how long the host stays after the child's end when nobody has seen it
    grace_s: float = 2.0  # between HUP and KILL
    dump_every_s: float = 3.0
    looping_s: float = 5.0  # of processor time that the screen's process may spend without an answer
    quick_s: float = 10.0  # a screen's process that dies sooner has died of what it was started from
    silent_s: float = 15.0  # that it may be silent, in all: a loaded machine lets it wait


class TerminalHandles(Record):
    """What both processes of one terminal share."""

    place: HostFiles
    terminal: Terminal  # as it was at the start
    pty: ChildPty
    listener: socket.socket
    crash_buffer: CrashBuffer
    rules: Rules
