"""The screen process of a terminal: it reads the child's output, draws, serves clients, and may die at any moment.

One thread, one selector. It is forked by the supervisor (`host`), which holds the same descriptors and forks the next
one. Nothing in here waits for anybody: not for the child to read, not for a client.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time
from collections import deque

from oulipoly_engine.host.peer_credentials import is_same_user
from oulipoly_engine.terminal.emulators.ghostty.repeats import cut_at_repeats
from oulipoly_engine.terminal.host.client_connection import ClientConnection
from oulipoly_engine.terminal.host.clients import send_output
from oulipoly_engine.terminal.host.handles import TerminalHandles
from oulipoly_engine.terminal.host.process_groups import send
from oulipoly_engine.terminal.host.requests import RequestHandler
from oulipoly_engine.terminal.host.restore import restore_screen
from oulipoly_engine.terminal.host.supervisor_link import (
    AliveReport,
    AliveRequest,
    DrainReport,
    DrainRequest,
    EndReport,
    FromSupervisor,
    TitleReport,
)
from oulipoly_engine.terminal.host.watchdog import SlowOutput
from oulipoly_engine.terminal.protocol import messages

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_MOST_CLIENTS = 64
_CHUNK = 64 << 10
_SHORT = 1 << 10  # bytes: a terminal that has more gives more
_BATCH, _BATCH_S = 256 << 10, 0.003  # bytes and time between two looks at the clients
_PIECE_LEAST, _PIECE_MOST = 1 << 10, 32 << 10  # bytes drawn between two looks at the clock
_FLOOD = 64 << 10  # bytes since the last picture that make a flood
_UNWATCHED_BATCH, _UNWATCHED_PAUSE_S = 64 << 10, 0.02  # 3 MB a second at most while nobody watches, ...
_UNWATCHED_SHARE, _UNWATCHED_MOST_S = (
    20,
    0.2,
)  # ... and a twentieth of the time, which is longer on a busy machine
_UNWATCHED_LEAST = 4 << 10  # bytes at once below which a program that nobody watches is not made to wait
_PTY_RETRY_S = 0.5  # how often a PTY that nobody held open is looked at again: the child may open /dev/tty afresh
_END_PATIENCE_S = 0.25  # for a grandchild that holds the PTY open after the child's end, and may go on printing
_SLOW_CLIENT_S = 2.0  # before a client that has not drawn the last picture is told of the end nevertheless
_QUIET_S = 1.0  # without output or input before a dump is made, ...
_DUMP_OVERDUE = 5  # ... unless it is this many times overdue
_DUMP_SHARE = 100  # a dump that takes 30 ms is made every 3 s at most: a hundredth of the time
_TITLE_S = 1.0


class ScreenProcess:
    """The running loop."""

    def __init__(
        self, handles: TerminalHandles, control: socket.socket, handler: RequestHandler, text: str | None
    ) -> None:
        self._handles = handles
        self._pty = handles.pty
        self._crash_buffer = handles.crash_buffer
        self._handler = handler
        self._control = control
        self._from_supervisor = messages.Decoder(FromSupervisor)
        self._selector = selectors.DefaultSelector()
        self._announced = None if text is None else messages.HostNotice(text, "warning")
        self._undrawn: deque[bytes] = deque()  # of what was read
        self._piece = _PIECE_MOST
        self._slow_output = SlowOutput()
        self._bytes_since_picture = 0
        self._busy_at = time.monotonic()
        self._pty_events = 0
        self._pty_due: float | None = None  # when to look again at a PTY that nobody holds open
        self._rest_until = 0.0  # when to read again what nobody watches
        self._exited_at = 0.0
        self._dumped_at = self._busy_at
        self._dumped_total = -1
        self._dump_pause_s = handles.rules.dump_every_s
        self._title_sent = handles.terminal.title
        self._title_at = 0.0
        self.is_finished = False
        control.setblocking(False)
        self._selector.register(control, READ, self._read_supervisor)
        self._selector.register(handles.listener, READ, self._accept)

    def run(self) -> None:
        """Serve until all is over."""
        while not self.is_finished:
            timeout = self._do_due(time.monotonic())
            if self.is_finished:
                break
            self._watch_pty()
            is_drawing = bool(self._undrawn) and not self._rest_until
            for key, events in self._selector.select(0 if is_drawing else timeout):
                key.data(events)
            if is_drawing:
                self._read_output()

    # The child -------------------------------------------------------------------------------------------------------
    def _watch_pty(self) -> None:
        events = 0
        if self._pty_due is None:
            events = (0 if self._rest_until or self._undrawn else READ) | (
                WRITE if self._handler.pty_writer.is_waiting else 0
            )
        if events == self._pty_events:
            return
        if not events:
            self._selector.unregister(self._pty.fd)
        elif self._pty_events:
            self._selector.modify(self._pty.fd, events, self._serve_pty)
        else:
            self._selector.register(self._pty.fd, events, self._serve_pty)
        self._pty_events = events

    def _serve_pty(self, events: int) -> None:
        if events & WRITE:
            self._handler.pty_writer.flush()
        if events & READ:
            self._read_output()

    def _read_output(self) -> int:
        """Read and draw what is there, within a budget of bytes and time, and return how much it was.

        A flood that nobody watches waits for us, as in any slow terminal: ten of them at full speed would leave the
        terminal that is watched, and the app, a tenth of the machine.
        """
        started = time.monotonic()
        is_watched = self._handler.clients.is_watched(started)
        if not self._undrawn:
            self._undrawn = cut_at_repeats(self._read_pty(started, _BATCH if is_watched else _UNWATCHED_BATCH))
        size, drawing_since = 0, time.monotonic()
        while self._undrawn:
            size += self._draw_piece()
            if time.monotonic() - drawing_since > _BATCH_S:
                break
        if size:
            self._note_output(size)
        if size > _UNWATCHED_LEAST and not is_watched:
            duration = time.monotonic() - started
            self._rest_until = started + min(_UNWATCHED_MOST_S, max(_UNWATCHED_PAUSE_S, _UNWATCHED_SHARE * duration))
        return size

    def _read_pty(self, started: float, most: int) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while size < most:
            data = self._pty.read(_CHUNK)
            if data is None:
                break
            if not data:
                self._pty_due = started + _PTY_RETRY_S
                self._handler.pty_writer.clear()
                break
            self._crash_buffer.append(data)  # before it is drawn: drawing may kill us
            pieces.append(data)
            size += len(data)
            if len(data) < _SHORT:
                break  # it was all; if not, we are told
            if time.monotonic() - started > _BATCH_S:
                break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _draw_piece(self) -> int:
        data = self._undrawn.popleft()
        if len(data) > self._piece:
            self._undrawn.appendleft(data[self._piece :])
            data = data[: self._piece]
        cpu_s = time.thread_time()
        self._handler.take_output(data)
        cpu_s = time.thread_time() - cpu_s
        self._slow_output.add(cpu_s, len(data))
        if cpu_s > _BATCH_S:  # a slow emulator gets less at once
            self._piece = max(_PIECE_LEAST, self._piece // 2)
        elif len(data) == self._piece:
            self._piece = min(_PIECE_MOST, self._piece * 2)
        return len(data)

    def _note_output(self, size: int) -> None:
        self._handler.answer_output()
        now = time.monotonic()
        self._bytes_since_picture += size
        self._busy_at = now
        self._handler.clients.mark_active(now)
        if any(self._handler.clients.watchers) and self._slow_output.must_tell(now):
            text = "the program floods this terminal with what takes long to draw: keys and pictures may come late"
            self._handler.clients.broadcast(messages.HostNotice(text, "warning"))

    # Clients ---------------------------------------------------------------------------------------------------------
    def _accept(self, _events: int) -> None:
        try:
            connection, _ = self._handles.listener.accept()
        except OSError:
            return
        connections = self._handler.clients.connections
        if not is_same_user(connection) or len(connections) >= _MOST_CLIENTS:
            connection.close()
            return
        client = ClientConnection(connection)
        connections.append(client)
        client.watched = READ
        self._selector.register(connection, READ, lambda events: self._serve(client, events))

    def _serve(self, client: ClientConnection, events: int) -> None:
        if events & WRITE:
            client.flush()
        if events & READ and not client.closing:
            self._read_client(client)
        if client.closing:
            self._drop(client)

    def _read_client(self, client: ClientConnection) -> None:
        try:
            for message in client.receive():
                self._handler.handle(message, client)
                if client.closing:
                    break
                if isinstance(message, messages.Hello) and self._announced is not None:
                    client.send(self._announced)
            self._busy_at = time.monotonic()
        except EOFError:
            self._drop(client)
        except messages.WireBroken as error:
            self._drop(client, str(error))

    def _drop(self, client: ClientConnection, text: str | None = None) -> None:
        if client not in self._handler.clients.connections:
            return
        self._handler.clients.connections.remove(client)
        self._selector.unregister(client.connection)
        client.close(text)
        self._handler.drop_client(client)

    def _watch_clients(self) -> None:
        for client in list(self._handler.clients.connections):
            if client.closing:
                self._drop(client)
                continue
            events = (0 if client.is_clogged else READ) | (WRITE if client.has_unsent else 0)
            if events != client.watched:
                self._selector.modify(client.connection, events, self._selector.get_key(client.connection).data)
                client.watched = events

    # The supervisor --------------------------------------------------------------------------------------------------
    def _read_supervisor(self, _events: int) -> None:
        try:
            data = self._control.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end_without_supervisor()
            return
        for message in self._from_supervisor.feed(data):
            match message:
                case AliveRequest():
                    self.send_to_supervisor(AliveReport())
                case DrainRequest():
                    self._read_remaining_output()
                    self.send_to_supervisor(DrainReport())
                case messages.Exited():
                    self.take_exit(message)
                case messages.Bye():
                    self._say_goodbye(message.text)

    def take_exit(self, exited: messages.Exited) -> None:
        """Note the child's end, and read what it printed last."""
        self._handler.exited = exited
        self._exited_at = time.monotonic()
        self._read_remaining_output()

    def _read_remaining_output(self) -> None:
        until = time.monotonic() + _END_PATIENCE_S
        while self._pty_due is None and time.monotonic() < until and self._read_output():
            pass

    def send_to_supervisor(self, message: messages.Message) -> None:
        """Send the supervisor a message; without one, nobody needs it."""
        with contextlib.suppress(OSError):
            self._control.send(messages.encode(message))

    def _end_without_supervisor(self) -> None:
        """End the child, which nobody can wait for any more, and say so: the supervisor was killed."""
        text = "the process that held this terminal was killed; the program in it is being ended"
        self._handler.clients.broadcast(messages.HostNotice(text, "error"))
        for number in (signal.SIGHUP, signal.SIGKILL):
            send(self._pty, number)
            send(self._pty, signal.SIGCONT)
            if self._ends_within(self._handles.rules.grace_s):
                break
        self._say_goodbye(text)
        # The description stays for whoever looks next: it says that there was something, and what became of it.
        with contextlib.suppress(OSError):
            self._handles.place.socket.unlink()

    def _say_goodbye(self, text: str) -> None:
        for client in list(self._handler.clients.connections):
            self._drop(client, text)
        self.is_finished = True

    def _ends_within(self, patience_s: float) -> bool:
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            while self._pty.read(_CHUNK):
                pass  # a full terminal would keep it from ending
            try:
                os.kill(self._pty.pid, 0)
            except OSError:
                return True
            time.sleep(0.02)
        return False

    # What is due -----------------------------------------------------------------------------------------------------
    def _do_due(self, now: float) -> float | None:
        """Do what is due and return for how many seconds to wait."""
        handler = self._handler
        send_output(handler.clients.connections, self._crash_buffer)
        waits = [handler.fit_size(now)]
        if self._pty_due is not None:
            waits.append(self._look_at_pty(now))
        if self._rest_until:
            self._rest_until = self._rest_until if now < self._rest_until else 0.0
            waits.append(self._rest_until - now if self._rest_until else None)
        was_owed = handler.changed
        handler.changed, wait = handler.clients.send_pictures(
            handler.screen, now, changed=handler.changed, flooding=self._bytes_since_picture > _FLOOD
        )
        if was_owed and not handler.changed:
            self._bytes_since_picture = 0
        waits += [wait, self._send_title(now), self._dump(now), self._end(now)]
        self._watch_clients()
        return min((wait for wait in waits if wait is not None), default=None)

    def _look_at_pty(self, now: float) -> float | None:
        if self._handler.exited is not None:
            return None
        if now >= (self._pty_due or 0):
            self._pty_due = None
            self._read_output()
        return None if self._pty_due is None else max(self._pty_due - now, 0.001)

    def _send_title(self, now: float) -> float | None:
        if self._handler.title == self._title_sent:
            return None
        left = self._title_at + _TITLE_S - now
        if left > 0:
            return left
        self._title_sent, self._title_at = self._handler.title, now
        self.send_to_supervisor(TitleReport(self._handler.title))
        return None

    def _dump(self, now: float) -> float | None:
        """Keep a dump for the next screen process, when the child is quiet or a dump is overdue."""
        if self._crash_buffer.total == self._dumped_total or self._handler.exited is not None:
            return None
        quiet = self._busy_at + _QUIET_S
        due = min(
            max(self._dumped_at + self._dump_pause_s, quiet), self._dumped_at + _DUMP_OVERDUE * self._dump_pause_s
        )
        if now < due:
            return due - now
        self._dumped_total = self._crash_buffer.total
        dump = self._handler.screen.dump()
        if dump:
            self._crash_buffer.keep_dump(dump, undrawn=sum(map(len, self._undrawn)))
        self._dumped_at = time.monotonic()
        self._dump_pause_s = max(self._handles.rules.dump_every_s, (self._dumped_at - now) * _DUMP_SHARE)
        return None

    def _end(self, now: float) -> float | None:
        handler = self._handler
        if handler.exited is None:
            return None
        since = now - self._exited_at
        is_drained = (self._pty_due is not None and not self._undrawn) or since >= _END_PATIENCE_S
        if is_drained:
            handler.clients.send_exit(handler.exited, insist=since >= _SLOW_CLIENT_S, changed=handler.changed)
        left = self._exited_at + self._handles.rules.linger_s - now
        if left <= 0 or (handler.end_seen and not any(client.attached for client in handler.clients.connections)):
            for client in list(handler.clients.connections):
                self._drop(client, "the terminal has ended")
            self.send_to_supervisor(EndReport())
            self.is_finished = True
            return None
        if is_drained and all(client.has_exit for client in handler.clients.connections):
            return left
        return min(left, _END_PATIENCE_S)


def serve(
    handles: TerminalHandles,
    control: socket.socket,
    *,
    deaths: int,
    exited: messages.Exited | None,
    limits_size: tuple[int, int],
    manner: str = "died",
) -> None:
    """Be the screen's process until the terminal is over.

    deaths: how many died in quick succession before this one. exited: the child has ended already. manner: in which
    the last one ended.
    """
    limits = handles.rules.limits
    limits.columns, limits.rows = limits_size

    def alive() -> None:
        with contextlib.suppress(OSError):
            control.send(messages.encode(AliveReport()))

    restored = restore_screen(handles.crash_buffer, limits, deaths, handles.terminal.id, manner=manner, alive=alive)

    def kill(number: int) -> None:
        process.send_to_supervisor(messages.Kill(number))

    handler = RequestHandler(handles, restored.screen, limits_size, kill=kill)
    handler.title = handles.terminal.title
    process = ScreenProcess(handles, control, handler, restored.text)
    if exited is not None:
        process.take_exit(exited)
    process.run()
