"""The process of a terminal's screen: it reads the child's output, draws, serves clients, and may die at any moment.

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

from oulipoly_engine.terminal.host.client_connection import ClientSeat
from oulipoly_engine.terminal.host.clients import send_output
from oulipoly_engine.terminal.host.handles import Seat
from oulipoly_engine.terminal.host.process_groups import send
from oulipoly_engine.terminal.host.requests import Stage
from oulipoly_engine.terminal.host.restore import restore_screen
from oulipoly_engine.terminal.host.supervisor_link import Alive, Ask, Done, Drain, Drained, FromSupervisor, Titled
from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.peer_credentials import is_same_user

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_MOST_CLIENTS = 64
_CHUNK = 64 << 10
_SHORT = 1 << 10  # bytes: a terminal that has more gives more
_GULP_LEAST, _GULP_MOST = 4 << 10, 256 << 10  # bytes between two looks at the clients
_GULP_S = 0.003
_FLOOD = 64 << 10  # bytes since the last picture that make a flood
_UNSEEN_GULP, _UNSEEN_PAUSE_S = 64 << 10, 0.02  # 3 MB a second at most while nobody watches, ...
_UNSEEN_SHARE, _UNSEEN_MOST_S = 20, 0.2  # ... and a twentieth of the time: on a machine that is busy it takes longer
_UNSEEN_LEAST = 4 << 10  # bytes at once below which a program that nobody watches is not made to wait
_HELD_LINE_S = 0.5  # how often a line that nobody held is looked at again: the child may open /dev/tty afresh
_END_PATIENCE_S = 0.25  # for a grandchild that holds the line after the child's end, and may go on printing
_SLOW_CLIENT_S = 2.0  # before a client that has not drawn the last picture is told of the end nevertheless
_QUIET_S = 1.0  # without output or input before a dump is made, ...
_DUMP_OVERDUE = 5  # ... unless it is this many times overdue
_DUMP_SHARE = 100  # a dump that takes 30 ms is made every 3 s at most: a hundredth of the time
_TITLE_S = 1.0


class ScreenProcess:
    """The running loop."""

    def __init__(self, seat: Seat, control: socket.socket, stage: Stage, text: str | None) -> None:
        self._seat = seat
        self._line = seat.line
        self._memory = seat.memory
        self._stage = stage
        self._control = control
        self._from_supervisor = messages.Decoder(FromSupervisor)
        self._selector = selectors.DefaultSelector()
        self._announced = None if text is None else messages.Said(text, "warning")
        self._gulp = _GULP_LEAST * 4
        self._since_picture = 0
        self._busy_at = time.monotonic()
        self._line_events = 0
        self._line_due: float | None = None  # when to look again at a line that nobody holds
        self._rest_until = 0.0  # when to read again what nobody watches
        self._exited_at = 0.0
        self._dumped_at = self._busy_at
        self._dumped_total = -1
        self._dump_pause_s = seat.rules.dump_every_s
        self._title_told = seat.terminal.title
        self._title_at = 0.0
        self.finished = False
        control.setblocking(False)
        self._selector.register(control, READ, self._hear_supervisor)
        self._selector.register(seat.listener, READ, self._welcome)

    def run(self) -> None:
        """Serve until all is over."""
        while not self.finished:
            timeout = self._do_due(time.monotonic())
            if self.finished:
                break
            self._watch_line()
            for key, events in self._selector.select(timeout):
                key.data(events)

    # The child -------------------------------------------------------------------------------------------------------
    def _watch_line(self) -> None:
        events = 0
        if self._line_due is None:
            events = (0 if self._rest_until else READ) | (WRITE if self._stage.typist.is_waiting else 0)
        if events == self._line_events:
            return
        if not events:
            self._selector.unregister(self._line.fd)
        elif self._line_events:
            self._selector.modify(self._line.fd, events, self._serve_line)
        else:
            self._selector.register(self._line.fd, events, self._serve_line)
        self._line_events = events

    def _serve_line(self, events: int) -> None:
        if events & WRITE:
            self._stage.typist.flush()
        if events & READ:
            self._drain()

    def _drain(self) -> int:
        """Read what is there, within a budget of bytes and time, draw it, and return how much it was.

        A flood that nobody watches waits for us, as in any slow terminal: ten of them at full speed would leave the
        terminal that is watched, and the app, a tenth of the machine.
        """
        begun = time.monotonic()
        is_watched = self._stage.audience.is_watched(begun)
        most = self._gulp if is_watched else min(self._gulp, _UNSEEN_GULP)
        pieces: list[bytes] = []
        size = 0
        while size < most:
            data = self._line.read(_CHUNK)
            if data is None:
                break
            if not data:
                self._line_due = begun + _HELD_LINE_S
                self._stage.typist.forget()
                break
            self._memory.append(data)  # before it is drawn: drawing may kill us
            pieces.append(data)
            size += len(data)
            if len(data) < _SHORT:
                break  # it was all; if not, we are told
            if time.monotonic() - begun > _GULP_S:
                break
        if size:
            self._draw(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        if size > _UNSEEN_LEAST and not is_watched:
            taken = time.monotonic() - begun
            self._rest_until = begun + min(_UNSEEN_MOST_S, max(_UNSEEN_PAUSE_S, _UNSEEN_SHARE * taken))
        return size

    def _draw(self, data: bytes) -> None:
        begun = time.monotonic()
        self._stage.take_output(data)
        now = time.monotonic()
        if now - begun > _GULP_S:  # a slow emulator gets less at once
            self._gulp = max(_GULP_LEAST, self._gulp // 2)
        elif len(data) >= self._gulp:
            self._gulp = min(_GULP_MOST, self._gulp * 2)
        self._since_picture += len(data)
        self._busy_at = now
        self._stage.audience.mark_active(now)

    # Clients ---------------------------------------------------------------------------------------------------------
    def _welcome(self, _events: int) -> None:
        try:
            connection, _ = self._seat.listener.accept()
        except OSError:
            return
        seats = self._stage.audience.seats
        if not is_same_user(connection) or len(seats) >= _MOST_CLIENTS:
            connection.close()
            return
        client = ClientSeat(connection)
        seats.append(client)
        client.watched = READ
        self._selector.register(connection, READ, lambda events: self._serve(client, events))

    def _serve(self, client: ClientSeat, events: int) -> None:
        if events & WRITE:
            client.flush()
        if events & READ and not client.closing:
            self._hear(client)
        if client.closing:
            self._drop(client)

    def _hear(self, client: ClientSeat) -> None:
        try:
            for message in client.receive():
                self._stage.act(message, client)
                if client.closing:
                    break
                if isinstance(message, messages.Hello) and self._announced is not None:
                    client.send(self._announced)
            self._busy_at = time.monotonic()
        except EOFError:
            self._drop(client)
        except messages.WireBroken as error:
            self._drop(client, str(error))

    def _drop(self, client: ClientSeat, text: str | None = None) -> None:
        if client not in self._stage.audience.seats:
            return
        self._stage.audience.seats.remove(client)
        self._selector.unregister(client.connection)
        client.close(text)
        self._stage.lost(client)

    def _watch_clients(self) -> None:
        for client in list(self._stage.audience.seats):
            if client.closing:
                self._drop(client)
                continue
            events = (0 if client.is_clogged else READ) | (WRITE if client.has_unsent else 0)
            if events != client.watched:
                self._selector.modify(client.connection, events, self._selector.get_key(client.connection).data)
                client.watched = events

    # The supervisor --------------------------------------------------------------------------------------------------
    def _hear_supervisor(self, _events: int) -> None:
        try:
            data = self._control.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end_alone()
            return
        for message in self._from_supervisor.feed(data):
            match message:
                case Ask():
                    self.tell_supervisor(Alive())
                case Drain():
                    self._drain_the_rest()
                    self.tell_supervisor(Drained())
                case messages.Exited():
                    self.take_exit(message)
                case messages.Bye():
                    self._part(message.text)

    def take_exit(self, exited: messages.Exited) -> None:
        """Take the news of the child's end, and what it printed last."""
        self._stage.exited = exited
        self._exited_at = time.monotonic()
        self._drain_the_rest()

    def _drain_the_rest(self) -> None:
        until = time.monotonic() + _END_PATIENCE_S
        while self._line_due is None and time.monotonic() < until and self._drain():
            pass

    def tell_supervisor(self, message: messages.Message) -> None:
        """Send the supervisor a message; without one, nobody needs it."""
        with contextlib.suppress(OSError):
            self._control.send(messages.encode(message))

    def _end_alone(self) -> None:
        """End the child, which nobody can wait for any more, and say so: the supervisor was killed."""
        text = "the process that held this terminal was killed; the program in it is being ended"
        self._stage.audience.broadcast(messages.Said(text, "error"))
        for number in (signal.SIGHUP, signal.SIGKILL):
            send(self._line, number)
            send(self._line, signal.SIGCONT)
            if self._gone_within(self._seat.rules.grace_s):
                break
        self._part(text)
        # The description stays for whoever looks next: it says that there was something, and what became of it.
        with contextlib.suppress(OSError):
            self._seat.place.socket.unlink()

    def _part(self, text: str) -> None:
        for client in list(self._stage.audience.seats):
            self._drop(client, text)
        self.finished = True

    def _gone_within(self, patience_s: float) -> bool:
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            while self._line.read(_CHUNK):
                pass  # a full terminal would keep it from ending
            try:
                os.kill(self._line.pid, 0)
            except OSError:
                return True
            time.sleep(0.02)
        return False

    # What is due -----------------------------------------------------------------------------------------------------
    def _do_due(self, now: float) -> float | None:
        """Do what time brings and return for how long to wait."""
        stage = self._stage
        send_output(stage.audience.seats, self._memory)
        waits = [stage.fit(now)]
        if self._line_due is not None:
            waits.append(self._look_at_line(now))
        if self._rest_until:
            self._rest_until = self._rest_until if now < self._rest_until else 0.0
            waits.append(self._rest_until - now if self._rest_until else None)
        was_owed = stage.changed
        stage.changed, wait = stage.audience.paint(
            stage.screen, now, changed=stage.changed, flooding=self._since_picture > _FLOOD
        )
        if was_owed and not stage.changed:
            self._since_picture = 0
        waits += [wait, self._tell_title(now), self._dump(now), self._end(now)]
        self._watch_clients()
        return min((wait for wait in waits if wait is not None), default=None)

    def _look_at_line(self, now: float) -> float | None:
        if self._stage.exited is not None:
            return None
        if now >= (self._line_due or 0):
            self._line_due = None
            self._drain()
        return None if self._line_due is None else max(self._line_due - now, 0.001)

    def _tell_title(self, now: float) -> float | None:
        if self._stage.title == self._title_told:
            return None
        left = self._title_at + _TITLE_S - now
        if left > 0:
            return left
        self._title_told, self._title_at = self._stage.title, now
        self.tell_supervisor(Titled(self._stage.title))
        return None

    def _dump(self, now: float) -> float | None:
        """Keep the screen for the one who comes after us: when it is quiet, or overdue."""
        if self._memory.total == self._dumped_total or self._stage.exited is not None:
            return None
        quiet = self._busy_at + _QUIET_S
        due = min(
            max(self._dumped_at + self._dump_pause_s, quiet), self._dumped_at + _DUMP_OVERDUE * self._dump_pause_s
        )
        if now < due:
            return due - now
        self._dumped_total = self._memory.total
        dump = self._stage.screen.dump()
        if dump:
            self._memory.keep_dump(dump)
        self._dumped_at = time.monotonic()
        self._dump_pause_s = max(self._seat.rules.dump_every_s, (self._dumped_at - now) * _DUMP_SHARE)
        return None

    def _end(self, now: float) -> float | None:
        stage = self._stage
        if stage.exited is None:
            return None
        since = now - self._exited_at
        is_drained = self._line_due is not None or since >= _END_PATIENCE_S
        if is_drained:
            stage.audience.tell_exit(stage.exited, insist=since >= _SLOW_CLIENT_S, changed=stage.changed)
        left = self._exited_at + self._seat.rules.linger_s - now
        if left <= 0 or (stage.end_seen and not any(seat.attached for seat in stage.audience.seats)):
            for client in list(stage.audience.seats):
                self._drop(client, "the terminal has ended")
            self.tell_supervisor(Done())
            self.finished = True
            return None
        if is_drained and all(seat.exit_told for seat in stage.audience.seats):
            return left
        return min(left, _END_PATIENCE_S)


def serve(
    seat: Seat,
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
    limits = seat.rules.limits
    limits.columns, limits.rows = limits_size

    def alive() -> None:
        with contextlib.suppress(OSError):
            control.send(messages.encode(Alive()))

    restored = restore_screen(seat.memory, limits, deaths, seat.terminal.id, manner=manner, alive=alive)

    def kill(number: int) -> None:
        process.tell_supervisor(messages.Kill(number))

    stage = Stage(seat, restored.screen, limits_size, kill=kill)
    stage.title = seat.terminal.title
    process = ScreenProcess(seat, control, stage, restored.text)
    if exited is not None:
        process.take_exit(exited)
    process.run()
