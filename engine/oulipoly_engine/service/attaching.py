"""A terminal of ours shown on the real terminal that the user sits at, until the program ends or they leave."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import termios
import time
import tty
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from oulipoly_engine.core import leave_key
from oulipoly_engine.errors import Interrupted
from oulipoly_engine.process.pty import size_of
from oulipoly_engine.process.signals import interruptible
from oulipoly_engine.terminal import paint, wire
from oulipoly_engine.terminal.client import Client, HostGone, Link
from oulipoly_engine.terminal.folder import Terminal
from oulipoly_engine.terminal.keyboard import Keyboard, Leave
from oulipoly_engine.terminal.view import View

_STDIN, _STDOUT = 0, 1
_CHUNK = 64 << 10
_ESCAPE_S = 0.025  # how long a sequence may take to come whole; tmux waits as long for an Escape at most
_NOTE_S = 4.0

Write = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Left:
    """How it ended."""

    exited: wire.Exited | None = None  # the program has ended
    problem: str | None = None  # the host is gone
    # Neither: the user has left, and the program runs on.


def show(client: Client, terminal: Terminal, chord: str, write: Write) -> Left:
    """Show a terminal until it ends or the chord is typed. Stdin and stdout must be a terminal.

    chord: a name of `core.leave_key.BYTES`. write: takes what is to be drawn.
    Raises Interrupted for a signal that ends us; the real terminal is given back first in every case.
    """
    with interruptible() as guard, _raw(), _window_changes() as changes:
        write(paint.ENTER)
        try:
            guard.arm()
            return _Showing(client, terminal, chord, write, changes).run()
        except HostGone as gone:
            return Left(problem=gone.message)
        finally:
            guard.disarm()
            with contextlib.suppress(OSError, Interrupted):
                write(paint.LEAVE)


class _Showing:
    def __init__(self, client: Client, terminal: Terminal, chord: str, write: Write, changes: socket.socket) -> None:
        size = size_of(_STDOUT)
        self._client = client
        self._chord = chord
        self._write = write
        self._changes = changes
        self._label = terminal.label
        self._view = View()
        self._painter = paint.Painter(size.columns, size.rows)
        self._keyboard = Keyboard(leave_key.BYTES[chord])
        self._keyboard.page = max(1, size.rows - 1)
        self._note_until: float | None = None
        self._has_picture = False
        self._exited: wire.Exited | None = None
        client.attach(size.columns, size.rows)
        self._title("")
        self._note(f"{chord} leaves this terminal; the program runs on")

    def run(self) -> Left:
        """Pass pictures and keys until one of them ends it."""
        while True:
            watched: list[int | Link | socket.socket] = [_STDIN, self._client.link, self._changes]
            ready, _, _ = select.select(watched, self._unsent(), [], self._patience())
            if self._changes in ready:
                self._resize()
            if self._client.link in ready:
                ended = self._hear()
                if ended is not None:
                    return ended
            self._client.link.flush()
            if _STDIN in ready:
                data = os.read(_STDIN, _CHUNK)
                if not data or self._pass(self._keyboard.feed(data)):
                    return Left()
            elif not ready:
                if self._keyboard.is_waiting and self._pass(self._keyboard.flush()):
                    return Left()
                self._drop_note(time.monotonic())

    def _unsent(self) -> list[Link]:
        return [self._client.link] if self._client.link.wants_to_write else []

    def _patience(self) -> float | None:
        if self._keyboard.is_waiting:
            return _ESCAPE_S
        return None if self._note_until is None else max(0.0, self._note_until - time.monotonic())

    def _hear(self) -> Left | None:
        for message in self._client.receive(0):
            match message:
                case wire.Picture():
                    changed = self._view.take(message)
                    self._write(self._painter.paint(self._view, changed, afresh=message.full))
                    self._client.link.send(wire.Seen(message.number))
                    self._has_picture = True
                case wire.Happened():
                    self._tell(message)
                case wire.SizeSet():
                    if (message.columns, message.rows) != (self._painter.columns, self._painter.rows):
                        self._note(f"{message.columns}x{message.rows}, as the window of {message.decided_by} wants it")
                case wire.State():
                    self._title(message.title)
                case wire.Said():
                    self._note(message.text)
                case wire.Exited():
                    self._exited = message
        if self._exited is None or not self._has_picture:  # a program that dies at once leaves its words nevertheless
            return None
        self._client.link.send(wire.EndSeen())
        return Left(exited=self._exited)

    def _tell(self, happened: wire.Happened) -> None:
        if happened.title is not None:
            self._title(happened.title)
        if happened.bells:
            self._write(paint.BELL)
        for notice in happened.notices:
            self._note(notice)
        for text in happened.copied:
            # Nobody can be asked here, and a program must not fill the clipboard unasked.
            self._note(f"the program wants to copy {len(text)} characters: that is left to the app, which asks first")

    def _pass(self, meant: list[wire.Message | Leave]) -> bool:
        """Send what was typed; tells whether the user leaves."""
        for message in meant:
            if isinstance(message, Leave):
                return True
            if not isinstance(message, wire.Focused | wire.Pointed):
                self._drop_note()
            self._client.link.send(message)
        return False

    def _resize(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._changes.recv(_CHUNK):
                pass
        size = size_of(_STDOUT)
        if (size.columns, size.rows) != (self._painter.columns, self._painter.rows):
            self._painter.columns, self._painter.rows = size.columns, size.rows
            self._keyboard.page = max(1, size.rows - 1)
            self._client.link.send(wire.Resized(size.columns, size.rows))
            self._client.link.send(wire.Refresh())

    def _title(self, title: str) -> None:
        self._write(paint.titled(f"{title or self._label} ({self._chord} leaves)"))

    def _note(self, text: str) -> None:
        self._painter.note = text
        self._note_until = time.monotonic() + _NOTE_S
        self._write(self._painter.paint(self._view, (), afresh=False))

    def _drop_note(self, now: float | None = None) -> None:
        if self._note_until is not None and (now is None or now >= self._note_until):
            self._note_until = None
            self._write(self._painter.clear_note(self._view))


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
