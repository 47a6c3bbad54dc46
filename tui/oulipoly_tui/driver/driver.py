"""The app's end of the real terminal, on the event loop: no thread stands between a key and us, or us and the screen.

Textual reads keys in one thread and writes pictures in another. Each of them has to be woken and then wait for the
interpreter, which is most of the time from a key to the screen; and the reader wakes ten times a second for nothing.
Here both descriptors are our own, opened anew and never blocking: those that we were started with are shared with the
shell, and making them non-blocking would change its terminal too.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import select
import signal
import sys
import termios
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import constants, events
from textual.app import App
from textual.keys import Keys

from oulipoly_tui.driver.pastes import BEGINS, Pastes
from oulipoly_tui.driver.typeahead import KeysInTurn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual._xterm_parser import XTermParser
    from textual.drivers.linux_driver import LinuxDriver
    from textual.message import Message
    from textual.widget import Widget
else:
    try:
        from textual._xterm_parser import XTermParser
        from textual.drivers.linux_driver import LinuxDriver
    except ImportError:  # a Textual that keeps them elsewhere has the terminal for itself
        from textual.driver import Driver as LinuxDriver

        XTermParser = object

_CHUNK = 4096
_STDOUT = 1
_OURS = os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
_WAITING_LIMIT = 128 << 10  # bytes that a slow terminal may leave with us before the app waits for it
_PARTING_S = 2.0  # for a terminal that does not read to take what restores it
# What is used below and is not promised to us; a Textual without any of it has the terminal for itself.
_OF_DRIVERS = ("run_input_thread", "disable_input", "close", "write", "flush", "send_message", "process_message")
_OF_EACH_DRIVER = ("_app", "_debug", "_loop", "_key_thread", "_auto_restart", "_must_signal_resume", "fileno")
_OF_EACH_APP = ("_context", "_exit", "_thread_id")
# A whole sequence; not what a mouse or a mode's report begins with, nor the keys of Linux' own console (`ESC [ [ A`).
_WHOLE = re.compile(r"\x1b\[(?!M|<|\[)[0-?]*[ -/]*[@-~]")
_REPORT = re.compile(r"\x1b\[\?[0-9;]*\$y")
_ESC, _CTRL_H, _DEL = "\x1b", "\x08", "\x7f"
_BEGIN_SEQUENCES = ("[", "O")  # behind ESC; not those of reports that nobody asks for, which are keys to us
_MARK_S = 0.5  # for the rest of a mark to come over a slow line; nobody waits for it at a key


def choose() -> type[LinuxDriver] | None:
    """Return the driver for where we are; None where Textual's own knows better."""
    ends = (sys.__stdin__, sys.__stdout__)
    if sys.platform == "linux" and _can_drive() and all(end is not None and os.isatty(end.fileno()) for end in ends):
        return LoopDriver
    return None  # the event loops of other systems know terminals less well


class _Sequences(XTermParser):
    """Textual's parser, which types a sequence that it does not know as if each of its letters were a command.

    It also keeps Alt with few keys, and types others for some: a circumflex, or what Option types on a Mac. Here every
    key with Alt is one of its own, and has in `character` what the terminal sent, which is nothing to print; so whoever
    passes keys on can pass on just that.
    """

    erases_by_control_h = False  # the terminal's backspace, as its line discipline has it
    _is_after_escape = False

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if sequence == _CTRL_H and self.erases_by_control_h:
            return [events.Key(Keys.Backspace.value, _DEL)]
        if sequence == _ESC:  # of a sequence that another one cut short: its letters come now, one by one
            self._is_after_escape = True
            return []
        alt, self._is_after_escape = alt or self._is_after_escape, False
        keys: list[events.Key] = []
        with contextlib.suppress(ValueError, OverflowError):  # a number that is none, or is not a character's
            if alt and len(sequence) == 1:
                keys = [self._with_alt(_ESC + sequence)]
            elif len(sequence) == 2 and sequence[0] == _ESC and sequence[1] not in _BEGIN_SEQUENCES:
                keys = [self._with_alt(sequence)]
            else:
                keys = list(super()._sequence_to_key_events(sequence))
        if not keys and _WHOLE.fullmatch(sequence) and not _REPORT.fullmatch(sequence):
            keys = [events.Key(Keys.Ignore, sequence)]
        return keys

    def _with_alt(self, sequence: str) -> events.Key:
        """Return the key that an ESC and one more letter are, under Textual's own name where it has one."""
        own = list(super()._sequence_to_key_events(sequence))
        if own and own[0].character is None:  # alt+f, as Textual's fields for text know it: by a word
            return events.Key(own[0].key, sequence)
        *modifiers, name = next(iter(super()._sequence_to_key_events(sequence[1]))).key.split("+")
        if len(name) == 1 and name.isupper():
            modifiers, name = [*modifiers, "shift"], name.lower()
        return events.Key("+".join((*sorted({"alt", *modifiers}), name)), sequence)


def _can_drive() -> bool:
    return XTermParser is not object and all(hasattr(LinuxDriver, name) for name in _OF_DRIVERS)


class LoopDriver(LinuxDriver):
    """Reads and writes the terminal in the event loop's thread; where that cannot be done, as Textual does."""

    _may_read_and_write = False

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._may_read_and_write = (
            all(hasattr(self, name) for name in _OF_EACH_DRIVER)
            and all(hasattr(app, name) for name in _OF_EACH_APP)
            and hasattr(XTermParser(debug), "_timeout_time")
        )
        self._from: int | None = None  # our own descriptors, while in application mode
        self._to: int | None = None
        self._waiting = bytearray()
        self._is_flush_due = self._is_writer_watched = False
        self._is_hasty = False
        self._parser: XTermParser | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._tick: asyncio.TimerHandle | None = None
        self._pastes = Pastes()
        self.read_at = 0.0  # when a key or the mouse came last, in monotonic seconds

    def start_application_mode(self) -> None:
        """Open the terminal for ourselves, then do as Textual does."""
        if self._may_read_and_write:
            self._open()
        self._key_thread = None  # stays so if we are in the background and may not begin
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._from is not None and self._key_thread is not None:
            self._parser, self._pastes = self._new_parser(), Pastes()
            self._loop.add_reader(self._from, self._read)

    def run_input_thread(self) -> None:
        """End at once: the loop reads. Without a descriptor of our own the thread does."""
        if self._from is None:
            super().run_input_thread()

    def disable_input(self) -> None:
        """Read no more."""
        if self._from is not None:
            self._loop.remove_reader(self._from)
            if self._tick is not None:
                self._tick.cancel()
        super().disable_input()

    def wait_no_more(self) -> None:
        """Let the app end although its terminal does not read; may be called by a signal's handler."""
        self._is_hasty = True

    def close(self) -> None:
        """Write what waits, and give our descriptors back."""
        super().close()
        if self._to is not None:
            self._write_until(0, time.monotonic() + _PARTING_S)
            self._unwatch_writer()
            os.close(self._to)
            self._to = None
            self._waiting.clear()
        if self._from is not None:
            os.close(self._from)
            self._from = None

    def _sigtstp_application(self, *_: object) -> None:
        """Stop in the loop's turn.

        A handler runs between any two steps of ours, also in the midst of another's work at the same descriptors: a
        stop while the app went on from one before would leave half of each.
        """
        if not self._may_read_and_write:
            super()._sigtstp_application()
        elif self._is_ours_to_restart():
            self._loop.call_soon_threadsafe(self._stop)
        else:  # an editor has the terminal, and stops with us: the loop waits for it
            os.kill(os.getpid(), signal.SIGSTOP)

    def _sigcont_application(self, *_: object) -> None:
        """Go on after a stop, in the loop's turn."""
        if not self._may_read_and_write:
            super()._sigcont_application()
        elif self._is_ours_to_restart():
            self._loop.call_soon_threadsafe(self._go_on)

    def _is_ours_to_restart(self) -> bool:
        return self._auto_restart and not self._loop.is_closed()

    def _stop(self) -> None:
        if not self._app._exit:
            with self._app._context():
                super()._sigtstp_application()

    def _go_on(self) -> None:
        """Take the terminal again.

        The kernel sends the signal also when the terminal has gone away, with the one that ends us; to begin again then
        would leave threads that nobody ends. And a stop that came unheard (SIGSTOP) has left all as it was.
        """
        if self._app._exit or not self._is_there():
            return
        with self._app._context():
            if not self._must_signal_resume:
                self.suspend_application_mode()
            self.resume_application_mode()
            self._app.refresh(layout=True)  # its picture has gone; a size that is the same draws none

    def _is_there(self) -> bool:
        try:
            termios.tcgetattr(self.fileno)
        except termios.error:
            return False
        return True

    def _open(self) -> None:
        if self._from is not None:
            return  # by a start that ended in the background
        try:
            self._from = os.open(os.ttyname(self.fileno), os.O_RDONLY | _OURS)
            self._to = os.open(os.ttyname(_STDOUT), os.O_WRONLY | _OURS)
        except OSError:  # a terminal from outside our container has no name here
            if self._from is not None:
                os.close(self._from)
                self._from = None

    # Keys ------------------------------------------------------------------------------------------------------------
    def _read(self) -> None:
        parser, descriptor = self._parser, self._from
        if parser is None or descriptor is None:
            return
        self.read_at = time.monotonic()
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:  # the terminal is gone; the signal that says so ends us
            self._loop.remove_reader(descriptor)
            return
        text = self._decode(data)
        # Where there is nothing yet of a split character, nothing is fed: the parser would take that for the end.
        if text and not (len(text) == 1 and self._was_taken_as_it_is(text, parser)):
            ready = self._pastes.feed(text)
            if ready:
                self._hand_on(partial(parser.feed, ready))

    def _new_parser(self) -> XTermParser:
        parser = _Sequences(self._debug)
        with contextlib.suppress(termios.error):
            parser.erases_by_control_h = termios.tcgetattr(self.fileno)[6][termios.VERASE] == _CTRL_H.encode()
        return parser

    def _was_taken_as_it_is(self, text: str, parser: XTermParser) -> bool:
        """Give a letter or a digit to the focused widget without the parser, if that is between two keys anyway."""
        if not (text.isascii() and text.isalnum()) or self._pastes.is_within or parser._timeout_time is not None:
            return False
        with self._app._context():
            was_taken = self._was_taken(events.Key(text, text))
        if was_taken:
            self._pastes.forget()
        return was_taken

    def _mind_timeout(self, parser: XTermParser) -> None:
        """Come back for what may be the Escape key or the beginning of something longer."""
        if self._tick is not None:
            self._tick.cancel()
        self._tick = None
        if parser._timeout_time is not None:
            delay = max(constants.ESCAPE_DELAY, _MARK_S) if self._pastes.is_beginning else constants.ESCAPE_DELAY
            self._tick = self._loop.call_later(delay, self._handle_timeout)

    def _handle_timeout(self) -> None:
        if self._parser is not None:
            self._hand_on(self._parser.tick)
            if self._parser._timeout_time is None:  # what had begun is typed by now
                self._pastes.forget()

    def _hand_on(self, parse: Callable[[], Iterable[Message]]) -> None:
        """Hand on what the parser makes of its input; one that has failed says nothing more, and another takes over."""
        messages: list[Message] = []
        try:
            messages.extend(parse())
        except Exception:  # noqa: BLE001, RUF100 - what a terminal sends must not leave the app deaf
            self._parser = self._new_parser()
            if self._pastes.is_within:  # its text must not be typed
                messages.extend(self._parser.feed(BEGINS))
        with self._app._context():
            for message in messages:
                self.process_message(message)
        if self._parser is not None:
            self._mind_timeout(self._parser)

    def send_message(self, message: Message) -> None:
        """Hand a message to the app, or a key straight to the widget that passes keys on."""
        if self._from is None or threading.get_ident() != self._app._thread_id:
            super().send_message(message)
        elif not (isinstance(message, events.Key) and self._was_taken(message)):
            self._app.post_message(message)

    def _was_taken(self, event: events.Key) -> bool:
        """Give a key to the focused widget if nothing at all is ahead of it, and nobody else may want it.

        The widget does nothing with most keys but send them elsewhere, and so may have them before their turn: it has a
        `take_key(event)`, which is false where the key is not for now, and comes again as an event like any other.
        """
        app = self._app
        if not app.screen_stack or not app.app_focus or not _is_at_rest(app):
            return False
        if isinstance(app, KeysInTurn) and app.must_hand_out(event):  # what is ahead of it is in nobody's queue
            return False
        screen = app.screen
        widget = screen.focused
        take: Callable[[events.Key], bool] | None = getattr(widget, "take_key", None)
        if take is None or widget is None or not _is_at_rest(widget) or screen.maximized is not None:
            return False
        return not _is_wanted_by_others(widget, event.key) and take(event)

    # Pictures --------------------------------------------------------------------------------------------------------
    def write(self, data: str) -> None:
        """Write a text, with all that is written in the same turn of the loop."""
        if self._to is None:
            super().write(data)
            return
        self._waiting += data.encode("utf-8", "backslashreplace")
        if not self._is_flush_due:
            self._is_flush_due = True
            if threading.get_ident() == self._app._thread_id:
                self._loop.call_soon(self.flush)
            else:
                self._loop.call_soon_threadsafe(self.flush)

    def flush(self) -> None:
        """Write what waits, as far as the terminal takes it now."""
        self._is_flush_due = False
        if self._to is None:
            super().flush()
            return
        self._write_now()
        if len(self._waiting) > _WAITING_LIMIT:
            self._write_until(_WAITING_LIMIT, None)
        if self._waiting and not self._is_writer_watched:
            self._is_writer_watched = True
            self._loop.add_writer(self._to, self.flush)
        elif not self._waiting:
            self._unwatch_writer()

    def _unwatch_writer(self) -> None:
        if self._is_writer_watched and self._to is not None:
            self._is_writer_watched = False
            self._loop.remove_writer(self._to)

    def _write_now(self) -> None:
        if self._to is None or not self._waiting:
            return
        try:
            del self._waiting[: os.write(self._to, self._waiting)]
        except BlockingIOError:
            pass
        except OSError:  # the terminal is gone
            self._waiting.clear()

    def _write_until(self, most: int, deadline: float | None) -> None:
        """Wait for the terminal to read all but so much."""
        poll = select.poll()
        if self._to is not None:
            poll.register(self._to, select.POLLOUT)
        while len(self._waiting) > most and (not self._is_hasty if deadline is None else time.monotonic() < deadline):
            with contextlib.suppress(InterruptedError):
                poll.poll(100)
            self._write_now()


def _is_wanted_by_others(widget: Widget, key: str) -> bool:
    """Return whether a key comes before the focused widget's own ones; a Textual that hides it wants every key."""
    for node in widget.ancestors_with_self:
        table: Any = getattr(getattr(node, "_bindings", None), "key_to_bindings", None)
        if table is None or any(binding.priority for binding in table.get(key, ())):
            return True
    return False


def _is_at_rest(pump: App[object] | Widget) -> bool:
    """Return whether a message pump waits for its next message: nothing is in its queue, and nothing in its hands.

    A Textual that keeps its queues otherwise has no pump at rest, and every key goes its ordinary way.
    """
    queue: Any = getattr(pump, "_message_queue", None)
    ready = getattr(queue, "ready_event", None)
    return bool(getattr(ready, "_waiters", None)) and queue.empty()
