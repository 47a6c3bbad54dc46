"""Put a CLI between the user and a terminal of its own, so that it looks as if it had been started without us.

Bytes pass unchanged both ways; the window's size, Ctrl-Z and every signal pass too. Whatever happens, the user's
terminal is given back as it was found. (If we are killed ourselves, the CLI's terminal hangs up and it leaves.)
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import time
import tty
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType

from oulipoly_engine.core.text.terminal_modes import TerminalModes
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.process.command import Command, describe_exit, watched
from oulipoly_engine.process.pty import CHUNK, Pty, size_of, spawn
from oulipoly_engine.records import Record

_STDIN, _STDOUT = 0, 1
_TAIL = 8 << 10  # bytes that are kept of what it printed; enough for the words with which it leaves
_CHUNKS_A_TURN = 16  # before the keys and the signals are looked at again
_SMALL = 1 << 10  # bytes; a flood comes in the 4 kB that the kernel's terminals hold
_TICK_S = 0.25
_FLUSH_S = 1.0  # how long a stalled terminal may keep the last bytes waiting
_PATIENCE_S = 2.0  # after a signal that means "leave", and again after TERM
_LEAVE = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_HANDLED = (*_LEAVE, signal.SIGINT, signal.SIGWINCH, signal.SIGCHLD, signal.SIGCONT, signal.SIGTSTP)


class PassthroughResult(Record):
    """How an interactive run ended."""

    exit_code: int  # 128 plus the signal's number if a signal killed it
    killed_by: int | None  # that number
    stopped_for: int | None  # the signal for which we ended it; None: it ended by itself
    tail: bytes  # the last of what it printed
    duration_s: float


def require_terminal() -> None:
    """Raise RequestRefused unless a person sits at both ends of us."""
    for descriptor, name in ((_STDIN, "stdin"), (_STDOUT, "stdout")):
        if not os.isatty(descriptor):
            raise RequestRefused(
                f"{name} is not a terminal, and an interactive session needs one: start it in a terminal, or give a "
                "prompt for a run without one"
            )


def pass_through(
    command: Command, started: Callable[[int], None] | None = None, tick: Callable[[], None] | None = None
) -> PassthroughResult:
    """Run a command in the user's terminal to its end. Call it in the main thread, after `require_terminal`.

    started: called with its pid once it runs. tick: called a few times a second at most while it runs.
    Raises SpawnFailed.
    """
    started_at = time.monotonic()
    with watched(command.argv, command.cwd) as tell, _signals() as inbox, _Terminal() as terminal:
        size = size_of(terminal.output)
        child = spawn(
            command,
            columns=size.columns,
            rows=size.rows,
            pixel_width=size.pixel_width,
            pixel_height=size.pixel_height,
            attributes=terminal.attributes,
        )
        try:
            terminal.take()
            if started is not None:
                started(child.pid)
            passage = _Exchange(child, terminal, tick)
            code = passage.run(inbox)
            killed_by = child.killed_by
            if code != 0 or passage.stopped_for is not None:
                terminal.write_soon(passage.modes.undo())
        finally:
            if child.fd >= 0:
                if child.poll() is None:
                    child.stop()
                child.close()
        tell(describe_exit(code))
    return PassthroughResult(code, killed_by, passage.stopped_for, passage.tail, time.monotonic() - started_at)


class _Terminal:
    """The user's terminal, with descriptors of our own: nothing that we set on them reaches the user's shell."""

    def __enter__(self) -> _Terminal:
        self.input, self.output = _reopen(_STDIN), _reopen(_STDOUT)
        self.attributes: list[object] = termios.tcgetattr(self.input)
        self._is_taken = False
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self.give_back()
        for descriptor in {self.input, self.output} - {_STDIN, _STDOUT}:
            os.close(descriptor)

    def take(self) -> None:
        """Let every byte through as it is typed."""
        with contextlib.suppress(termios.error):
            tty.setraw(self.input, termios.TCSANOW)
            self._is_taken = True

    def give_back(self) -> None:
        """Set it as it was found; in the background that would stop us, and it is somebody else's anyway."""
        if not self._is_taken:
            return
        self._is_taken = False
        with contextlib.suppress(OSError, termios.error):
            if os.tcgetpgrp(self.input) == os.getpgrp():
                termios.tcsetattr(self.input, termios.TCSANOW, self.attributes)  # type: ignore[arg-type]

    def write_soon(self, data: bytes) -> None:
        """Write all bytes, unless the terminal takes none for a second."""
        view = memoryview(data)
        while view and select.select((), (self.output,), (), _FLUSH_S)[1]:
            try:
                view = view[os.write(self.output, view) :]
            except BlockingIOError:
                continue
            except OSError:
                return


class _Exchange:
    """Bytes and signals between a terminal and a child."""

    def __init__(self, child: Pty, terminal: _Terminal, tick: Callable[[], None] | None) -> None:
        self._child = child
        self._terminal = terminal
        self._tick = tick
        self._typed = b""  # by the user, not yet taken by the child
        self._printed = memoryview(b"")  # by the child, not yet taken by the terminal
        self._is_closed = False  # nobody holds the child's terminal any more
        self._is_gone = False  # the user's terminal hung up
        self._escalate_at: float | None = None
        self.modes = TerminalModes()
        self.tail = b""
        self.stopped_for: int | None = None

    def run(self, inbox: _Inbox) -> int:
        """Pass on until the child has ended, and return its exit code."""
        self._resize()
        due = time.monotonic() + _TICK_S
        while True:
            arrived = inbox.take() if self._exchange(inbox.descriptor) else []
            now = time.monotonic()
            if not arrived and now < due:
                continue
            for number in arrived:
                self._answer(number)
            if now >= due:
                due = now + _TICK_S
                self._escalate(now)
                if self._tick is not None:
                    self._tick()
            if self._child.is_stopped():
                self._suspend()
            code = self._child.poll()
            if code is not None:
                self._drain()
                return code

    def _exchange(self, wake: int) -> bool:
        """Wait for something to do, pass on what has come, and tell whether a signal has."""
        reads = [wake]
        writes = []
        if not self._typed and not self._is_gone:
            reads.append(self._terminal.input)
        if not self._printed and not self._is_closed:
            reads.append(self._child.fd)
        if self._typed and not self._is_closed:
            writes.append(self._child.fd)
        if self._printed:
            writes.append(self._terminal.output)
        readable, writable, _ = select.select(reads, writes, (), _TICK_S)
        if self._child.fd in readable:
            for _ in range(_CHUNKS_A_TURN):
                if not self._take_printed() or self._printed:
                    break
        if self._terminal.output in writable:
            self._show()
        if self._terminal.input in readable:
            self._take_typed()
        if self._child.fd in writable:
            self._type()
        return wake in readable

    def _take_printed(self) -> bool:
        """Show a piece of what has come, and tell whether there is probably more at once."""
        data = self._child.read(CHUNK)
        if not data:
            self._is_closed = data is not None
            return False
        self.modes.feed(data)
        self.tail = data[-_TAIL:] if len(data) >= _TAIL else (self.tail + data)[-_TAIL:]
        self._printed = memoryview(data)
        self._show()
        return len(data) > _SMALL

    def _child_has_more(self) -> bool:
        readable, _, _ = select.select((self._child.fd,), (), (), 0)
        if readable:
            self._take_printed()
        return bool(readable)

    def _show(self) -> None:
        try:
            self._printed = self._printed[os.write(self._terminal.output, self._printed) :]
        except BlockingIOError:
            return
        except OSError:
            self._printed = memoryview(b"")
            self._hang_up()

    def _take_typed(self) -> None:
        try:
            self._typed = os.read(self._terminal.input, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self._typed = b""
        if self._typed:
            self._type()
        else:
            self._hang_up()

    def _type(self) -> None:
        self._typed = self._typed[self._child.write(self._typed) :]

    def _hang_up(self) -> None:
        if not self._is_gone:
            self._is_gone = True
            self._leave(signal.SIGHUP)

    def _drain(self) -> None:
        """Show what the child had printed by its end."""
        self._terminal.write_soon(bytes(self._printed))
        self._printed = memoryview(b"")
        while not self._is_closed and self._child_has_more():
            self._terminal.write_soon(bytes(self._printed))
            self._printed = memoryview(b"")

    def _answer(self, number: int) -> None:
        if number in _LEAVE:
            self._leave(number)
        elif number == signal.SIGINT:
            self._child.send(number)
        elif number == signal.SIGWINCH:
            self._resize()
        elif number == signal.SIGTSTP:
            self._suspend()
        elif number == signal.SIGCONT:
            self._terminal.take()
            self._resize()

    def _leave(self, number: int) -> None:
        """Pass on a signal that means "leave", once; a child that stays is ended."""
        if self.stopped_for is None:
            self.stopped_for = number
            self._escalate_at = time.monotonic() + _PATIENCE_S
            self._child.send(number)
            self._child.send(signal.SIGCONT)

    def _escalate(self, now: float) -> None:
        if self._escalate_at is not None and now >= self._escalate_at:
            self._escalate_at = None
            self._child.stop(((signal.SIGTERM, _PATIENCE_S), (signal.SIGKILL, _PATIENCE_S)))
            self._is_closed = True

    def _suspend(self) -> None:
        """Stop as the child has, so that the shell takes over; on return the terminal is ours again, and it goes on.

        Where no shell waits that could wake us, the kernel lets nothing stop, and the child goes on at once.
        """
        self._terminal.give_back()
        previous = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.killpg(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, previous)
        self._terminal.take()
        self._resize()
        self._child.send(signal.SIGCONT)

    def _resize(self) -> None:
        with contextlib.suppress(OSError):
            self._child.resize(*size_of(self._terminal.output))


class _Inbox:
    """Signals that have come, and a descriptor that is readable then."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._arrived: list[int] = []

    def handle(self, number: int, _frame: FrameType | None) -> None:
        self._arrived.append(number)

    def take(self) -> list[int]:
        with contextlib.suppress(BlockingIOError):
            while os.read(self.descriptor, 512):
                pass
        arrived, self._arrived = self._arrived, []
        return arrived


@contextlib.contextmanager
def _signals() -> Iterator[_Inbox]:
    """Collect our signals for the block, in place of whatever they meant before."""
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    inbox = _Inbox(reading)
    previous = {number: signal.signal(number, inbox.handle) for number in _HANDLED}
    wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield inbox
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in previous.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)


def _reopen(descriptor: int) -> int:
    """Open a terminal once more, never to wait on it; the descriptor itself where that cannot be."""
    try:
        return os.open(os.ttyname(descriptor), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return descriptor
