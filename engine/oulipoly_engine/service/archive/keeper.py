"""Keep copies of what the CLIs have written, within a size limit.

Objects are written and synced before the rows that name them, so a kill leaves rows that hold and, at worst, objects
that nobody names, which the next run uses again. One process at a time keeps or prunes; another one leaves it to that.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine import stopping
from oulipoly_engine.adapters.transcript_file import is_transcript, open_transcript
from oulipoly_engine.blobs.blobs import Blobs
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.archive.chunking import MOST_BYTES, pieces
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.private_files import write_private
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.archive.archive import SOON, Archive
from oulipoly_engine.service.transcripts.files import FoundFile, Home, find_files, session_files
from oulipoly_engine.store.archive import copies as rows
from oulipoly_engine.store.archive.copies import Chunk, KeptCopy

_BATCH_FILES, _BATCH_OBJECTS = 200, 64  # one sync and one transaction for so many
_SUPERSEDED_KEPT = 3  # earlier states of a file that was rewritten
_ROOM = 0.95  # of the limit is left filled by a pruning, so that the next file does not prune again
_PLENTY = 0.8  # of the limit; below it copies that were given up are made again
_MOST_BRIEFLY = 256 << 20  # bytes that a run with a budget reads of one file: some 2 s
_KEPT_NOTES = 20
_LOOK_AGAIN_S = 6 * 3600.0  # a look through 10,000 transcripts takes 0.4 s, too long after every run


class KeepResult(Record, frozen=False):
    """What came of a run."""

    looked_at: int = 0  # files
    kept: int = 0  # files with a new copy
    read_bytes: int = 0
    stored_bytes: int = 0  # in the whole archive, compressed
    given_up: int = 0  # copies, for the size limit
    not_kept: int = 0  # files for which there is no room
    is_complete: bool = False  # nothing was left for another time
    is_busy: bool = False  # another process keeps or prunes right now
    problem: str | None = None  # why it ended early
    notes: list[str] = field(default_factory=list)  # files that could not be read

    def note(self, text: str) -> None:
        """Keep one of the first notes."""
        if len(self.notes) < _KEPT_NOTES:
            self.notes.append(text)


class PruneResult(Record):
    """What came of a pruning."""

    copies: tuple[KeptCopy, ...]  # that were given up
    only_copies: tuple[KeptCopy, ...]  # those of them whose files are gone
    freed_bytes: int
    stored_bytes: int
    is_over: bool  # what is left is still more than the limit


class _Batch(Record, frozen=False):
    """Copies whose objects are written and whose rows are not."""

    copies: list[tuple[KeptCopy, list[Chunk], bool]] = field(default_factory=list)  # True: the old one stays


class ArchiveKeeper(Record):
    """Fills an archive and keeps it within its limit."""

    archive: Archive
    limit_bytes: int  # 0: none

    def keep(
        self,
        accounts: Iterable[str] | None = None,
        *,
        budget_s: float | None = None,
        wait_s: float = 0.0,
        rescues: bool = False,
    ) -> KeepResult:
        """Keep what is new, what a CLI deletes soon before the rest; return what came of it.

        Only a broken state file raises. accounts: None for all. budget_s: leave off when copying has taken so long;
        what is missing is for another time. rescues: what a CLI deletes soon is kept however long that takes.
        wait_s: how long to wait for another process.
        """
        done = KeepResult()
        names = self.archive.homes if accounts is None else [name for name in accounts if name in self.archive.homes]
        objects = self.archive.objects
        try:
            with self._lock(wait_s) as is_ours:
                if not is_ours:
                    done.is_busy = True
                    return done
                try:
                    homes = [self.archive.homes[name] for name in names]
                    self._keep_all(homes, objects, budget_s, done, rescues=rescues)
                finally:
                    objects.abandon()
        except OSError as error:
            done.problem = f"the archive {self.archive.folder} cannot be written: {error.strerror or error}"
        done.stored_bytes = rows.count_stored_bytes(self.archive.store)
        return done

    def keep_session(self, account: str, session_id: str, budget_s: float) -> KeepResult:
        """Keep one session's files, and look at no others; returns and raises as `keep` does."""
        done = KeepResult()
        objects, store = self.archive.objects, self.archive.store
        try:
            with self._lock(0.0) as is_ours:
                if not is_ours:
                    done.is_busy = True
                    return done
                try:
                    found = list(session_files(self.archive.homes[account], session_id))
                    known = {copy.path: copy for copy in rows.of_session(store, account, session_id)}
                    self._keep_news(found, {account: known}, objects, budget_s, done)
                finally:
                    objects.abandon()
        except OSError as error:
            done.problem = f"the archive {self.archive.folder} cannot be written: {error.strerror or error}"
        return done

    def was_looked_through(self) -> bool:
        """Tell whether everything was looked at within the last hours."""
        try:
            age_s = time.time() - self._looked.stat().st_mtime
        except OSError:
            return False
        return 0 <= age_s < _LOOK_AGAIN_S

    def prune(self, *, only_copies: bool = False, wait_s: float = 0.0) -> PruneResult:
        """Bring the archive within its limit: superseded states go first, then the oldest whose files still exist.

        only_copies: then also the oldest that are the only ones left. Without it those stay, whatever they take.
        Raises RunnerError when another process is at it, or objects cannot be removed.
        """
        try:
            with self._lock(wait_s) as is_ours:
                if not is_ours:
                    message = "another process is archiving right now: try again in a moment"
                    raise RunnerError(message)
                self._sweep()
                return self._prune(only_copies=only_copies)
        except OSError as error:
            message = f"the archive {self.archive.folder} cannot be pruned: {error.strerror or error}"
            raise RunnerError(message) from error

    def _keep_all(
        self, homes: Sequence[Home], objects: Blobs, budget_s: float | None, done: KeepResult, *, rescues: bool
    ) -> None:
        store = self.archive.store
        last_entry = rows.last_entry(store)  # before looking: what comes meanwhile is news again
        found: list[FoundFile] = []
        known: dict[str, dict[Path, KeptCopy]] = {}
        for home in homes:
            known[home.account] = rows.latest_of(store, home.account)
            found += find_files(home)
        self._keep_news(found, known, objects, budget_s, done, rescues=rescues)
        with store.write():
            for home in homes:
                rows.set_complete(store, home.account, last_entry if done.is_complete else None)
        if done.is_complete:
            write_private(self._looked, b"")
            os.utime(self._looked)

    def _keep_news(
        self,
        found: list[FoundFile],
        known: Mapping[str, Mapping[Path, KeptCopy]],
        objects: Blobs,
        budget_s: float | None,
        done: KeepResult,
        *,
        rescues: bool = False,
    ) -> None:
        """Keep those of some files that have changed: first what a CLI deletes soon, of each kind the newest first."""
        oldest_ns = {name: self._find_oldest_ns(self.archive.homes[name]) for name in known}

        def goes_soon(file: FoundFile) -> bool:
            return file.status.st_mtime_ns <= oldest_ns[file.account]

        found.sort(key=lambda file: (not goes_soon(file), -file.status.st_mtime_ns))
        done.looked_at = len(found)
        has_room = not self.limit_bytes or rows.count_stored_bytes(self.archive.store) < self.limit_bytes * _PLENTY
        changed = [file for file in found if _is_news(known[file.account].get(file.path), file, has_room=has_room)]
        run = _Run(self, objects, is_brief=budget_s is not None, done=done)
        are_going = any(map(goes_soon, changed))
        deadline = None if budget_s is None else time.monotonic() + budget_s  # to look through many takes long already
        for file in changed:
            if deadline is not None and time.monotonic() > deadline and not (rescues and goes_soon(file)):
                break
            if stopping.is_asked():  # what is kept so far is whole
                break
            if are_going and not goes_soon(file):
                are_going = False
                run.flush()  # what was at risk is so no longer, however long the rest takes
            run.take(file, known[file.account].get(file.path))
        else:
            done.is_complete = not run.left_over
        run.flush()

    def _find_oldest_ns(self, home: Home) -> float:
        """Return when the youngest of those files was written that the account's CLI deletes soon."""
        period = home.cleanup_after()
        return -math.inf if period is None else (self.archive.clock.now() + SOON - period).timestamp() * 1e9

    def _prune(self, *, only_copies: bool) -> PruneResult:
        store = self.archive.store
        before = rows.count_stored_bytes(store)
        given_up: list[KeptCopy] = []
        lost: list[KeptCopy] = []
        left = before
        if self._is_over(left):
            for copy in _in_order(rows.prunable(store), only_copies=only_copies):
                if left <= self.limit_bytes * _ROOM:
                    break
                left -= rows.count_freed_bytes(store, copy)
                with store.write():
                    rows.give_up(store, copy)
                given_up.append(copy)
                if copy.is_latest and not _exists(copy):
                    lost.append(copy)
        self._drop_orphans()
        after = rows.count_stored_bytes(store)
        return PruneResult(tuple(given_up), tuple(lost), before - after, after, self._is_over(after))

    def _is_over(self, stored: int) -> bool:
        return bool(self.limit_bytes) and stored > self.limit_bytes

    def _drop_orphans(self) -> None:
        store, objects = self.archive.store, self.archive.objects
        with store.write():
            orphans = rows.drop_orphans(store)
        for digest in orphans:  # the rows are gone first: a kill here leaves files that nobody names
            objects.remove(digest.hex())

    def _sweep(self) -> None:
        """Remove what killed runs left, but nothing that another state file may know."""
        store, objects = self.archive.store, self.archive.objects
        until_ns = _read_mtime_ns(self._of_another)
        recent = [bytes.fromhex(name) for name, path in objects.files() if _read_mtime_ns(path) > until_ns]
        gone = {digest.hex() for digest in set(recent) - set(rows.find_stored_objects(store, recent))}
        objects.collect(lambda name: name not in gone)

    def _spare_strangers(self) -> None:
        """Note that what lies here is of another state file: this one was set aside, or lost, and knows nothing of it.

        Copies that it names may be the only ones of their transcripts, and it may be put back.
        """
        if not rows.has_objects(self.archive.store) and next(self.archive.objects.files(), None) is not None:
            write_private(self._of_another, b"")

    @property
    def _of_another(self) -> Path:
        """Return the empty file whose time of change says how old objects of another state file are at least."""
        return self.archive.folder / "of-another-state"

    @property
    def _looked(self) -> Path:
        """Return the empty file whose time of change says when everything was looked at."""
        return self.archive.folder / "looked"

    @contextmanager
    def _lock(self, wait_s: float) -> Iterator[bool]:
        with hold_lock(self.archive.folder / "archive.lock", wait_s) as is_ours:
            if is_ours:
                self._spare_strangers()
            yield is_ours


def _read_mtime_ns(path: Path) -> int:
    """Return when a file changed last; -1: it is not there."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return -1


class _Run:
    """One pass over changed files."""

    def __init__(self, keeper: ArchiveKeeper, objects: Blobs, *, is_brief: bool, done: KeepResult) -> None:
        self._keeper = keeper
        self._store = keeper.archive.store
        self._objects = objects
        self._is_brief = is_brief
        self._done = done
        self.left_over = 0  # files for another time
        self._has_replaced = False  # so that objects may be needed no more
        self._batch = _Batch()
        self._no_room_before_ns: float = -math.inf  # files that old would be given up at once

    def take(self, file: FoundFile, old: KeptCopy | None) -> None:
        """Keep a file as it is now."""
        if file.status.st_mtime_ns <= self._no_room_before_ns:
            self._done.not_kept += 1
            if old is None or old.is_pruned:  # an earlier state that is kept is better than none
                self._add(_copy(file, file.status, self._now(), is_pruned=True), [], keep_old=False)
            return
        if self._is_brief and file.status.st_size - (0 if old is None else old.size_bytes) > _MOST_BRIEFLY:
            self.left_over += 1
            return
        try:
            source = open_transcript(file.path, MOST_BYTES)
        except OSError as error:
            self._done.note(f"{file.path}: {error.strerror or error}")
            return
        with source:
            self._take_open(file, source, old)
        if len(self._batch.copies) >= _BATCH_FILES or self._objects.unsettled >= _BATCH_OBJECTS:
            self.flush()

    def flush(self) -> None:
        """Settle the objects, then the rows that name them, and stay within the limit."""
        sizes = {bytes.fromhex(name): size for name, size in self._objects.settle().items()}
        with self._store.write():
            rows.add_objects(self._store, sizes)
            for copy, chunks, keep_old in self._batch.copies:
                rows.put(self._store, copy, chunks, keep_old=keep_old)
                for surplus in rows.find_superseded(self._store, copy.account, copy.path)[_SUPERSEDED_KEPT:]:
                    rows.give_up(self._store, surplus)
        self._batch.copies.clear()
        if not self._has_replaced and not self._keeper._is_over(rows.count_stored_bytes(self._store)):
            return
        self._has_replaced = False
        pruned = self._keeper._prune(only_copies=False)
        self._done.given_up += len(pruned.copies)
        ages = [copy.mtime_ns for copy in pruned.copies if copy.is_latest]
        self._no_room_before_ns = max([self._no_room_before_ns, *ages])
        if pruned.is_over:  # nothing but only copies is left
            self._no_room_before_ns = sys.maxsize
            self._done.note(
                f"the archive is full of only copies ({pruned.stored_bytes >> 20} MB): raise archive_limit_mb in "
                "config.toml, or let the oldest go with `session archive --prune --only-copies`"
            )

    def _take_open(self, file: FoundFile, source: BinaryIO, old: KeptCopy | None) -> None:
        status = os.fstat(source.fileno())
        before = rows.chunks_of(self._store, old) if old is not None and not old.is_pruned else ()
        try:
            is_longer = bool(before) and old is not None and _is_longer(source, status, old, before)
            shared = list(before[:-1]) if is_longer else []
            chunks = self._read(source, status.st_size, shared)
        except OSError as error:
            if error.filename is None:  # reading; what cannot be written names its file
                self._done.note(f"{file.path}: {error.strerror or error}")
                return
            raise
        self._has_replaced = self._has_replaced or bool(before)
        keep_old = bool(before) and not is_longer and not _begins_with(chunks, before, source)
        self._add(_copy(file, status, self._now()), chunks, keep_old=keep_old)
        self._done.kept += 1

    def _read(self, source: BinaryIO, size: int, shared: list[Chunk]) -> list[Chunk]:
        """Store a file's bytes as they are now behind its shared chunks."""
        chunks = list(shared)
        source.seek(sum(chunk.size_bytes for chunk in shared))
        for piece in pieces(_lines(source, size - source.tell())):
            chunks.append(Chunk(bytes.fromhex(self._objects.add(piece)), len(piece)))
            self._done.read_bytes += len(piece)
        return chunks

    def _add(self, copy: KeptCopy, chunks: list[Chunk], *, keep_old: bool) -> None:
        self._batch.copies.append((copy, chunks, keep_old))

    def _now(self) -> str:
        return to_text(self._keeper.archive.clock.now())


def _is_news(copy: KeptCopy | None, file: FoundFile, *, has_room: bool) -> bool:
    return copy is None or not copy.is_of(file.status) or (copy.is_pruned and has_room)


def _lines(source: BinaryIO, left: int) -> Iterator[bytes]:
    """Yield lines up to a size that the file had; longer ones in parts."""
    while left > 0 and (line := source.readline(min(MOST_BYTES, left))):
        left -= len(line)
        yield line


def _is_longer(source: BinaryIO, status: os.stat_result, old: KeptCopy, before: Sequence[Chunk]) -> bool:
    """Tell whether the same file was only appended to, by its first chunk and its last."""
    is_same = (old.device, old.inode) == (status.st_dev, status.st_ino)
    if not is_same or status.st_size < old.size_bytes:
        return False
    return _holds(source, 0, before[0]) and _holds(source, old.size_bytes - before[-1].size_bytes, before[-1])


def _begins_with(chunks: Sequence[Chunk], before: Sequence[Chunk], source: BinaryIO) -> bool:
    """Tell whether a file that was read anew still begins with all that it held."""
    whole = len(before) - 1
    return list(chunks[:whole]) == list(before[:whole]) and _holds(
        source, sum(chunk.size_bytes for chunk in before[:whole]), before[-1]
    )


def _holds(source: BinaryIO, offset: int, chunk: Chunk) -> bool:
    source.seek(offset)
    return sha256(source.read(chunk.size_bytes)).digest() == chunk.sha256


def _copy(file: FoundFile, status: os.stat_result, kept_at: str, *, is_pruned: bool = False) -> KeptCopy:
    return KeptCopy(
        row_id=0,
        account=file.account,
        session_id=file.session_id,
        path=file.path,
        part=file.part,
        device=status.st_dev,
        inode=status.st_ino,
        size_bytes=status.st_size,
        mtime_ns=rows.storable_ns(status),
        kept_at=kept_at,
        is_pruned=is_pruned,
    )


def _in_order(copies: Iterable[KeptCopy], *, only_copies: bool) -> Iterator[KeptCopy]:
    """Yield what may be given up, in that order."""
    last: list[KeptCopy] = []
    for copy in list(copies):
        if not copy.is_latest or _exists(copy):
            yield copy
        else:
            last.append(copy)
    yield from chain(last) if only_copies else ()


def _exists(copy: KeptCopy) -> bool:
    return is_transcript(copy.path)


def after_scan(keeper: ArchiveKeeper, budget_s: float, *, rescues: bool = False) -> KeepResult | None:
    """Keep what was ingested since everything was kept, briefly; None: there was nothing. rescues: as for `keep`."""
    complete = rows.complete(keeper.archive.store)
    names = [name for name in keeper.archive.homes if name not in complete]
    return keeper.keep(names, budget_s=budget_s, rescues=rescues) if names else None


def after_run(keeper: ArchiveKeeper, account: str, session_id: str | None, budget_s: float) -> None:
    """Keep the session that a run has left; every few hours all that is new, as `after_scan` does."""
    if session_id is None or account not in keeper.archive.homes or not keeper.was_looked_through():
        after_scan(keeper, budget_s)
    else:
        keeper.keep_session(account, session_id, budget_s)
