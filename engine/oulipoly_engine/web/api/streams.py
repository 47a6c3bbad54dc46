"""Events on their way to listeners: one thread a session that somebody watches, shared by all who do.

What is kept in the store has a number, and each listener gets every number once and in order: what came before it
listened from the store, what comes from the thread. Deltas have no number of their own; they are told as they come.
A listener that does not keep up is dropped, and comes back with the last number that it has.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from starlette.concurrency import run_in_threadpool

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.events import Numbered
from oulipoly_engine.core.live.orders import AskClients
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.live.sessions import HostGone, HostUnreachable
from oulipoly_engine.records import replace
from oulipoly_engine.web.access.viewer import OWN_USER

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine

Reader = Callable[[int, int], tuple[Numbered, ...]]  # of (number, most): the events behind it, oldest first

MOST_WAITING = 2000  # events that a listener may be behind
PAGE = 500  # events of one look into the store
_LOOK_S = 1.0  # between two looks of a thread at whether anybody listens
_MOST_TEXT = 256 << 10  # characters of what is being said
_NO_HOST_S = 1.0  # between two tries to reach the host of a session that has none
_NO_CHANGE_S = 10.0  # the same while nothing changes in the state file
_BEHIND_ALL = 1 << 62  # a number that no event has
_encoder = msgspec.json.Encoder()


class Dropped(Exception):
    """A listener was too slow, its device was revoked, or the server ends."""


class Listener:
    """One who is told of events; belongs to one event loop. `hear` may be called from any thread."""

    def __init__(self, device_id: str, name: str = "") -> None:
        """name: the device's, for the others who watch a session."""
        self.device_id, self.name = device_id, name
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[int, bool, bytes]] = deque()
        self._something, self._dropped = asyncio.Event(), asyncio.Event()
        self._is_dropped = False

    def hear(self, events: list[tuple[int, bool, bytes]]) -> None:
        """Take events: number, whether it is the event of that number or comes after it, JSON."""
        if len(self._waiting) + len(events) > MOST_WAITING:
            self.drop()
            return
        self._waiting.extend(events)
        self._wake()

    def drop(self) -> None:
        """Make an end with it."""
        self._is_dropped = True
        self._wake()

    async def dropped(self) -> None:
        """Wait until an end is made with it."""
        await self._dropped.wait()

    async def take(self, patience_s: float) -> list[tuple[int, bool, bytes]]:
        """Return what has come, after a while nothing. Raises Dropped."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._something.wait(), patience_s)
        if self._is_dropped:
            raise Dropped
        self._something.clear()
        taken = []
        while self._waiting:
            taken.append(self._waiting.popleft())
        return taken

    def _wake(self) -> None:
        with suppress(RuntimeError):  # its loop has ended
            self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        self._something.set()
        if self._is_dropped:
            self._dropped.set()


class Hub:
    """All listeners of one server."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._followers: dict[str, _Follower] = {}
        self._all: set[Listener] = set()  # who hears hints of everything

    # Listening -------------------------------------------------------------------------------------------------------
    def join(self, session_id: str, listener: Listener) -> None:
        """Tell a listener what happens in a session from now on; it finds in the store what was before."""
        last = self._last_number(session_id)
        with self._lock:
            follower = self._followers.get(session_id)
            if follower is None or not follower.add(listener):
                self._followers[session_id] = _Follower(self._engine, session_id, listener, last)

    def leave(self, session_id: str, listener: Listener) -> None:
        """Tell it no more; a thread for which nobody listens ends."""
        with self._lock:
            follower = self._followers.get(session_id)
            if follower is not None and follower.remove(listener):
                del self._followers[session_id]

    def join_all(self, listener: Listener) -> None:
        """Tell a listener hints of all that happens."""
        with self._lock:
            self._all.add(listener)

    def leave_all(self, listener: Listener) -> None:
        """Tell it no more."""
        with self._lock:
            self._all.discard(listener)

    @property
    def hears_hints(self) -> bool:
        """Return whether anybody wants to know what changes."""
        return bool(self._all)

    def hint(self, lines: Sequence[bytes]) -> None:
        """Tell everybody who hears hints."""
        with self._lock:
            listeners = [*self._all]
        for listener in listeners:
            listener.hear([(0, True, line) for line in lines])

    def wake(self) -> None:
        """Say that the state file has changed: a session that had no process may have one."""
        with self._lock:
            for follower in self._followers.values():
                follower.wake()

    # Ending ----------------------------------------------------------------------------------------------------------
    def device_ids(self) -> set[str]:
        """Return the devices that listen and can be revoked."""
        return {one.device_id for one in self._everybody()} - {OWN_USER}

    def drop_devices(self, device_ids: frozenset[str]) -> None:
        """Make an end with the listeners of some devices."""
        for one in self._everybody():
            if one.device_id in device_ids:
                one.drop()

    def close(self) -> None:
        """Make an end with all listeners."""
        for one in self._everybody():
            one.drop()

    def count(self) -> tuple[int, int]:
        """Return how many threads follow sessions, and how many listen."""
        return len(self._followers), len(self._everybody())

    def _last_number(self, session_id: str) -> int:
        with suppress(RunnerError):
            events = self._engine.live.events(session_id, None, 1)
            return events[-1].seq if events else 0
        return 0

    def _everybody(self) -> list[Listener]:
        with self._lock:
            return [*self._all, *(one for follower in self._followers.values() for one in follower.listeners)]


class _Follower:
    """The thread of one session."""

    def __init__(self, engine: Engine, session_id: str, listener: Listener, last: int) -> None:
        """last: the number of the last event, read before the listener reads the store: so no event is missed."""
        self._engine, self._session_id = engine, session_id
        self._lock = threading.Lock()
        self.listeners: set[Listener] = {listener}
        self._is_over = False
        self._last = last  # the number that was told last
        self._open: dict[str, tuple[Numbered, list[str]]] = {}  # what is being said, and its text so far
        self._nobody, self._woken = threading.Event(), threading.Event()
        threading.Thread(target=self._run, name=f"follow {session_id[:8]}", daemon=True).start()

    def add(self, listener: Listener) -> bool:
        """Take a further listener, and tell it what is being said. Returns False where the thread ends."""
        with self._lock:
            if self._is_over:
                return False
            listener.hear([(self._last, False, line) for line in self._open_lines()])
            self.listeners.add(listener)
            return True

    def remove(self, listener: Listener) -> bool:
        """Let one go. Returns whether it was the last one: then the thread ends."""
        with self._lock:
            self.listeners.discard(listener)
            self._is_over = not self.listeners
            if self._is_over:
                self._nobody.set()
                self._woken.set()
            return self._is_over

    def wake(self) -> None:
        """Look again for the session's process, where it had none."""
        self._woken.set()

    def _run(self) -> None:
        try:
            self._follow()
        finally:  # in whichever way: who still listens comes again, and gets a thread that works
            with self._lock:
                self._is_over = True
                for listener in self.listeners:
                    listener.drop()

    def _follow(self) -> None:
        while not self._nobody.is_set():
            try:
                with self._engine.live.connect(self._session_id) as client:
                    told = self._names()
                    client.post(AskClients(tuple(told)))  # first: it is they who watch, not this server
                    client.follow(self._last)
                    client.post(AskClients(tell=True))
                    while not self._nobody.is_set():
                        self._tell(client.wait(_LOOK_S))
                        if told != (told := self._names()):
                            client.post(AskClients(tuple(told)))
            except (HostUnreachable, HostGone):
                self._open.clear()
                self._read_store()  # what it has said at its end
                self._wait()
            except RunnerError:  # it is none of ours: only the state file tells what its CLI has written
                self._tell_to_look()
                self._wait()

    def _names(self) -> list[str]:
        """Return the devices that watch."""
        with self._lock:
            return sorted({one.name for one in self.listeners})

    def _wait(self) -> None:
        """Wait until something has changed, for a process that has come."""
        if not self._nobody.wait(_NO_HOST_S):
            self._woken.wait(_NO_CHANGE_S)
            self._woken.clear()

    def _tell_to_look(self) -> None:
        """Have each listener read what is new, if anything is."""
        with self._lock:
            for listener in self.listeners:
                listener.hear([(_BEHIND_ALL, True, b"")])

    def _read_store(self) -> None:
        with suppress(RunnerError):
            while events := self._engine.live.events_after(self._session_id, self._last, PAGE):
                self._tell(events)

    def _tell(self, events: Sequence[Numbered]) -> None:
        if not events:
            return
        with self._lock:
            told = []
            for one in events:
                told.append((one.seq, one.seq > self._last, to_line(one)))
                self._last = max(self._last, one.seq)
                self._note(one)
            for listener in self.listeners:
                listener.hear(told)

    def _note(self, numbered: Numbered) -> None:
        """Keep the text so far of what is being said, for who comes later."""
        match numbered.event:
            case ev.ItemStarted(item=item):
                self._open[item.id] = numbered, [item.text]
            case ev.ItemDelta(item_id=item_id, text=text) if item_id in self._open:
                self._open[item_id][1].append(text)
            case ev.ItemEnded(item=item):
                self._open.pop(item.id, None)
            case ev.TurnEnded() | ev.SessionClosed():
                self._open.clear()

    def _open_lines(self) -> Iterator[bytes]:
        for numbered, parts in self._open.values():
            parts[:] = ["".join(parts)[-_MOST_TEXT:]]
            if isinstance(numbered.event, ev.ItemStarted):
                item = replace(numbered.event.item, text=parts[0])
                yield to_line(replace(numbered, seq=self._last, event=replace(numbered.event, item=item)))


def to_line(numbered: Numbered) -> bytes:
    """Return an event as a line of `agents session follow` has it."""
    event = _encoder.encode(numbered.event)
    return b'{"seq":%d,"at":"%s",%s' % (numbered.seq, numbered.at.encode(), event[1:])


async def follow(
    hub: Hub, session_id: str, read: Reader, listener: Listener, after: int, pulse_s: float
) -> AsyncGenerator[bytes, None]:
    """Yield the events after a number and all that come, as an event stream; without any, now and then a pulse.

    Raises Dropped.
    """
    await run_in_threadpool(hub.join, session_id, listener)
    try:
        yield b": here\n\n"
        is_behind = True
        while True:
            while is_behind:  # also where the thread has told a number too far
                page = await run_in_threadpool(read, after, PAGE)
                after = page[-1].seq if page else after
                if page:
                    yield b"".join(_message(to_line(one), one.seq) for one in page)
                is_behind = len(page) == PAGE
            taken = await listener.take(pulse_s)
            told = []
            for number, is_new, line in taken:
                if is_new and number == after + 1:
                    after = number
                    told.append(_message(line, number))
                elif is_new and number > after + 1:
                    is_behind = True
                elif not is_new and number >= after:
                    told.append(_message(line))
            yield b"".join(told) or b": still here\n\n"
    finally:
        hub.leave(session_id, listener)


async def follow_all(hub: Hub, listener: Listener, pulse_s: float) -> AsyncGenerator[bytes, None]:
    """Yield hints of what changes anywhere, as an event stream. Raises Dropped."""
    hub.join_all(listener)
    try:
        yield _message(b'{"type":"resync"}')  # what was before it listened is nobody's to tell
        while True:
            taken = await listener.take(pulse_s)
            yield b"".join(_message(line) for _, _, line in taken) if taken else b": still here\n\n"
    finally:
        hub.leave_all(listener)


def _message(line: bytes, number: int | None = None) -> bytes:
    return (b"" if number is None else b"id: %d\n" % number) + b"data: " + line + b"\n\n"
