"""Terminals that we make for a CLI: one process in a pseudo terminal of its own. The only module that knows ptyprocess.

Nothing here waits unless it says so: descriptors do not block, and ptyprocess's own pauses are set to nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import termios
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.spawn import boxed_words, spawn_problem, start_in_box
from oulipoly_engine.process.stop import group_lives
from oulipoly_engine.records import replace

if TYPE_CHECKING:
    from ptyprocess import PtyProcess

CHUNK = 64 << 10
# A program in a terminal knows a hang-up as the order to leave; INT is a key to it.
HANGUP_LADDER: tuple[tuple[signal.Signals, float], ...] = (
    (signal.SIGHUP, 1.0),
    (signal.SIGTERM, 2.0),
    (signal.SIGKILL, 2.0),
)
_POLL_S = 0.01


class Size(NamedTuple):
    """A window's size."""

    columns: int
    rows: int
    pixel_width: int = 0  # 0: not told
    pixel_height: int = 0


class Pty:
    """A running process and our end of its terminal."""

    def __init__(self, process: PtyProcess) -> None:
        self._process = process
        self.fd: int = process.fd  # non-blocking; -1 once closed
        self.pid: int = process.pid  # leads its own session and its own group
        process.delayafterclose = process.delayafterterminate = 0
        os.set_blocking(self.fd, False)

    def read(self, size: int = CHUNK) -> bytes | None:
        """Return what the process has printed: None when nothing is there now, empty when nothing will come again."""
        try:
            return os.read(self.fd, size)
        except BlockingIOError:
            return None
        except OSError:  # EIO, as Linux tells that nobody holds the terminal; EBADF after close()
            return b""

    def write(self, data: bytes | memoryview) -> int:
        """Type bytes and return how many were taken; 0 when the process does not read, or is gone."""
        try:
            return os.write(self.fd, data)
        except OSError:
            return 0

    def resize(self, columns: int, rows: int, pixel_width: int = 0, pixel_height: int = 0) -> None:
        """Change the window's size, which tells the process by SIGWINCH."""
        with contextlib.suppress(OSError):
            set_size(self.fd, Size(columns, rows, pixel_width, pixel_height))

    def poll(self) -> int | None:
        """Return the exit code, 128 plus the signal's number if one killed it; None while it lives."""
        if self._process.isalive():
            return None
        killed_by: int | None = self._process.signalstatus
        return int(self._process.exitstatus or 0) if killed_by is None else 128 + killed_by

    @property
    def killed_by(self) -> int | None:
        """Return the number of the signal that ended it; None when it ended by itself, or lives."""
        killed_by: int | None = self._process.signalstatus
        return killed_by

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end for so long; reads nothing, and a process may be unable to end before it is read."""
        deadline = time.monotonic() + timeout_s
        while (code := self.poll()) is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        return code

    def is_stopped(self) -> bool:
        """Tell whether a signal has suspended it since we last asked."""
        try:
            status = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG)
        except ChildProcessError:
            return False
        return status is not None and status.si_pid == self.pid

    def send(self, number: int) -> None:
        """Send a signal to its group, and to the group that its terminal belongs to at present."""
        groups = {self.pid}
        with contextlib.suppress(OSError):
            groups.add(os.tcgetpgrp(self.fd))
        for group in groups - {0}:  # nobody is in the foreground any more; group 0 would be our own
            with contextlib.suppress(OSError):
                os.killpg(group, number)

    def stop(self, ladder: Sequence[tuple[signal.Signals, float]] = HANGUP_LADDER) -> int:
        """End the process and its group and return its exit code; waits as long as the ladder says at most.

        What it prints meanwhile is thrown away: a full terminal would keep it from ending.
        """
        for number, patience_s in ladder:
            if self._is_gone():
                break
            self.send(number)
            self.send(signal.SIGCONT)
            self._gone_within(patience_s)
        code = self.poll()
        self.close()
        return 128 + signal.SIGKILL if code is None else code

    def close(self) -> None:
        """Give our end of the terminal back, which hangs up on whoever still holds the other one."""
        if self.fd >= 0:
            with contextlib.suppress(OSError):
                self._process.fileobj.close()
        self.fd = -1
        # Else its destructor would signal whatever process has that number by then.
        self._process.closed = True

    def _is_gone(self) -> bool:
        return self.poll() is not None and not group_lives(self.pid)

    def _gone_within(self, patience_s: float) -> bool:
        deadline = time.monotonic() + patience_s
        while not self._is_gone():
            if time.monotonic() >= deadline:
                return False
            while self.fd >= 0 and self.read():
                pass
            time.sleep(_POLL_S)
        return True


def spawn(
    command: Command,
    *,
    columns: int,
    rows: int,
    pixel_width: int = 0,
    pixel_height: int = 0,
    attributes: list[object] | None = None,
) -> Pty:
    """Start a command in a new terminal of that size; its stdin, limits and warnings are not for terminals.

    attributes: of an existing terminal, as termios gives them: its special characters become those of the new one.
    Raises SpawnFailed, as a one-shot's start does.
    """
    from ptyprocess import PtyProcess  # noqa: PLC0415 - 15 ms, only interactive runs need it

    size = Size(columns, rows, pixel_width, pixel_height)
    # A signal between fork and exec would run our handlers in the child: none comes before its own manners are set.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

    def prepare() -> None:
        # In the child. Python ignores some signals, and whoever started us others: in a new terminal all are as usual.
        # What fails here is reported by ptyprocess; its own `cwd` would go on as a second copy of us.
        os.chdir(command.cwd or Path.cwd())
        set_size(0, size)
        if attributes is not None:
            termios.tcsetattr(0, termios.TCSANOW, attributes)  # type: ignore[arg-type]
        signal.set_wakeup_fd(-1)  # ptyprocess has closed whatever it was
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def start() -> PtyProcess:
        return PtyProcess.spawn(
            [program, *words[1:]], env=dict(command.env), preexec_fn=prepare, dimensions=(rows, columns)
        )

    try:
        words = boxed_words(command, has_terminal=True)
        program = _program(replace(command, argv=words))
        process = start_in_box(command.box, start)
    except (OSError, ValueError) as error:
        # The half-started child hangs on a frame of the traceback, and is reaped when that lets go of it.
        traceback.clear_frames(error.__traceback__)
        raise SpawnFailed(spawn_problem(command, error)) from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return Pty(process)


def size_of(descriptor: int) -> Size:
    """Return the window size of a terminal, 80 by 24 where it tells none. Raises OSError when it is not a terminal."""
    packed = fcntl.ioctl(descriptor, termios.TIOCGWINSZ, b"\0" * 8)
    rows, columns, pixel_width, pixel_height = struct.unpack("HHHH", packed)
    return Size(columns or 80, rows or 24, pixel_width, pixel_height)


def set_size(descriptor: int, size: Size) -> None:
    """Change a terminal's window size. Raises OSError."""
    packed = struct.pack("HHHH", size.rows, size.columns, size.pixel_width, size.pixel_height)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, packed)


def _program(command: Command) -> str:
    """Return the program's path, looked up where the child would: its own PATH, its own folder.

    Raises FileNotFoundError or PermissionError.
    """
    import shutil  # noqa: PLC0415 - 4 ms, only interactive runs need it

    name = command.argv[0]
    place = name
    if "/" in name:
        place = str((command.cwd or Path.cwd()) / name)
    path = shutil.which(place, path=command.env.get("PATH", os.defpath))
    if path is not None:
        return path
    if "/" in name and Path(place).is_file():
        raise PermissionError(13, "Permission denied", name)
    raise FileNotFoundError(2, "No such file or directory", name)
