"""The loop of a live session's host: the CLI's pipes, the clients' sockets, time, and the end.

One thread, but for waiting for the disk, and for keeping the checkout's files. What the CLI says goes through the
driver to `SessionTurns`, which writes it down and tells the clients.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.live import failures, orders
from oulipoly_engine.core.live.events import Notice, Numbered, SessionClosed, SessionFailed
from oulipoly_engine.core.live.requests import TurnInFlight
from oulipoly_engine.core.live.retry import Policy
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.sessions.compaction import Rules
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.text.lines import LineSplitter, Oversized
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.sanitize import readable
from oulipoly_engine.drivers.base import Driver
from oulipoly_engine.errors import RunnerError, SpawnFailed, StoreUnusable
from oulipoly_engine.host import launcher
from oulipoly_engine.host.frames import Bye, Hello, Message, WireBroken
from oulipoly_engine.host.launcher import is_host
from oulipoly_engine.host.loop import READ, WRITE, Loop
from oulipoly_engine.host.peer_credentials import is_same_user
from oulipoly_engine.host.runtime_folder import Listener
from oulipoly_engine.process.liveness import Descendants, end_children, reap_adopted
from oulipoly_engine.process.piped import PipedProcess
from oulipoly_engine.records import Record, asdict
from oulipoly_engine.service.agents.tool_socket import ToolSocket
from oulipoly_engine.service.extensions.session_hooks import GUARDED_ORDERS, HookAnswer, SessionHooks
from oulipoly_engine.service.live.clients import ClientSeat
from oulipoly_engine.service.live.control import Control
from oulipoly_engine.service.live.protocol import COMPACTED, SESSION_ENDS, Answer, Follow, OrderFrame
from oulipoly_engine.service.live.session_log import SessionLog
from oulipoly_engine.service.live.turns import SessionTurns
from oulipoly_engine.service.live.wire.log import WireLog
from oulipoly_engine.service.worktrees.snapshot.keeper import FileKeeper
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_events
from oulipoly_engine.store.runs import invocations

if TYPE_CHECKING:
    from oulipoly_engine.service.agents.limit_watch import LimitWatch

_CHUNK = 64 << 10
_SHOWN_STDERR = 5  # lines of it that tell why the CLI has ended
_LAST_WORDS_S = 10.0  # before that end; what it has said earlier has nothing to do with it
_LINE = 500  # characters of each
_GOODBYE_S = 3.0  # from the end of its stdin to the first signal
_GRACE_S = 2.0  # from TERM to KILL
_INTERRUPT_S = 20.0  # from an interruption to the end of the turn, before the process is ended for it
_WANTED = ("closed", "cancelled", "idle", "finished")  # why a person, or nobody, has ended it; else its turn can go on
_FILES_S = 5.0  # that the end of a process waits for its last turn's files to be kept
_WORKER = "oulipoly_engine.facade.session_worker"
_COMPACTOR_S = 60.0  # that it may take to begin
_FILE_REST_S = 1.0  # between two looks at whether who writes the session file has begun
_MUTE_S = 0.5  # from the end of its stdout to the first signal: mostly it is just ending
_LOOK_S = 2.0  # between two looks at what the CLI has started
_CHECKPOINT_TURNS = 16  # some 30 pages each: well before SQLite brings them into the file while a message waits
_PAGE = 500  # events of a replay at a time
# A message that comes at once has it done in its own sync. Else its writes would wait for the one that goes on: 8 ms on
# a busy disk, as long as the log of the state file grows.
_SYNC_AFTER_S = 0.05
_QUESTIONS = (orders.AskStatus, orders.AskClients, orders.TellMessage)  # by which nothing is taken
_OF_HOST = (orders.AskStatus, orders.AskClients, orders.Close, orders.Cancel)  # that it does itself, to its end


class Limits(Record):
    """How long things may take, in seconds, and how much is kept."""

    startup_s: float = 30.0
    idle_s: float = 1800.0  # 0: for ever
    answer_s: float = 6 * 3600.0  # that a request waits for a person
    stderr_lines: int = 200
    notice_s: float = 60.0  # of a running turn of which nothing is heard, until that is told; then twice that
    compaction: Rules = Rules()
    writes_file: bool = False  # its session file, after each turn
    retry: Policy = Policy()
    turn_silence_s: float = 0.0  # of a running turn that asks nothing and runs no command; 0: any
    turn_s: float = 0.0  # of a turn, from its beginning to its end, whatever it waits for; 0: any

    def idle_left(self, used_at: float, now: float) -> float | None:
        """Return the seconds until a session that nobody uses is closed; 0: it is time; None: it never is."""
        return max(0.0, used_at + self.idle_s - now) if self.idle_s else None


class Host:
    """The loop."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        process: PipedProcess,
        driver: Driver,
        turns: Callable[[Callable[[Numbered], None]], SessionTurns],
        listener: Listener,
        limits: Limits,
        invocation_row: int,
        clean: Callable[[str], str],
        wire_log: WireLog | None = None,
        log: SessionLog | None = None,
        files: FileKeeper | None = None,
        hooks: SessionHooks | None = None,
        tools: ToolSocket | None = None,
        watch: LimitWatch | None = None,
    ) -> None:
        """clean: takes secrets out of what the CLI says at stderr. files, hooks: those that `turns` are given.

        tools: where the CLI of an agent reaches what its capabilities give. watch: of the CLI's limits.
        """
        self._store, self._clock, self._process, self._driver = store, clock, process, driver
        self._listener, self._limits, self._row = listener, limits, invocation_row
        self._clean, self._wire_log = clean, wire_log
        self._log = log
        self._files = files or FileKeeper(None, clock)
        self._hooks = hooks
        self._tools = tools
        self._watch_of_limits = watch
        self.turns = turns(self._tell)
        self._loop = Loop()
        self._lines = LineSplitter(driver.longest_line)
        self._errors: deque[tuple[float, str]] = deque(maxlen=limits.stderr_lines)  # when it was heard, a line
        self._error_lines = LineSplitter(_CHUNK)
        self._clients: dict[int, ClientSeat] = {}
        self._control = Control()
        self._compactor: ClientSeat | None = None  # without whom no summary comes
        self._asked_compactor_at: float | None = None
        self._file_is_due = False  # what a turn has brought is not in the session file yet
        self._file_writer: threading.Thread | None = None
        self._unsent = bytearray()
        self._used_at = self._began_at = time.monotonic()
        self._heard_at = self._began_at  # anything of the CLI
        self._turn_began_at = self._began_at  # or when the last one has ended
        self._told_silence_s = 0.0  # since then
        self._interrupted_at: float | None = None
        self._turns_begun, self._last_turn = 0, ""
        self._turn_was = ""  # at the last look
        self._mute_at = 0.0  # when its stdout was closed
        self._ending: tuple[str, str] | None = None  # reason, message: somebody wanted it to end
        self._ladder: list[tuple[float, Callable[[], None]]] = []
        self._descendants = Descendants(process.pid, is_host)
        self._look_at = 0.0
        self._has_stdout = self._has_stderr = True
        self._is_terminated = self._is_done = False
        self._sync_at: float | None = None  # None: nothing was written that must outlast a power cut

    def run(self) -> None:
        """Serve until the CLI has ended and that is recorded."""
        loop = self._loop
        loop.take_signals(ignored=(signal.SIGHUP, signal.SIGINT, signal.SIGPIPE), on_term=self._take_term)
        loop.watch(self._listener, READ, self._accept)
        if self._tools is not None:
            loop.watch(self._tools.listener, READ, self._tools.accept)
        loop.watch(self._process.stdout, READ, self._read_stdout)
        loop.watch(self._process.stderr, READ, self._read_stderr)
        self._files.wake = loop.wake
        if self._hooks is not None:
            self._hooks.wake = loop.wake
        self._files.ask()
        self.turns.take_over()
        self._driver.begin()
        self._pump()
        while not self._is_done:
            loop.turn(self._do_due(time.monotonic()))
            if self._is_terminated:
                self.end("shutdown", "its host was told to end")
            self._look_at_process()
        self._store.start_sync()
        for client in self._clients.values():
            client.close("the session has ended")
        if self._limits.writes_file:
            self._start_worker("write_file").join(_FILES_S)  # what the CLI has written at its end

    def _take_term(self, *_: object) -> None:
        # Only noted: what runs now may be in the middle of a message.
        self._is_terminated = True

    def end(self, reason: str, message: str, *, at_once: bool = False) -> None:
        """Have the CLI end: its own goodbye first, then signals. at_once: signals first."""
        if self._ending is not None:
            return
        self._ending = reason, message
        self.turns.is_ending = True
        now = time.monotonic()
        self._descendants.look()  # as long as the CLI lives, which tells whose they are
        if not at_once:
            self._driver.closing()
            self._pump()
        self._unsent.clear()
        self._watch_stdin()
        self._process.close_stdin()
        term_at = now if at_once else now + _GOODBYE_S
        self._ladder = [
            (term_at, lambda: self._process.send(signal.SIGTERM)),
            (term_at + _GRACE_S, lambda: self._process.send(signal.SIGKILL)),
        ]

    # The CLI ---------------------------------------------------------------------------------------------------------
    def _read_stdout(self) -> bool:
        """Take what the CLI has written; returns whether there was anything."""
        data = self._process.read(self._process.stdout) if self._has_stdout else None
        if data is None:
            return False
        if not data:
            self._loop.forget(self._process.stdout)
            self._has_stdout = False
            self._mute_at = time.monotonic()
            self.turns.is_ending = True
            return False
        if self._process.poll() is not None:
            self.turns.is_ending = True  # what waits is not for one that has ended
        for line in self._lines.feed(data):
            if isinstance(line, Oversized):
                text = f"a message of {line.length:,} bytes was left out: it is longer than any that is known"
                self._driver.note(Notice(text, "warning", "oversized"))
            else:
                if self._wire_log is not None:
                    self._wire_log.write("cli->client", line)
                if self._log is not None:
                    self._log.write("out", line)
                self._driver.receive(line)
        self._heard_at = time.monotonic()
        self._driver.receive_partial(self._lines.unfinished())
        self._pump()
        return True

    def _read_stderr(self) -> bool:
        data = self._process.read(self._process.stderr) if self._has_stderr else None
        if data is None:
            return False
        if not data:
            self._loop.forget(self._process.stderr)
            self._has_stderr = False
            return False
        for line in self._error_lines.feed(data):
            if isinstance(line, bytes):
                self._note_error(line)
        return True

    def _note_error(self, line: bytes) -> None:
        if line.strip():
            text = line.decode("utf-8", "replace")[: 4 * _LINE]  # cut again once no secret can be cut
            self._errors.append((time.monotonic(), text))
            if self._log is not None:
                self._log.write("err", line)

    def _pump(self) -> None:
        """Do what the driver wants done."""
        was_open = self.turns.is_open
        data = self.turns.take()
        if self._wire_log is not None:
            self._wire_log.write("client->cli", data)
        self._unsent += data
        is_other = self._turn_id() != self._turn_was  # an order may have begun or ended one
        if is_other:
            self._turn_was = self._turn_id()
            self._file_is_due = self._limits.writes_file and not self._turn_was
            self._used_at = self._heard_at = self._turn_began_at = time.monotonic()
            self._interrupted_at = None
        self._write()
        self.turns.tell()
        if self._hooks is not None:
            self._hooks.tell()
        if is_other:
            self._flush_telemetry()
        if self._sync_at is None and (is_other or self.turns.is_open != was_open):
            self._sync_at = time.monotonic() + _SYNC_AFTER_S
        self._checkpoint()
        failure = self.turns.failure
        if failure is not None:
            self.end("failed", failure.message)
        elif self.turns.is_finished:
            self.end("finished", "its one turn is over")

    def _flush_telemetry(self) -> None:
        with contextlib.suppress(StoreUnusable):
            if self._store.has_readers():
                from oulipoly_engine.service.telemetry.recorder import Telemetry  # noqa: PLC0415 - mostly nobody reads

                Telemetry(self._store).flush(self._clock.now())

    def _checkpoint(self) -> None:
        """Have the store brought up to date now and then, when the CLI has just got work to do, and we have none."""
        turn_id = self._turn_id()
        if turn_id and turn_id != self._last_turn:
            self._last_turn, self._turns_begun = turn_id, self._turns_begun + 1
            if not self._turns_begun % _CHECKPOINT_TURNS:
                with contextlib.suppress(StoreUnusable):  # the next write tells
                    self._store.checkpoint()

    def _turn_id(self) -> str:
        return "" if self.turns.turn is None else self.turns.turn.turn_id

    def _write(self) -> None:
        try:
            while self._unsent and self._process.stdin >= 0:
                count = self._process.write(self._unsent)
                if not count:
                    break
                del self._unsent[:count]
        except OSError:  # it reads no more; that it has ended shows by itself
            self._unsent.clear()
        self._watch_stdin()

    def _watch_stdin(self) -> None:
        if self._process.stdin >= 0:
            self._loop.watch(self._process.stdin, WRITE if self._unsent else 0, self._write)

    def _look_at_process(self) -> None:
        code = self._process.poll()
        if code is None:
            return
        self.turns.is_ending = True
        # Its last words. No end is waited for: what it has started may hold the pipes for as long as it lives.
        while self._read_stderr():
            pass
        self._note_error(self._error_lines.rest())
        while self._read_stdout():
            pass
        self.turns.give_up("its CLI has ended")
        self._driver.closed()
        self.turns.take()
        self._files.start()
        self._note_files(_FILES_S)  # before their gits are ended with all else
        reason, message = self._ending or ("killed" if code < 0 else "exited", self._last_words(code))
        if not self.turns.is_open and self.turns.failure is None and self._ending is None:
            self.turns.fail(SessionFailed(failures.CLOSED, message))
        self._process.release()
        self._descendants.kill()
        end_children(is_host)  # what it has left behind is ours now
        wanted = self._ending is not None and reason in _WANTED
        self.turns.close(SessionClosed(reason, message, code), ends_turn=wanted)
        if self._log is not None:
            self._log.write("end", (message or reason).encode())
        ok = wanted or code == 0
        shown = code if code >= 0 else 128 - code
        outcome = Outcome(ok, shown, self._clock.now(), None if ok else reason, None if ok else reason, message or None)
        invocations.end(self._store, self._row, outcome)
        self._flush_telemetry()
        self._is_done = True

    def _last_words(self, code: int) -> str:
        since = time.monotonic() - _LAST_WORDS_S
        lines = [text for at, text in self._errors if at >= since]
        limit = ""
        if self._watch_of_limits is not None:
            limit = self._watch_of_limits.explain(code if code >= 0 else 128 - code, "\n".join(lines).encode())
        return describe_exit(code, [self._clean(text) for text in (*lines, limit) if text])

    # Clients ---------------------------------------------------------------------------------------------------------
    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # it has left already
            return
        if not is_same_user(connection):
            connection.close()
            return
        seat = ClientSeat(connection)
        self._clients[connection.fileno()] = seat
        self._watch(seat)

    def _serve(self, seat: ClientSeat) -> None:
        try:
            seat.flush()
            for message in seat.receive():
                self._handle(message, seat)
        except EOFError:
            self._drop(seat)
        except WireBroken as error:
            self._drop(seat, str(error))
        else:
            self._watch(seat)

    def _handle(self, message: Message, seat: ClientSeat) -> None:
        match message:
            case Follow():
                self._replay(message, seat)
            case OrderFrame():
                if not self._ask_extensions(message, seat):
                    self._take_order(message, seat)
            case Bye():
                raise EOFError
            case Hello():
                pass

    def _take_order(self, frame: OrderFrame, seat: ClientSeat) -> None:
        answer = self._do(frame, seat)
        self._pump()
        if not isinstance(frame.order, _QUESTIONS):
            self._store.sync()  # what was taken outlasts a power cut
            self._sync_at = None
        seat.answer(answer)

    def _ask_extensions(self, frame: OrderFrame, seat: ClientSeat) -> bool:
        """Have extensions asked before an order is carried out. Returns whether any is."""
        hooks = self._hooks
        if frame.data.get("kind") == "recovery":  # it was asked about when it was sent first
            return False
        if frame.verb == "queue" and frame.data.get("act") != "edit":
            return False
        if hooks is None or frame.verb not in GUARDED_ORDERS or not hooks.asks(GUARDED_ORDERS[frame.verb]):
            return False

        def go_on(outcome: HookAnswer) -> None:
            if outcome.answer:
                self.turns.note(Notice(outcome.answer, "info", "extension"))
            is_here = seat in self._clients.values()
            if outcome.error:
                seat.answer(Answer(frame.number, error={**outcome.error}))
            elif is_here or "text" in frame.data:  # a message that was sent is taken; nobody would end a compaction
                text = {"text": outcome.text} if "text" in frame.data else {}
                self._take_order(OrderFrame(frame.number, frame.verb, frame.data | text), seat)
            if is_here:
                self._watch(seat)

        hooks.ask(GUARDED_ORDERS[frame.verb], frame.data, go_on)
        return True

    def _settle_hooks(self) -> None:
        if self._hooks is None:
            return
        has_news = self._hooks.settle()
        while self._hooks.notes:
            has_news = True
            self.turns.note(Notice(self._hooks.notes.popleft(), "warning", "extension"))
        if has_news:
            self._pump()

    def _replay(self, follow: Follow, seat: ClientSeat) -> None:
        after = follow.after
        while page := live_events.lines_after(self._store, self.turns.session.session_id, after, _PAGE):
            for _, line in page:
                seat.send_line(line)
            after = page[-1][0]
        for numbered in self.turns.snapshots():
            seat.tell(numbered)
        seat.follows, seat.takes_deltas = True, follow.deltas

    def _do(self, frame: OrderFrame, seat: ClientSeat) -> Answer:
        try:
            order = frame.order
            if not isinstance(order, orders.AskClients):  # who looks often keeps no session from its idle end
                self._used_at = time.monotonic()
            is_ending = self._ending is not None or self.turns.is_ending
            if is_ending and not isinstance(order, _OF_HOST):
                return Answer(frame.number, error={"slug": SESSION_ENDS, "message": "the session is ending"})
            data = self._carry_out(order, seat)
        except RunnerError as error:
            told: dict[str, Any] = {"slug": error.slug, "message": error.message, "exit_code": error.exit_code}
            return Answer(frame.number, error=told)
        except Exception:  # a border: one order that fails ends no session
            traceback.print_exc()
            return Answer(frame.number, error={"slug": "operational-error", "message": "the order failed in the host"})
        taken = self._control.take(order, seat.name, to_text(self._clock.now())) if frame.is_by_person else None
        if taken is not None:
            self.turns.note(taken)
        return Answer(frame.number, data)

    def _carry_out(self, order: orders.AnyOrder, seat: ClientSeat) -> dict[str, Any]:
        """Do what is ordered and return what is to be answered. Raises RunnerError."""
        match order:
            case orders.AskStatus():
                return self.turns.status()
            case orders.AskClients():
                return asdict(self._control.listen(seat, order, self._clients.values()))
            case orders.Close():
                if order.if_idle and self.turns.turn is not None:
                    raise TurnInFlight("a turn runs")
                self.end("closed", order.why or "it was closed")
                return {}
            case orders.Cancel():
                self._cancel()
                return {}
            case orders.BeginCompaction():
                data = self.turns.begin_compaction(order.reason)
                self._compactor = seat
                return data
            case orders.NoteCompaction():
                return self.turns.note_compaction(order)
            case orders.EndCompaction():
                data = self.turns.end_compaction(order)
                if data:
                    self.end("closed", COMPACTED)
                return data
        data = self.turns.order(order, seat.name)
        is_cancelled = False
        if isinstance(order, orders.Answer):
            self._heard_at = time.monotonic()  # it was for us to speak
            is_cancelled = data["status"] == "cancelled"
        if self._interrupted_at is None and (is_cancelled or isinstance(order, orders.Interrupt)):
            self._interrupted_at = time.monotonic()
        return data

    def _cancel(self) -> None:
        if self.turns.turn is not None:
            with contextlib.suppress(RunnerError):
                self.turns.order(orders.Interrupt(), "")  # claude ends its commands only for that
            self._pump()
        self.end("cancelled", "it was cancelled", at_once=True)

    def _tell(self, numbered: Numbered) -> None:
        for seat in tuple(self._clients.values()):
            if seat.follows:
                seat.tell(numbered)
                if seat.is_lost:
                    self._drop(seat)
                else:
                    self._watch(seat)

    def _tell_clients(self) -> None:
        """Tell who has control and who is attached to those who asked for it, where that has changed."""
        found = None
        for seat in tuple(self._clients.values()):
            if seat.follows and seat.told_clients is not None:
                found = found or self._control.read(self._clients.values())
                if seat.told_clients != found:
                    seat.told_clients = found
                    seat.tell(self.turns.unkept(found))
                    self._watch(seat)

    def _watch(self, seat: ClientSeat) -> None:
        events = READ | (WRITE if seat.has_unsent else 0)
        if events != seat.watched:
            self._loop.watch(seat.connection, events, lambda: self._serve(seat))
            seat.watched = events

    def _drop(self, seat: ClientSeat, text: str = "") -> None:
        self._loop.forget(seat.connection)
        self._clients = {number: one for number, one in self._clients.items() if one is not seat}
        if seat is self._compactor:
            self._compactor = None
            self.turns.drop_compaction("who had begun it has gone")
            self._pump()
        seat.close(text)

    # Time ------------------------------------------------------------------------------------------------------------
    def _do_due(self, now: float) -> float | None:
        waits: list[float | None] = [self._driver.tick(now)]
        self._pump()
        waits.append(self._retry_when_due(now))
        waits.append(self.turns.requests.expire(self._limits.answer_s))
        self._pump()  # what was expired is told to the CLI now, not with what it says next
        if self.turns.turn is not None and now >= self._look_at:
            self._descendants.look()
            reap_adopted(self._process.own_pids)
            self._look_at = now + _LOOK_S
        if self.turns.turn is not None:
            waits.append(max(0.0, self._look_at - now))
        waits.append(self._sync_when_due(now))
        self._files.start()
        self._note_files()
        waits.append(self._write_file())
        self._settle_hooks()
        if self._ending is None:
            waits.append(self._check_patience(now))
            waits.append(self._ask_compactor(now))
            waits.append(self._tell_silence(now))
        self._tell_clients()
        for seat in self._clients.values():
            waits.append(seat.send_due(now))
            self._watch(seat)
        while self._ladder and now >= self._ladder[0][0]:
            self._descendants.look()
            self._ladder.pop(0)[1]()
        if self._ladder:
            waits.append(self._ladder[0][0] - now)
        return min((max(0.0, one) for one in waits if one is not None), default=None)

    def _retry_when_due(self, now: float) -> float | None:
        """Have a turn that has failed tried again. Returns the seconds until that is due."""
        was_waiting = self.turns.waits_to_retry
        left = self.turns.retry_when_due(now)
        if was_waiting and left is None:
            self._heard_at = now  # it was for us to speak
            self._pump()
        return left

    def _sync_when_due(self, now: float) -> float | None:
        """Have the disk keep what has begun or ended a turn. Returns the seconds until that is due."""
        if self._sync_at is not None and now >= self._sync_at:
            self._sync_at = None
            self._store.start_sync()
        return None if self._sync_at is None else self._sync_at - now

    def _note_files(self, patience_s: float = 0.0) -> None:
        problem = self._files.settle(self._store, patience_s)
        if problem:
            text = f"the files are not kept from here on, so that they cannot be brought back: {problem}"
            self.turns.note(Notice(text, "warning", "files_not_kept"))

    def _ask_compactor(self, now: float) -> float | None:
        """Have a process compact before the next message, and go on without where it does not begin in time.

        Returns the seconds until then.
        """
        if not self.turns.needs_compaction:
            self._asked_compactor_at = None
            return None
        if self._asked_compactor_at is None:
            self._asked_compactor_at = now
            self._start_worker("compact")
        left = self._asked_compactor_at + _COMPACTOR_S - now
        if left <= 0:
            self.turns.drop_compaction("no process has begun it", "fail", "compaction_failed")
            self._pump()
        return left

    def _write_file(self) -> float | None:
        """Have a process write the session file on, one at a time. Returns the seconds until that is tried again."""
        if not self._file_is_due:
            return None
        if self._file_writer is not None and self._file_writer.is_alive():
            return _FILE_REST_S
        self._file_is_due = False
        self._file_writer = self._start_worker("write_file")
        return None

    def _start_worker(self, task: str) -> threading.Thread:
        session = self.turns.session
        order = b"\0".join((task.encode(), session.session_id.encode(), os.fsencode(session.workspace)))

        def start() -> None:
            with contextlib.suppress(SpawnFailed):  # then nobody comes
                launcher.launch(_WORKER, order)

        worker = threading.Thread(target=start, daemon=True)
        worker.start()
        return worker

    def _tell_silence(self, now: float) -> float | None:
        """Tell when nothing is heard of a running turn: some CLIs ask their API again for minutes without a word.

        Returns the seconds until that is to be told.
        """
        if self.turns.turn is None or self.turns.waits_for_others:
            return None
        silent_s = now - self._heard_at
        if silent_s < self._told_silence_s:
            self._told_silence_s = 0.0
        due_s = 2 * self._told_silence_s or self._limits.notice_s
        if silent_s >= due_s:
            self._told_silence_s = due_s
            text = f"nothing was heard of the CLI for {due_s:g} s; an interrupt ends the turn"
            self._driver.note(Notice(text, "info", "silent"))
            self._pump()
            due_s *= 2
        return due_s - silent_s

    def _check_patience(self, now: float) -> float | None:
        """End what takes too long: the start, the idle time, an interruption. Returns the seconds until the next."""
        if not self._has_stdout:  # it is of no use any more, if it does not end by itself
            left = self._mute_at + _MUTE_S - now
            if left <= 0:
                self.end("exited", "its output was closed", at_once=True)
        elif not self.turns.is_open:
            left = self._began_at + self._limits.startup_s - now
            if left <= 0:
                message = f"the CLI did not say that it is ready within {self._limits.startup_s:g} s"
                self.turns.fail(SessionFailed(failures.TIMED_OUT, message))
                self.end("failed", message, at_once=True)
        elif self.turns.turn is None:
            idle_left = self._limits.idle_left(self._used_at, now)
            if idle_left is None:
                return None
            left = idle_left
            if not left:
                self.end("idle", f"nobody used it for {self._limits.idle_s:g} s")
        elif self._interrupted_at is not None:
            left = self._interrupted_at + _INTERRUPT_S - now
            if left <= 0:
                self.end("cancelled", "it did not end its turn when it was interrupted", at_once=True)
        else:
            return self._check_turn(now)
        return max(left, 0.0)

    def _check_turn(self, now: float) -> float | None:
        """End a turn that takes too long, or of which nothing is heard. Returns the seconds until then."""
        ends = []
        if self._limits.turn_s and not self.turns.is_compacting:
            from oulipoly_engine.core.agents.limits import explain_time  # noqa: PLC0415 - of agents alone

            ends.append((self._turn_began_at + self._limits.turn_s, explain_time(self._limits.turn_s)))
        if self._limits.turn_silence_s and not self.turns.waits_for_others:
            why = f"nothing was heard of it for {self._limits.turn_silence_s:g} s"
            ends.append((self._heard_at + self._limits.turn_silence_s, why))
        if not ends:
            return None
        ends_at, why = min(ends)
        if ends_at <= now:
            self.turns.time_out(why)
            self._interrupted_at = now
        return max(ends_at - now, 0.0)


def describe_exit(code: int, errors: Sequence[str]) -> str:
    """Return how a CLI has ended, with its last lines of stderr. code: below 0 the signal that has killed it."""
    ended = f"the CLI was killed by signal {-code}" if code < 0 else f"the CLI ended with exit code {code}"
    said = " · ".join(visible_line(readable(text))[:_LINE] for text in errors[-_SHOWN_STDERR:])
    return redact(f"{ended}: {said}" if said else ended)
