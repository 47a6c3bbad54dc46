"""A terminal of ours shown on the real terminal that the user sits at, until the program ends or they leave."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import socket
import struct
import termios
import time
import tty
from collections.abc import Callable, Iterator

from oulipoly_engine.core.text import leave_key
from oulipoly_engine.core.text.terminal_modes import TerminalModes
from oulipoly_engine.errors import Interrupted
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.pty import size_of
from oulipoly_engine.process.signals import interruptible
from oulipoly_engine.records import Record, replace
from oulipoly_engine.terminal.client import ansi
from oulipoly_engine.terminal.client.client import Client, HostGone, Link
from oulipoly_engine.terminal.client.keyboard import Input, Keyboard, KittySupport, LeaveKey
from oulipoly_engine.terminal.host.runtime_folder import Terminal
from oulipoly_engine.terminal.host.terminal_restorer import TerminalRestorer
from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.remote_screen import RemoteScreen

_STDIN, _STDOUT = 0, 1
_CHUNK = 64 << 10
_ESCAPE_S = 0.025  # how long a sequence may take to come whole; tmux waits as long for an Escape at most
_NOTE_S = 4.0
_KITTY_ANSWER = re.compile(rb"\x1b\[\?\d{1,3}u")

Write = Callable[[bytes], None]


class AttachEnd(Record):
    """How it ended."""

    exited: messages.Exited | None = None  # the program has ended
    last_lines: tuple[str, ...] = ()  # what it left on its screen, which goes away with ours
    problem: str | None = None  # the host is gone
    # Neither: the user has left, and the program runs on.
    dropped: int = 0  # bytes typed after the key that leaves: neither the program gets them, nor the shell behind us


def show(client: Client, terminal: Terminal, chord: str, write: Write, *, only_reads: bool = False) -> AttachEnd:
    """Show a terminal until it ends or the chord is typed. Stdin and stdout must be a terminal.

    chord: a name of `core.leave_key.BYTES`. write: takes what is to be drawn. only_reads: nothing that is typed gets
    to the program, and the window has no say in its size beside another one.
    Raises Interrupted for a signal that ends us; the real terminal is given back first in every case, and by somebody
    else if we are killed.
    """
    with interruptible() as guard, TerminalRestorer() as restorer, _raw(), _window_changes() as changes:
        restorer.set_bytes(ansi.leave(kitty=False))
        real = _RealTerminal(write, restorer)
        real.write(ansi.ENTER)
        try:
            guard.arm()
            left = _Session(client, terminal, chord, real, changes, only_reads=only_reads).run()
        except HostGone as gone:
            left = AttachEnd(problem=gone.message)
        finally:
            guard.disarm()
            with contextlib.suppress(OSError, Interrupted):
                real.write(real.leave())
        if left.exited is None and left.problem is None:
            left = replace(left, dropped=left.dropped + _unread())
        return left


class _RealTerminal(Record, frozen=False):
    """The real terminal."""

    write: Write
    _restorer: TerminalRestorer
    is_kitty: bool = False
    has_answered: bool = False  # our own question whether it is one
    modes: TerminalModes | None = None  # that the program itself has set; None: we draw, and it sets none

    def leave(self) -> bytes:
        """Return the bytes that give the terminal back."""
        return ansi.leave(kitty=self.is_kitty) if self.modes is None else self.modes.undo() + b"\x1b[0m\r\n"

    def begin_plain(self, text: str) -> None:
        """Stop drawing and give the terminal to the program; a line of text is the first that it shows."""
        if self.modes is None:
            self.write(self.leave())
            self.is_kitty, self.modes = False, TerminalModes()
            self._restorer.set_bytes(b"")
        self.write(f"[{text}]\r\n".encode())

    def write_plain(self, data: bytes) -> None:
        """Write what the program prints, and have what it switches on switched off again if we are killed."""
        assert self.modes is not None  # noqa: S101 - begun by begin_plain
        before = self.modes.undo()
        self.modes.feed(data)
        if self.modes.undo() != before:
            self._restorer.set_bytes(self.modes.undo())
        self.write(data)

    def end_plain(self) -> None:
        """Draw again: there is an emulator."""
        if self.modes is not None:
            self.write(self.leave() + ansi.ENTER)
            self.modes = None
            self._restorer.set_bytes(ansi.leave(kitty=False))

    def begin_kitty(self) -> None:
        """Have keys told apart, once the terminal has said that it can."""
        self.has_answered = True
        if not self.is_kitty:
            self.is_kitty = True
            self._restorer.set_bytes(ansi.leave(kitty=True))
            self.write(ansi.KITTY)


class _Session:
    def __init__(
        self,
        client: Client,
        terminal: Terminal,
        chord: str,
        real: _RealTerminal,
        changes: socket.socket,
        *,
        only_reads: bool,
    ) -> None:
        size = size_of(_STDOUT)
        self._client = client
        self._chord = chord
        self._real = real
        self._write = real.write
        self._changes = changes
        self._label = terminal.label
        self._view = RemoteScreen()
        self._painter = ansi.Painter(size.columns, size.rows, has_colour=not inherited_environment().get("NO_COLOR"))
        self._keyboard = Keyboard(leave_key.BYTES[chord])
        self._keyboard.page = max(1, size.rows - 1)
        self._note_until: float | None = None
        self._has_picture = False
        self._is_met = False  # whether the host has said how its program takes what is typed; until then it waits
        self._left: AttachEnd | None = None
        self._exited: messages.Exited | None = None
        self._only_reads = only_reads
        client.attach(size.columns, size.rows, only_reads=only_reads)
        self._title("")
        reading = "for reading only: " if only_reads else ""
        self._note(f"{reading}{chord} leaves this terminal; the program runs on")

    def run(self) -> AttachEnd:
        """Pass pictures and keys until one of them ends it."""
        while self._left is None:
            watched: list[int | Link | socket.socket] = [self._client.link, self._changes]
            if self._is_met:
                watched.append(_STDIN)
            ready, _, _ = select.select(watched, self._unsent(), [], self._patience())
            if self._changes in ready:
                self._resize()
            if self._client.link in ready:
                ended = self._read_client()
                if ended is not None:
                    return ended
            self._client.link.flush()
            if _STDIN in ready:
                data = os.read(_STDIN, _CHUNK)
                if not data:
                    return AttachEnd()
                if self._real.modes is None:
                    self._pass(self._keyboard.feed(data))
                else:
                    self._pass_plain(data)
            elif not ready:
                if self._keyboard.is_waiting and self._real.modes is None:
                    self._pass(self._keyboard.flush())
                self._drop_note(time.monotonic())
        return self._left

    def _unsent(self) -> list[Link]:
        return [self._client.link] if self._client.link.wants_to_write else []

    def _patience(self) -> float | None:
        if self._keyboard.is_waiting and self._real.modes is None:
            return _ESCAPE_S
        return None if self._note_until is None else max(0.0, self._note_until - time.monotonic())

    def _read_client(self) -> AttachEnd | None:
        for message in self._client.receive(0):
            match message:
                case messages.Picture() if self._real.modes is None:
                    changed = self._view.apply(message)
                    self._write(self._painter.paint(self._view, changed, clears=message.full))
                    self._client.link.send(messages.PictureReceipt(message.number))
                    self._has_picture = True
                case messages.SideEffectReport():
                    self._tell(message)
                case messages.SizeReport():
                    if (message.columns, message.rows) != (self._painter.columns, self._painter.rows):
                        self._note(f"{message.columns}x{message.rows}, as the window of {message.decided_by} wants it")
                case messages.State():
                    self._meet(message)
                case messages.Output() if self._real.modes is not None:
                    self._real.write_plain(message.data)
                    self._has_picture = True
                case messages.HostNotice():
                    self._note(message.text)
                case messages.Exited():
                    self._exited = message
        if self._exited is None or not self._has_picture:  # a program that dies at once leaves its words nevertheless
            return None
        if not self._only_reads:
            self._client.link.send(messages.EndReceipt())
        lines = self._view.last_lines() if self._real.modes is None else ()  # what it printed itself stays
        return AttachEnd(exited=self._exited, last_lines=lines)

    def _meet(self, state: messages.State) -> None:
        """Draw a terminal that has an emulator; pass the output of one that has none on as it is."""
        self._is_met = True
        if state.emulator == messages.NO_EMULATOR:
            self._real.begin_plain(f"{self._chord} leaves this terminal; the program runs on")
            self._client.link.send(messages.OutputRequest())
        else:
            self._real.end_plain()
            self._title(state.title)

    def _tell(self, happened: messages.SideEffectReport) -> None:
        if self._real.modes is not None:
            return
        if happened.title is not None:
            self._title(happened.title)
        if happened.bells:
            self._write(ansi.BELL)
        for notice in happened.notices:
            self._note(notice)
        for text in happened.copied:
            # Nobody can be asked here, and a program must not fill the clipboard unasked.
            self._note(f"the program wants to copy {len(text)} characters: that is left to the app, which asks first")

    def _pass(self, meant: list[Input]) -> None:
        """Send what was typed, as far as it is for the program."""
        for message in meant:
            if isinstance(message, LeaveKey):
                self._left = AttachEnd(dropped=message.dropped)
                return
            if isinstance(message, KittySupport):
                self._real.begin_kitty()
                continue
            if not isinstance(message, messages.FocusChange | messages.MouseInput):
                self._drop_note()
            if not self._only_reads or isinstance(message, messages.ScrollRequest | messages.FocusChange):
                self._client.link.send(message)

    def _pass_plain(self, data: bytes) -> None:
        """Send what was typed as it is, up to the key that leaves."""
        data, leave = self._keyboard.split(data)
        if not self._real.has_answered and (answer := _KITTY_ANSWER.search(data)):
            self._real.has_answered = True  # it is ours; the next one is for a question of the program's
            data = data[: answer.start()] + data[answer.end() :]
        if data and not self._only_reads:
            self._client.link.send(messages.TextInput(data))
        if leave is not None:
            self._left = AttachEnd(dropped=leave.dropped)

    def _resize(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._changes.recv(_CHUNK):
                pass
        size = size_of(_STDOUT)
        if (size.columns, size.rows) != (self._painter.columns, self._painter.rows):
            self._painter.columns, self._painter.rows = size.columns, size.rows
            self._keyboard.page = max(1, size.rows - 1)
            self._client.link.send(messages.WindowSize(size.columns, size.rows))
            self._client.link.send(messages.RefreshRequest())

    def _title(self, title: str) -> None:
        if self._real.modes is None:
            self._write(ansi.title(f"{title or self._label} ({self._chord} leaves)"))

    def _note(self, text: str) -> None:
        if self._real.modes is not None:  # the whole screen is the program's
            return
        self._painter.note = text
        self._note_until = time.monotonic() + _NOTE_S
        self._write(self._painter.paint(self._view, (), clears=False))

    def _drop_note(self, now: float | None = None) -> None:
        if self._real.modes is not None:
            self._note_until = None
        elif self._note_until is not None and (now is None or now >= self._note_until):
            self._note_until = None
            self._write(self._painter.clear_note(self._view))


def _unread() -> int:
    """Return how many bytes were typed that nobody has read; giving the terminal back throws them away."""
    with contextlib.suppress(OSError):
        return int(struct.unpack("i", fcntl.ioctl(_STDIN, termios.FIONREAD, b"\0" * 4))[0])
    return 0


@contextlib.contextmanager
def _raw() -> Iterator[None]:
    before = termios.tcgetattr(_STDIN)
    tty.setraw(_STDIN)
    try:
        yield
    finally:
        termios.tcsetattr(_STDIN, termios.TCSAFLUSH, before)


@contextlib.contextmanager
def _window_changes() -> Iterator[socket.socket]:
    """Yield a socket that can be read whenever the window's size has changed."""
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    before = signal.signal(signal.SIGWINCH, lambda *_: None)
    descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(descriptor)
        signal.signal(signal.SIGWINCH, before)
        reader.close()
        writer.close()
