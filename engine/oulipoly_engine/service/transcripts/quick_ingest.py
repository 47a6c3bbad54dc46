"""Read what CLIs have just written, before a question about it is answered, within a patience of a moment.

Only the bundled readers that run in process take part. Nearly always nothing has changed, and that has to be cheap: ten
thousand transcripts are looked at, but the cursors (40 ms of JSON) are read only where a file is younger than the last
look. That look's instant is the time of a file beside the cursors; an i-node's own time says what has happened since,
also to a file that was copied here with an old date.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from oulipoly_engine.adapters.bundled import TRANSCRIPT_PREFIXES, SessionCall, entry_reading, turn_call
from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.records import Record, field
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.transcripts import entries as turns

if TYPE_CHECKING:
    from oulipoly_engine.adapters.entry_memory import EntryMemory
    from oulipoly_engine.service.transcripts.ingest import Ingester, IngestResult

BUDGET_S = 0.15  # of reading; looking for changes comes before
_DATABASE_FILES = ("opencode.db", "opencode.db-wal")
_PORTION_BYTES, _PORTION_FILES = 2 << 20, 50  # between two looks at the clock
_MOST_BYTES = 16 << 20  # of one file; more would take longer than all our patience
_SAME_NS = 10_000_000_000  # a change that is so little older than the last look may have come after it
_KEPT_PROBLEMS = 3


class QuickIngestResult(Record, frozen=False):
    """What came of a glance."""

    new_turns: int = 0
    left: list[str] = field(default_factory=list)  # accounts that have more to read than there was time for
    problems: list[str] = field(default_factory=list)  # what could not be read, one sentence each


class QuickIngest(Record, frozen=False):
    """One look at the transcripts of all accounts."""

    store: Store
    scripts: Mapping[str, SessionScripts]
    home: Path
    state_root: Path  # adapters' cursors, a folder an account
    ingester: Callable[[], Ingester]  # called where there is anything to read
    budget_s: float = BUDGET_S
    _done: QuickIngestResult = field(default_factory=QuickIngestResult)
    _deadline: float | None = None

    def look(self) -> QuickIngestResult:
        """Store what is new, as far as the budget goes, and return what came of it.

        An account that another process scans right now is left to it. Raises StoreUnusable.
        """
        for name, scripts in self.scripts.items():
            call = turn_call(scripts.turn_script, self.home)
            if call is not None:
                self._look_at(name, call, scripts.state_dir or self.state_root / name)
        return self._done

    def _look_at(self, name: str, call: SessionCall, state_dir: Path) -> None:
        begun_ns = time.time_ns()
        mark = state_dir / f"{call.name}.looked"
        is_new = not turns.has_any(self.store, name)
        since_ns = (
            0 if is_new or not (state_dir / f"{call.name}.json").exists() else _read_last_look(mark, call, begun_ns)
        )
        prefix = TRANSCRIPT_PREFIXES.get(call.name)
        found = list(_database(call.folder, since_ns) if prefix is None else _young(call.folder, prefix, since_ns))
        if not found and since_ns:
            return
        read = self._database if prefix is None else self._transcripts
        if not found or read(name, call, state_dir, found, is_new):
            with suppress(OSError):  # we look at more the next time
                make_folder(state_dir)
                write_private(mark, os.fsencode(call.folder))
                os.utime(mark, ns=(begun_ns, begun_ns))

    def _transcripts(
        self, name: str, call: SessionCall, state_dir: Path, found: Sequence[tuple[int, int, str]], is_new: bool
    ) -> bool:
        """Read an account's transcripts, the youngest first; tells whether nothing is left."""
        from oulipoly_engine.adapters.entry_memory import EntryMemory  # noqa: PLC0415 - as above
        from oulipoly_engine.adapters.scripts.turns import TurnsFailed  # noqa: PLC0415 - 20 ms with the next, to read

        memory = EntryMemory(call, state_dir, self.ingester().longest_line)
        if is_new:
            memory.forget()
        sizes = {path: size for _, size, path in sorted(found, reverse=True)}
        waiting = memory.unread(list(sizes))
        fitting = [path for path in waiting if _unread_bytes(memory, path, sizes[path]) <= _MOST_BYTES]
        is_whole = len(fitting) == len(waiting)
        for portion in _portions(memory, fitting, sizes):
            if self._is_late():
                is_whole = False
                break
            result = self.ingester().ingest_reading(name, memory.reading(portion), Event())
            if not self._take(result):
                return False
        if not is_whole:
            self._done.left.append(name)
        with suppress(TurnsFailed):  # what is not remembered is read again
            memory.save()
        return is_whole

    def _database(
        self, name: str, call: SessionCall, state_dir: Path, found: Sequence[tuple[int, int, str]], is_new: bool
    ) -> bool:
        if self._is_late() or (is_new and sum(size for _, size, _ in found) > _MOST_BYTES):
            self._done.left.append(name)
            return False
        reading = entry_reading(call, state_dir, afresh=is_new)
        return self._take(self.ingester().ingest_reading(name, reading, Event()))

    def _is_late(self) -> bool:
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self.budget_s
        return now > self._deadline

    def _take(self, result: IngestResult) -> bool:
        """Note what came of a portion; tells whether to go on."""
        from oulipoly_engine.service.transcripts.ingest import Kind  # noqa: PLC0415 - loaded with the ingester

        self._done.new_turns += result.new_turns
        said = [f"{result.account}: {text}" for text in (*(one.sentence for one in result.errors), *result.notes)]
        self._done.problems += said[: max(0, _KEPT_PROBLEMS - len(self._done.problems))]
        return result.kind is Kind.DONE


def _read_last_look(mark: Path, call: SessionCall, now_ns: int) -> int:
    """Return since when changes are of interest, in ns since 1970; 0: since ever."""
    try:
        looked_ns = mark.stat().st_mtime_ns
        is_same = read_regular(mark) == os.fsencode(call.folder)
    except OSError:
        return 0
    return max(0, looked_ns - _SAME_NS) if is_same and looked_ns <= now_ns else 0  # a clock that was set back


def _young(root: Path, prefix: str, since_ns: int) -> Iterator[tuple[int, int, str]]:
    """Yield (time of last change, size, path) of the transcripts that something has happened to; follows no links."""
    folders = [os.path.abspath(root)]  # noqa: PTH100 - the adapters' own form of it
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                listed = list(entries)
        except OSError:  # a scan tells of it
            continue
        for entry in listed:
            name = entry.name
            try:
                if name.endswith(".jsonl") and name.startswith(prefix):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_ctime_ns >= since_ns and stat.S_ISREG(status.st_mode):
                        yield status.st_mtime_ns, status.st_size, entry.path
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
            except OSError:  # a file that went while we looked
                continue


def _database(folder: Path, since_ns: int) -> Iterator[tuple[int, int, str]]:
    for name in _DATABASE_FILES:
        with suppress(OSError):
            status = (folder / name).stat()
            if status.st_ctime_ns >= since_ns:
                yield status.st_mtime_ns, status.st_size, name


def _unread_bytes(memory: EntryMemory, path: str, size: int) -> int:
    cursor = memory.cursors.get(path)
    return size if cursor is None or cursor.offset > size else size - cursor.offset


def _portions(memory: EntryMemory, paths: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    portion: list[str] = []
    total = 0
    for path in paths:
        portion.append(path)
        total += _unread_bytes(memory, path, sizes[path])
        if total >= _PORTION_BYTES or len(portion) >= _PORTION_FILES:
            yield portion
            portion, total = [], 0
    if portion:
        yield portion
