"""The host of one terminal: it holds the child and its PTY, and forks the process that draws (`screen_process`).

The emulator is native code that hostile output can kill. So nothing native runs here, and whatever happens in the
other process, the child keeps its terminal: the next one is forked, from a dump and the last output. One that hangs is
killed for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
import traceback
from typing import Any, NoReturn, Protocol

from oulipoly_engine.clock import SystemClock, to_text
from oulipoly_engine.host.launcher import trim_log
from oulipoly_engine.host.loop import READ, Loop
from oulipoly_engine.records import Record, replace
from oulipoly_engine.terminal.host.handles import ChildProcess, TerminalHandles
from oulipoly_engine.terminal.host.process_groups import cpu_time_s, end_session, send
from oulipoly_engine.terminal.host.supervisor_link import (
    AliveReport,
    AliveRequest,
    DrainReport,
    DrainRequest,
    EndReport,
    FromScreen,
    TitleReport,
)
from oulipoly_engine.terminal.host.watchdog import Watchdog
from oulipoly_engine.terminal.protocol import messages as wire

_PAUSES_S = (0.0, 0.0, 0.0, 0.2, 1.0, 5.0)  # before the next start, by deaths in a row
_PARTING_S = 1.0  # for the screen's process to say goodbye
_DRAINING_S = 1.0  # for the screen's process to read what the ended child printed last
_LOOK_S = 2.0  # between two looks at what a running child leaves to be found
_TAIL = 8 << 10  # bytes of output that the record of the end is given: the words with which a program leaves
_CHUNK = 64 << 10
_ENDING = (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGKILL)
_IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE)


class Recorder(Protocol):
    """Records what the child was and how it ended."""

    looks: bool  # whether `look` is to be called at all

    def look(self, pid: int) -> str | None:
        """Look at the files of the running child; called every few seconds.

        Returns the session that it has open; None when that is not known.
        """

    def end(self, exited: wire.Exited, tail: bytes) -> None:
        """Record the end. tail: the last of what the child printed."""

    def follow_up(self) -> None:
        """Do what is left to do once the end is recorded and told."""


class _Screen(Record, frozen=False):
    """The forked process."""

    pid: int
    control: socket.socket
    decoder: wire.Decoder
    started_at: float
    watchdog: Watchdog
    has_hung: bool = False


class Host:
    """The supervisor's loop."""

    def __init__(self, handles: TerminalHandles, child: ChildProcess, recorder: Recorder) -> None:
        self._handles = handles
        self._child = child
        self._recorder = recorder
        self._terminal = handles.terminal
        self._loop = Loop()
        self._screen: _Screen | None = None
        self._deaths = 0
        self._start_at: float | None = 0.0
        self._manner = "died"
        self._exited: wire.Exited | None = None
        self._record_at: float | None = None  # the child has ended, and its last words are being read
        self._look_at: float | None = 0.0 if recorder.looks else None
        self._kill_at: float | None = None
        self._last_signal: int | None = None  # the last signal that a user has sent it
        self._must_end = False
        self._is_done = False

    def run(self) -> None:
        """Hold the terminal until it is over."""
        self._loop.take_signals(ignored=_IGNORED, on_term=self._end_on_signal)
        self._look_at_child()  # it may have ended before anybody listened
        while not self._is_done:
            timeout = self._do_due(time.monotonic())
            if self._is_done:
                break
            self._loop.turn(timeout)
            self._look_at_child()
            self._look_at_screen()
        self._close()

    # The child -------------------------------------------------------------------------------------------------------
    def _look_at_child(self) -> None:
        if self._exited is not None:
            return
        code = self._child.poll()
        if code is None:
            return
        self._exited = wire.Exited(code, self._child.killed_by, self._end_signal(code))
        self._kill_at = None
        self._look_at = None
        send(self._child, signal.SIGHUP)  # whoever is left of its group, as when a window is closed
        if self._screen is None:
            self._record(self._exited)
        else:
            self._record_at = time.monotonic() + _DRAINING_S
            self._send(DrainRequest())

    def _record(self, exited: wire.Exited) -> None:
        """Record the child's end, and tell the clients after that, so that they find it recorded."""
        self._record_at = None
        ended_at = to_text(SystemClock().now())
        crash_buffer = self._handles.crash_buffer
        try:
            self._recorder.end(exited, crash_buffer.output_since(max(0, crash_buffer.total - _TAIL))[0])
        except Exception:  # a border: the terminal's end must be told even if it cannot be recorded
            _log("the end of the program could not be recorded:")
            traceback.print_exc()
        # Only now: of a host that is killed before it, the next one to look records the end.
        self._describe(exit_code=exited.code, ended_at=ended_at)
        self._send(exited)
        if self._must_end:
            self._is_done = True
            return
        try:
            self._recorder.follow_up()
        except Exception:  # a border: it is over, whatever fails now
            _log("what follows the program's end has failed:")
            traceback.print_exc()

    def _look(self, now: float) -> float:
        self._look_at = now + _LOOK_S
        try:
            session = self._recorder.look(self._child.pid)
        except Exception:  # a border: the program runs on, whatever is wrong with what it leaves lying about
            _log("what the program leaves to be found cannot be read, and is not looked at any more:")
            traceback.print_exc()
            self._look_at = session = None
        if session is not None and session != self._terminal.session_id:
            self._describe(session_id=session)
        return _LOOK_S

    def _kill(self, number: int) -> None:
        if self._exited is not None:
            return
        self._last_signal = number or signal.SIGHUP
        if number:
            send(self._child, number)
            return
        send(self._child, signal.SIGHUP)
        send(self._child, signal.SIGCONT)
        self._kill_at = self._kill_at or time.monotonic() + self._handles.rules.grace_s

    def _end_signal(self, code: int) -> int | None:
        """Return the signal for which it has ended: one that ends a program, or one that its exit code tells of."""
        if self._last_signal in _ENDING or (self._last_signal is not None and code == 128 + self._last_signal):
            return self._last_signal
        return None

    def _end_on_signal(self, *_: object) -> None:
        """End the child and this host, even if no user has seen the end: the machine may be shutting down."""
        self._must_end = True
        if self._exited is not None and self._record_at is None:
            self._is_done = True
        self._kill(0)

    # The screen's process --------------------------------------------------------------------------------------------
    def _start_screen(self, now: float) -> None:
        trim_log()
        our_end, their_end = socket.socketpair()
        try:
            pid = os.fork()
        except OSError as error:
            _log(f"cannot fork: {error}")
            our_end.close()
            their_end.close()
            self._start_at = now + 1.0
            return
        if pid == 0:
            our_end.close()
            self._be_screen(their_end)
        their_end.close()
        our_end.setblocking(False)
        self._screen = _Screen(pid, our_end, wire.Decoder(FromScreen), now, self._new_watchdog(now))
        self._loop.watch(our_end, READ, self._read_screen)
        self._start_at = None
        self._send(AliveRequest())
        self._describe(screen_pid=pid)

    def _new_watchdog(self, now: float) -> Watchdog:
        rules = self._handles.rules
        return Watchdog(now, looping_s=rules.looping_s, silent_s=rules.silent_s)

    def _be_screen(self, control: socket.socket) -> NoReturn:
        """Go on as the screen's process. Never returns."""
        code = 1
        try:
            self._loop.close()
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            from oulipoly_engine.terminal.host import screen_process  # noqa: PLC0415 - the emulator stays out of the supervisor

            screen_process.serve(
                replace(self._handles, terminal=self._terminal),
                control,
                deaths=self._deaths,
                exited=self._exited,
                limits_size=self._handles.crash_buffer.size,
                manner=self._manner,
            )
            code = 0
        except BaseException:  # noqa: BLE001, RUF100 - a fork's border: nothing may run on into the supervisor's code
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _look_at_screen(self) -> None:
        screen = self._screen
        if screen is None:
            return
        try:
            pid, status = os.waitpid(screen.pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = screen.pid, 0
        if pid == 0:
            return
        self._read_screen()  # what it said last
        self._loop.forget(screen.control)
        screen.control.close()
        self._screen = None
        if self._record_at is not None and self._exited is not None:
            self._record(self._exited)
        if self._is_done:
            return
        now = time.monotonic()
        self._manner = "hung" if screen.has_hung else "died"
        # One that hung has lived until it last answered, however long it took us to be sure.
        lived = (
            (screen.watchdog.answered_at or screen.started_at) - screen.started_at
            if screen.has_hung
            else now - screen.started_at
        )
        self._deaths = self._deaths + 1 if lived < self._handles.rules.quick_s else 1
        self._start_at = now + _PAUSES_S[min(self._deaths, len(_PAUSES_S) - 1)]
        _log(f"the screen's process ended with {os.waitstatus_to_exitcode(status)}, death {self._deaths} in a row")

    def _read_screen(self) -> None:
        if self._screen is None:
            return
        try:
            data = self._screen.control.recv(_CHUNK)
            messages = self._screen.decoder.feed(data)
        except (OSError, wire.WireBroken):
            return
        if not data:
            self._loop.forget(self._screen.control)
        for message in messages:
            match message:
                case TitleReport():
                    self._describe(title=message.title)
                case wire.Kill():
                    self._kill(message.signal)
                case AliveReport():
                    self._screen.watchdog.take_answer(time.monotonic())
                case DrainReport() if self._record_at is not None and self._exited is not None:
                    self._record(self._exited)
                case EndReport():
                    self._is_done = True

    def _send(self, message: wire.Message) -> None:
        if self._screen is not None:
            with contextlib.suppress(OSError):
                self._screen.control.send(wire.encode(message))

    def _check_screen(self, screen: _Screen, now: float) -> float:
        """Ask whether the screen's process hangs, and kill it if it does; returns when to look again."""
        if screen.has_hung:
            return screen.watchdog.wait(now)
        if screen.watchdog.must_ask(now):
            self._send(AliveRequest())
        elif screen.watchdog.hangs(now, lambda: cpu_time_s(screen.pid)):
            _log("the screen's process hangs, and is killed")
            screen.has_hung = True
            os.kill(screen.pid, signal.SIGKILL)
        return screen.watchdog.wait(now)

    # Time, and the end -----------------------------------------------------------------------------------------------
    def _do_due(self, now: float) -> float | None:
        waits = []
        if self._screen is not None:
            waits.append(self._check_screen(self._screen, now))
        if self._look_at is not None:
            waits.append(self._look(now) if now >= self._look_at else self._look_at - now)
        if self._record_at is not None and self._exited is not None:
            if now >= self._record_at:
                self._record(self._exited)
            else:
                waits.append(self._record_at - now)
        if self._start_at is not None:
            if now >= self._start_at:
                self._start_screen(now)
            if self._start_at is not None:
                waits.append(max(0.0, self._start_at - now))
        if self._kill_at is not None:
            if now >= self._kill_at:
                end_session(self._child)
                self._kill_at = now + self._handles.rules.grace_s
            waits.append(self._kill_at - now)
        return min(waits, default=None)

    def _close(self) -> None:
        if self._screen is not None:
            self._send(wire.Bye("the terminal's host was told to end"))
            self._reap(self._screen.pid, time.monotonic() + _PARTING_S)
        self._child.close()
        self._handles.place.remove()

    def _reap(self, pid: int, deadline: float) -> None:
        with contextlib.suppress(ChildProcessError):
            while time.monotonic() < deadline:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    return
                time.sleep(0.005)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _describe(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of a Terminal
        self._terminal = replace(self._terminal, **changes)
        try:
            self._handles.place.describe(self._terminal)
        except OSError as error:  # a full disk: the terminal itself works on
            _log(f"cannot describe the terminal: {error}")


def _log(text: str) -> None:
    sys.stderr.write(f"{to_text(SystemClock().now())} {text}\n")
    sys.stderr.flush()
