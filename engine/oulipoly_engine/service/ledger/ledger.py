"""Keep the ledger: read what transcripts have gained, store each API call once, and tell what accounts have spent.

Rows, cursors and damage of a batch are one transaction, and rows only ever join: whatever is read twice, by two
processes at once or again after a crash, changes nothing.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from oulipoly_engine.adapters.transcript_file import open_transcript
from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts.accounts import LONGEST_LINE
from oulipoly_engine.core.ledger.calls import Damage, Tokens
from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.ledger.files import Source, TranscriptFile, Walk, escape_path, walk
from oulipoly_engine.service.ledger.reading import Reading
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.ledger import calls as rows
from oulipoly_engine.store.ledger.calls import Batch, Cursor

if TYPE_CHECKING:
    from oulipoly_engine.process.worker_process import WorkerProcess
    from oulipoly_engine.service.ledger.worker import SharedWork

# Read between two transactions. Calls' numbers are digests, so that each transaction writes most pages again.
_BATCH_BYTES = 256 << 20
_SHARED_BYTES = 200 << 20  # less is read sooner than a second process is there
_RECENT = timedelta(days=8)  # a call of the last 7 days stands in a file that changed since
_KEPT_NOTES = 20
_KEPT_FAULTS = 5


class Updated(Record):
    """What an update found."""

    files: int  # transcripts that there are
    size: int  # bytes of all of them
    changed: int  # transcripts that were read
    bytes_read: int
    damaged: int  # lines that could not be read, found by this update
    notes: tuple[str, ...] = ()  # files and folders that could not be read; the first ones
    faults: tuple[str, ...] = ()  # the first of the lines that could not be read: file, line, and why


class _Pass(Record, frozen=False):
    """One update under way."""

    parts: Sequence[Sequence[TranscriptFile]]  # what changed in the last days, and the rest; oldest first
    sizes: Mapping[str, int]  # new bytes, by path
    damaged: int = 0
    partners_bytes: int = 0  # that it has read
    ended_parts: int = 0  # by the partner
    notes: list[str] = field(default_factory=list)
    faults: list[tuple[str, Damage]] = field(default_factory=list)  # the first ones, with their paths


def _ignore_progress(*_: int) -> None:
    """Tell nobody."""


class Ledger:
    """Keeps the ledger of some accounts; remembers what it has seen, so that a second update is quick.

    shared_bytes: from how many new bytes on a second process reads its half; None: 200 MB, where it has a processor.
    """

    def __init__(
        self,
        store: Store,
        sources: tuple[Source, ...],
        clock: Clock,
        longest_line: int = LONGEST_LINE,
        shared_bytes: int | None = None,
    ) -> None:
        self._store = store
        self._databases = tuple(source for source in sources if not source.transcripts.calls)
        sources = tuple(source for source in sources if source.transcripts.calls)
        self._sources = sources
        self._clock = clock
        self._longest_line = longest_line
        self._shared_bytes = shared_bytes
        self._cursors: dict[str, Cursor] | None = None
        self._work = _Pass((), {})
        self._reading = Reading(sources, self._write, {}, longest_line)

    def update(
        self,
        progress: Callable[[int, int], None] = _ignore_progress,
        recent: Callable[[], None] = _ignore_progress,
        found: Walk | None = None,
    ) -> Updated:
        """Read what is new, oldest first, but what changed in the last days before the rest.

        progress: called with the bytes that are done and their sum. recent: called once the last 7 days are right.
        found: the transcripts that have changed, for a caller that knows them; else all folders are walked.
        Raises StoreUnusable.
        """
        known = self._load_cursors()
        found = found or walk(self._sources, known)
        now = self._clock.now()
        since_ns = round((now - _RECENT).timestamp()) * 1_000_000_000
        order = sorted(found.changed, key=lambda seen: (seen.mtime_ns, seen.path))
        split = sum(seen.mtime_ns < since_ns for seen in order)
        parts = (order[split:], order[:split])
        work = self._work = _Pass(parts, {seen.path: _new_bytes(seen, known) for seen in order}, notes=found.notes)
        self._reading.begin(now.timestamp(), _BATCH_BYTES)
        with _no_collecting(len(order)):
            self._read_databases()
            self._read(progress, recent)
            if found.gone:
                rows.write(self._store, Batch(gone=found.gone))
            rows.index_calls(self._store)
        for path in found.gone:
            del known[path]
        work.notes += self._reading.notes
        notes = tuple(work.notes[:_KEPT_NOTES])
        if len(work.notes) > _KEPT_NOTES:
            notes += (f"{len(work.notes) - _KEPT_NOTES} more",)
        faults = tuple(_sentence(path, damage) for path, damage in work.faults)
        return Updated(found.count, found.size, len(order), self._bytes_done(), work.damaged, notes, faults)

    def _read_databases(self) -> None:
        """Read what opencode has written, whichever transcripts were named: it is two looks where nothing was."""
        if self._databases:
            from oulipoly_engine.service.ledger.opencode import read_database  # noqa: PLC0415 - sqlite, for opencode

            for source in self._databases:
                batch = read_database(source, self._load_cursors(), self._work.notes)
                if batch is not None:
                    self._write(batch)

    def _load_cursors(self) -> dict[str, Cursor]:
        if self._cursors is None:
            self._cursors = rows.cursors(self._store)
            self._reading.roots.update(rows.roots(self._store))
        return self._cursors

    def _bytes_done(self) -> int:
        return self._reading.bytes_done() + self._work.partners_bytes

    def _read(self, progress: Callable[[int, int], None], recent: Callable[[], None]) -> None:
        """Read the parts, alone or together with a second process."""
        work, known, reading = self._work, self._load_cursors(), self._reading
        total = sum(work.sizes.values())
        with ExitStack() as stack:
            shared = self._share_work(total, stack)
            for number, files in enumerate(work.parts):
                taken = files if shared is None else shared[0].take(number)
                for seen in taken:
                    reading.read(seen.path, seen.source, known.get(seen.path))
                    if shared is not None:
                        for frame in shared[1].take_ready():
                            self._take(frame)
                    progress(self._bytes_done(), total)
                reading.flush()
                if shared is not None and not self._await(shared[1], number):
                    for seen in files:  # it has failed; what is done is not read again
                        reading.read(seen.path, seen.source, known.get(seen.path))
                    reading.flush()
                    shared = None
                if number == 0:
                    recent()
        progress(self._bytes_done(), total)

    def _share_work(self, total: int, stack: ExitStack) -> tuple[SharedWork[TranscriptFile], WorkerProcess] | None:
        if total < (_SHARED_BYTES if self._shared_bytes is None else self._shared_bytes):
            return None
        if self._shared_bytes is None and _processors() < 2:
            return None
        from oulipoly_engine.service.ledger.worker import share_work  # noqa: PLC0415 - subprocess and more, only for much

        settings = (self._clock.now().timestamp(), _BATCH_BYTES // 2, self._longest_line)
        work = self._work
        try:
            return stack.enter_context(
                share_work(work.parts, work.sizes, self._load_cursors(), self._sources, self._reading.roots, settings)
            )
        except (SpawnFailed, OSError):
            return None

    def _await(self, partner: WorkerProcess, part: int) -> bool:
        """Store what the partner still sends of a part; tells whether it came to the part's end."""
        while self._work.ended_parts <= part:
            frame = partner.next()
            if frame is None:
                return False
            self._take(frame)
        return True

    def _take(self, raw: bytes) -> None:
        from oulipoly_engine.service.ledger.worker import Frame  # noqa: PLC0415 - as above

        frame = Frame(raw)
        self._work.partners_bytes += frame.read_bytes
        self._work.notes += frame.notes
        self._work.ended_parts += frame.is_end
        batch = frame.batch()
        if batch is not None:
            self._reading.roots.update(batch.roots)
            self._write(batch)

    def _write(self, batch: Batch) -> None:
        rows.write(self._store, batch)
        for path, damaged in batch.damaged.items():
            self._work.damaged += len(damaged)
            self._work.faults += [(path, one) for one in damaged[: _KEPT_FAULTS - len(self._work.faults)]]
        self._load_cursors().update(batch.cursors)


def local_burn(store: Store, account: str, since: datetime) -> tuple[int, Tokens]:
    """Return how many API calls an account has made since an instant, and their tokens, as its transcripts tell."""
    return rows.sums(store, account, round(since.timestamp() * 1000))


def _sentence(path: str, damage: Damage) -> str:
    """Return where a line that cannot be read stands, and what it is; messages of a database have no line."""
    if path.endswith(".db"):
        return f"{escape_path(path)}: {damage.what}"
    number, left = 1, damage.offset
    try:
        with open_transcript(path) as file:
            while left and (piece := file.read(min(left, 1 << 20))):
                number += piece.count(b"\n")
                left -= len(piece)
    except OSError:  # it has vanished since
        return f"{escape_path(path)}: {damage.what}, at byte {damage.offset}"
    return f"{escape_path(path)}:{number}: {damage.what}"


def _new_bytes(seen: TranscriptFile, known: Mapping[str, Cursor]) -> int:
    cursor = known.get(seen.path)
    return seen.size if cursor is None or seen.size < cursor.offset else seen.size - cursor.offset


def _processors() -> int:
    """Return how many processors we may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _no_collecting(files: int) -> Iterator[None]:
    """Leave cyclic garbage alone while much is read: there is none, and looking for it costs up to a fifth."""
    was_on = gc.isenabled() and files > 100
    if was_on:
        gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
