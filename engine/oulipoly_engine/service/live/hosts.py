"""The hosts of live sessions from outside: start one, reach one, see which live."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import time
from collections import deque
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from oulipoly_engine import variables
from oulipoly_engine.clock import Clock
from oulipoly_engine.core.live.events import Numbered
from oulipoly_engine.core.live.orders import ANSWER_S, Order
from oulipoly_engine.core.live.requests import has_lapsed
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession
from oulipoly_engine.errors import RunnerError, SpawnFailed
from oulipoly_engine.host import launcher, runtime_folder
from oulipoly_engine.host.link import HostGone, HostUnreachable, Link
from oulipoly_engine.host.runtime_folder import HostFiles
from oulipoly_engine.paths import Paths
from oulipoly_engine.process.command import describe_exit, watched
from oulipoly_engine.process.liveness import find_marked, has_ended_mark
from oulipoly_engine.records import prepare
from oulipoly_engine.service.live.protocol import LIVE, Answer, Client, Follow, Happened, OrderFrame
from oulipoly_engine.service.live.session_host import HostAnswer, HostOrder, LiveHost
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_requests, live_sessions

_HOST = "oulipoly_engine.service.live.session_host"
_ID_DIGITS = 12
_AGAIN_S = 0.02
_SHORT = 8 << 10  # characters of a message that every host takes; before a longer one it says how much it takes
_END_S = 10.0  # that a host may take to end once it has left its clients
_START_S = 30.0  # for another process that starts the same session
_decoder = msgspec.json.Decoder(prepare(Numbered))


class OrderRefused(RunnerError):
    """A host has refused an order; the message is the host's."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message", "the order was refused")))
        self.slug = str(error.get("slug", self.slug))
        self.exit_code = int(error.get("exit_code", 1))


class LiveClient:
    """A connection to a session's host. `fileno` is for an event loop; `order` and `wait` wait."""

    def __init__(self, path: Path, client: Client) -> None:
        """client: who we are. Raises HostUnreachable."""
        self._link = Link(path, client.name, LIVE)
        self._is_person = client.is_person
        self._number = 0
        self._events: deque[Numbered] = deque()
        self._answers: dict[int, Answer] = {}

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say goodbye."""
        self.close()

    def fileno(self) -> int:
        """Return the descriptor to watch."""
        return self._link.fileno()

    def follow(self, after: int = 0, *, deltas: bool = True) -> None:
        """Ask for the events after a number, and for all that come."""
        self._link.send(Follow(after, deltas))

    def receive(self) -> list[Numbered]:
        """Return the events that have come, without waiting. Raises HostGone."""
        self._link.flush()
        self._read()
        events = list(self._events)
        self._events.clear()
        return events

    def wait(self, timeout_s: float) -> list[Numbered]:
        """Return the events that come within so long; none if none do. Raises HostGone."""
        if not self._events:
            self._select(timeout_s)
        return self.receive()

    def post(self, order: Order) -> int:
        """Send an order without waiting for its answer; returns its number for `answer_of`."""
        self._number += 1
        self._link.send(OrderFrame.wrap(self._number, order, by_person=self._is_person))
        return self._number

    def answer_of(self, number: int) -> Answer | None:
        """Return the answer to an order if it has come with what `receive` read; once."""
        return self._answers.pop(number, None)

    def order(self, order: Order, patience_s: float = ANSWER_S) -> dict[str, Any]:
        """Have something done and return what came of it. Raises OrderRefused, HostGone or UsageInvalid."""
        deadline = time.monotonic() + patience_s
        while len(getattr(order, "text", "")) > _SHORT and not self._link.is_greeted:
            self._await(deadline)
        number = self.post(order)
        while (answer := self.answer_of(number)) is None:
            self._await(deadline)
        if answer.error:
            raise OrderRefused(answer.error)
        return answer.data

    def _await(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise HostGone("the session's host does not answer")
        self._select(left)
        self._link.flush()
        self._read()

    def close(self) -> None:
        """Say goodbye."""
        self._link.close()

    def _select(self, timeout_s: float) -> None:
        writing = [self._link] if self._link.wants_to_write else []
        select.select([self._link], writing, [], max(0.0, timeout_s))

    def _read(self) -> None:
        try:
            messages = self._link.receive()
        except ConnectionResetError as error:
            raise HostGone("the session's host has ended") from error
        for message in messages:
            match message:
                case Happened():
                    self._events.append(_decoder.decode(message.line))
                case Answer():
                    self._answers[message.number] = message


def host_id(session_id: str) -> str:
    """Return the id that the host of a session has: there is one at most."""
    return hashlib.sha256(session_id.encode()).hexdigest()[:_ID_DIGITS]


def drop_log(paths: Paths, session_id: str) -> None:
    """Remove what the processes of a session have written that is no record of it."""
    for name in (f"{host_id(session_id)}.log", f"{session_id}.wire.jsonl"):
        (paths.terminal_logs / name).unlink(missing_ok=True)


def connect(paths: Paths, session_id: str, client: Client) -> LiveClient:
    """Return a connection to the host of a session. Raises HostUnreachable when none lives."""
    return LiveClient(HostFiles(paths.live_runtime, host_id(session_id)).socket, client)


def describe(paths: Paths, session_id: str) -> LiveHost | None:
    """Return what the host of a session says of itself; None where it says nothing."""
    return runtime_folder.read(HostFiles(paths.live_runtime, host_id(session_id)), LiveHost)


def start(paths: Paths, order: HostOrder) -> LiveHost | None:
    """Start a host; None: another process has started one, which `reach` waits for. Raises SpawnFailed."""
    with watched(order.argv, Path(order.opening.cwd)) as tell:
        answer = msgspec.json.decode(launcher.launch(_HOST, msgspec.json.encode(order)), type=prepare(HostAnswer))
        if answer.error:
            tell(describe_exit(1))
            raise SpawnFailed(answer.error)
        tell(f"runs as live session {order.session_id}")
    return answer.host


def reach(paths: Paths, session_id: str, client: Client) -> LiveClient:
    """Return a connection to a host that is being started. Raises HostUnreachable, at once when it has ended."""
    deadline = time.monotonic() + _START_S
    may_come = True
    while True:
        try:
            return connect(paths, session_id, client)
        except HostUnreachable:
            if not may_come or time.monotonic() > deadline:
                raise
        time.sleep(_AGAIN_S)
        may_come = is_held(paths, session_id)  # asked before the next look, so that one that comes now is seen


def survey(paths: Paths) -> tuple[LiveHost, ...]:
    """Return the hosts that live, and remove the files, and end the processes, of those that were killed."""
    found = runtime_folder.survey(paths.live_runtime, LiveHost)
    for host in found.lost:
        _end_left(host)
    return found.living


def _end_left(host: LiveHost) -> None:
    """End what the CLI of a host that was killed has started: it may have left its group, and nobody else would.

    The CLI itself ends by the end of its stdin, and may be writing its last words.
    """
    left = find_marked(variables.PARENT_INVOCATION, host.invocation) if host.invocation else {}
    for pid in left:
        if pid not in (host.pid, os.getpid()) and not launcher.is_host(pid):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def ended_meanwhile(store: Store, sessions: Iterable[LiveSession], living: Container[str]) -> Mapping[str, LiveSession]:
    """Return those of these sessions whose host wrote their end and went between their reading and the look for hosts.

    A host writes how a session has ended before it goes: who reads first and looks then takes it for a lost one.
    """
    seem_lost = [
        session.session_id
        for session in sessions
        if session.generation and not session.ended and session.session_id not in living
    ]
    return live_sessions.find_ended(store, seem_lost) if seem_lost else {}


def is_held(paths: Paths, session_id: str) -> bool:
    """Tell whether a session has a host, or one that is about to begin."""
    return runtime_folder.is_held(HostFiles(paths.live_runtime, host_id(session_id)))


def wait_for_end(paths: Paths, session_id: str) -> bool:
    """Wait until no process of a session lives, after it has left us. Returns whether none does."""
    return _wait_until_held(paths, session_id, is_held_then=False)


def wait_for_next(paths: Paths, session_id: str) -> bool:
    """Wait until another process of a session is being started. Returns whether one is."""
    return _wait_until_held(paths, session_id, is_held_then=True)


def _wait_until_held(paths: Paths, session_id: str, *, is_held_then: bool) -> bool:
    deadline = time.monotonic() + _END_S
    while is_held(paths, session_id) is not is_held_then:
        if time.monotonic() > deadline:
            return False
        time.sleep(_AGAIN_S)
    return True


def expire_left(store: Store, clock: Clock, paths: Paths) -> None:
    """Expire the requests of sessions whose host is gone, and of others who wait no more: nobody can answer them."""
    pending = live_requests.pending(store)  # first: what is asked after the look is a living host's
    has_live = any(request.origin == "live" for request in pending)
    alive = {host.session_id for host in survey(paths)} if has_live else set()
    for request in pending:
        by = _why_stale(request, alive, clock.now())
        if by:
            live_requests.settle(store, request.request_id, "expired", clock.now(), answered_by=by)


def _why_stale(request: LiveRequest, alive: Container[str], now: datetime) -> str:
    """Say why a request waits for nothing any more; empty: it can be answered. alive: sessions that have a host."""
    if request.origin == "live":
        return "" if request.session_id in alive else "the session's process has ended"
    if request.origin == "setup" and has_ended_mark(request.asker):
        return "the set-up has ended"
    return "nobody answered in time" if has_lapsed(request, now) else ""
