"""Follow what the CLIs write: an appended line is stored, and told of, some milliseconds after the kernel tells of it.

One thread does it all: it waits for changes, stores the entries and the calls of the changed transcripts, and between
two looks works off what was written while nobody followed, newest first and a few megabytes at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.adapters.bundled import SessionCall, entry_reading
from oulipoly_engine.clock import Clock
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.following.folder_watch import WALK_EVERY_S, FolderWatch
from oulipoly_engine.service.following.notices import Notices
from oulipoly_engine.service.following.plan import Plan
from oulipoly_engine.service.ledger.files import TranscriptFile, Walk
from oulipoly_engine.service.ledger.ledger import Ledger
from oulipoly_engine.service.transcripts.ingest import Ingester, IngestResult, Kind
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.transcripts import entries

if TYPE_CHECKING:
    from oulipoly_engine.adapters.entry_memory import EntryMemory

_WAIT_S = 1.0  # without any event; nobody is kept waiting by it
_DATABASE_EVERY_S = 0.25  # two `stat`s an account
_BACKLOG_BYTES, _BACKLOG_FILES = 4 << 20, 200  # in one go, some 50 ms
_SAVE_EVERY_S = 30.0
_AGAIN_S = {Kind.IN_FLIGHT: 0.1, Kind.FAILED: 3.0}  # another process scans; the state file was locked
_CLOSING_PATIENCE_S = 3.0


class Following(Record):
    """What a follower works with."""

    store: Store
    ingester: Ingester  # whose listeners are told
    plan: Plan
    notices: Notices = field(default_factory=Notices)  # of who shows one of the transcripts


class Follower:
    """A thread that keeps the state file up with the transcripts until it is closed."""

    def __init__(
        self,
        begin: Callable[[], Following],
        clock: Clock,
        *,
        delay_s: float = 0.0,
        walk_every_s: float = WALK_EVERY_S,
    ) -> None:
        """begin: reads the configuration; called in the thread, at the start and after `renew`.

        delay_s: how long to leave the processor to whoever is starting.
        """
        self.ready = threading.Event()  # everything has been looked at once, and the backlog is worked off
        self.problem: str | None = None  # why nothing is followed
        self._begin = begin
        self._clock = clock
        self._delay_s = delay_s
        self._walk_every_s = walk_every_s
        self._ended = threading.Event()
        self._interrupted = threading.Event()  # ended, or the configuration has changed
        self._work: _Work | None = None
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)
        self._thread.start()

    def renew(self) -> None:
        """Read the configuration again."""
        self._interrupt()

    def close(self) -> None:
        """End the thread: what it is storing is stored or left, at the next batch."""
        self._ended.set()
        self._interrupt()
        self._thread.join(_CLOSING_PATIENCE_S)

    def _interrupt(self) -> None:
        self._interrupted.set()
        work = self._work
        if work is not None:
            work.interrupt()

    def _run(self) -> None:
        self._ended.wait(self._delay_s)
        while not self._ended.is_set():
            self._interrupted.clear()
            if self._ended.is_set():  # set in between
                break
            try:
                following = self._begin()
            except RunnerError as error:  # a state file that cannot be opened, say
                self.problem = error.message
                self._interrupted.wait(5 * _WAIT_S)
                continue
            work = self._work = _Work(following, self._clock, self._interrupted, self.ready, self._walk_every_s)
            try:
                self.problem = None
                work.run()
            except RunnerError as error:
                self.problem = error.message
                self._interrupted.wait(5 * _WAIT_S)
            finally:
                work.close()


class _Account(Record, frozen=False):
    """An account's transcripts that wait to be read."""

    memory: EntryMemory
    fresh: set[str] = field(default_factory=set)
    backlog: list[str] = field(default_factory=list)  # the newest last
    not_before: float = 0.0

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self.not_before


class _Stopped(Exception):
    """The ledger's update is to end."""


class _Work:
    """Following one configuration, in the follower's thread."""

    def __init__(
        self,
        following: Following,
        clock: Clock,
        stopped: threading.Event,
        ready: threading.Event,
        walk_every_s: float,
    ) -> None:
        from oulipoly_engine.adapters.entry_memory import EntryMemory  # noqa: PLC0415 - msgspec, 8 ms, only followers

        self._following = following
        self._stopped = stopped
        self._ready = ready
        self._watch = FolderWatch(following.plan.roots, stopped, walk_every_s=walk_every_s, notices=following.notices)
        self._ledger = Ledger(following.store, following.plan.sources, clock, following.ingester.longest_line)
        self._accounts = {
            name: _Account(EntryMemory(call, self._state_dir(name), following.ingester.longest_line))
            for name, call in following.plan.calls.items()
        }
        self._uncounted: set[str] = set()  # transcripts whose calls are not counted yet
        self._databases: dict[str, tuple[object, ...]] = {}
        self._retry_databases: dict[str, float] = {}
        self._save_at = time.monotonic() + _SAVE_EVERY_S

    def run(self) -> None:
        """Follow until stopped. Raises StoreUnusable."""
        for name, account in self._accounts.items():
            if not entries.has_any(self._following.store, name):
                account.memory.forget()  # a state file that was started anew
        self._take_backlog(self._watch.changes(0))
        self._update_ledger(None)
        while not self._stopped.is_set():
            self._take_fresh(self._watch.changes(self._patience()))
            self._read_databases()
            if not self._read_fresh() and not self._read_backlog():
                self._ready.set()
            if time.monotonic() >= self._save_at:
                self._save()

    def interrupt(self) -> None:
        """Let a wait look whether it was stopped; for any thread."""
        self._watch.interrupt()

    def close(self) -> None:
        """Remember how far everything was read, and let go of all."""
        self._watch.close()
        self._save()
        self._following.store.close()

    def _state_dir(self, name: str) -> Path:
        ingester = self._following.ingester
        return ingester.scripts[name].state_dir or ingester.state_root / name

    def _patience(self) -> float:
        waiting = [one for one in self._accounts.values() if one.backlog or one.fresh]
        if any(one.is_due for one in waiting) or not self._ready.is_set():
            return 0.0
        return min(_AGAIN_S.values()) if waiting else _DATABASE_EVERY_S if self._following.plan.databases else _WAIT_S

    def _take_backlog(self, paths: Iterable[str]) -> None:
        order = sorted(paths, key=lambda path: self._watch.stat_of(path)[1])
        for path in order:
            for name in self._following.plan.readers_of(path):
                self._accounts[name].backlog.append(path)
        for account in self._accounts.values():
            account.backlog = account.memory.unread(account.backlog)

    def _take_fresh(self, paths: set[str]) -> None:
        self._uncounted |= paths
        for path in paths:
            for name in self._following.plan.readers_of(path):
                self._accounts[name].fresh.add(path)

    def _read_fresh(self) -> bool:
        """Store what has just changed; tells whether there was anything."""
        is_any = bool(self._uncounted)
        for name, account in self._accounts.items():
            if account.fresh and account.is_due and not self._stopped.is_set():
                paths, account.fresh = sorted(account.fresh), set()
                is_any = True
                if not self._ingest(name, account, paths):
                    account.fresh.update(paths)
        if self._uncounted:
            self._update_ledger(self._uncounted)
            self._uncounted = set()
        return is_any

    def _read_backlog(self) -> bool:
        """Store a part of what was written while nobody followed; tells whether there was anything."""
        for name, account in self._accounts.items():
            if account.backlog and account.is_due:
                paths = self._part(account)
                if not self._ingest(name, account, paths):
                    account.backlog += reversed(paths)
                return True
        return any(account.backlog for account in self._accounts.values())

    def _part(self, account: _Account) -> list[str]:
        paths: list[str] = []
        size = 0
        while account.backlog and len(paths) < _BACKLOG_FILES and size < _BACKLOG_BYTES:
            paths.append(account.backlog.pop())
            size += self._watch.stat_of(paths[-1])[0]
        return paths

    def _ingest(self, name: str, account: _Account, paths: list[str]) -> bool:
        result = self._following.ingester.ingest_reading(name, account.memory.reading(paths), self._stopped)
        return self._is_done(result, account)

    def _is_done(self, result: IngestResult, account: _Account) -> bool:
        if result.kind not in _AGAIN_S:
            return True
        account.not_before = time.monotonic() + _AGAIN_S[result.kind]
        return False

    def _update_ledger(self, paths: set[str] | None) -> None:
        """Count the calls of changed transcripts; None: of all, whatever has changed."""
        found = None
        if paths is not None:
            found = Walk()
            for path in paths:
                source = self._following.plan.source_of(path)
                if source is not None:
                    found.changed.append(TranscriptFile(path, source, *self._watch.stat_of(path)))
            if not found.changed:
                return
        try:
            self._ledger.update(self._go_on, found=found)
        except _Stopped:
            return

    def _go_on(self, _done: int, _total: int) -> None:
        if self._stopped.is_set():
            raise _Stopped

    def _read_databases(self) -> None:
        for name, call in self._following.plan.databases.items():
            stamp = _stamp(call)
            if stamp == self._databases.get(name) or time.monotonic() < self._retry_databases.get(name, 0.0):
                continue
            reading = entry_reading(
                call, self._state_dir(name), afresh=not entries.has_any(self._following.store, name)
            )
            result = self._following.ingester.ingest_reading(name, reading, self._stopped)
            if result.kind in _AGAIN_S:
                self._retry_databases[name] = time.monotonic() + _AGAIN_S[result.kind]
            else:
                self._databases[name] = stamp
                with suppress(_Stopped):
                    self._ledger.update(self._go_on, found=Walk())

    def _save(self) -> None:
        from oulipoly_engine.adapters.scripts.turns import TurnsFailed  # noqa: PLC0415 - loaded by now

        self._save_at = time.monotonic() + _SAVE_EVERY_S
        for account in self._accounts.values():
            try:
                account.memory.save()
            except TurnsFailed:  # what is read again is not stored twice
                continue


def _stamp(call: SessionCall) -> tuple[object, ...]:
    """Return what changes when opencode writes; its shared memory does when we read, and is left out."""
    found: list[object] = []
    for name in ("opencode.db", "opencode.db-wal"):
        try:
            status = (call.folder / name).stat()
        except OSError:
            found.append(None)
            continue
        found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)
