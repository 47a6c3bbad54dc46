"""Keep the ledger: read what transcripts have gained, store each API call once, and tell what accounts have spent.

Rows, cursors and damage of a batch are one transaction, and rows only ever join: whatever is read twice, by two
processes at once or again after a crash, changes nothing.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.ledger import FamilyUnknown, Found, Place, Tokens
from oulipoly_engine.service.ledger_files import LONGEST_LINE, Blocks, Seen, Source, Walk, shown, walk
from oulipoly_engine.store import ledger as rows
from oulipoly_engine.store.db import Store
from oulipoly_engine.store.ledger import Batch, Cursor

if TYPE_CHECKING:
    from oulipoly_engine.core.ledger import Reader

_BATCH_BYTES = 64 << 20  # read between two transactions
_RECENT = timedelta(days=8)  # a call of the last 7 days stands in a file that changed since
_KEPT_NOTES = 20
_LONGEST_META = 16 << 20  # bytes of a first line, which holds the instructions
_PATIENCE_S = 600.0  # for the first line of a session that another one forked from
_MOST_FORKS = 64  # generations of a session's family that are looked up


@dataclass(frozen=True, slots=True)
class Updated:
    """What an update found."""

    files: int  # transcripts that there are
    size: int  # bytes of all of them
    changed: int  # transcripts that were read
    bytes_read: int
    damaged: int  # lines that could not be read, found by this update
    notes: tuple[str, ...] = ()  # files and folders that could not be read; the first ones


@dataclass(slots=True)
class _Pass:
    """One update under way."""

    total: int
    done: int = 0
    since_write: int = 0
    damaged: int = 0
    notes: list[str] = field(default_factory=list)
    batch: Batch = field(default_factory=Batch)


def _ignored(*_: int) -> None:
    """Tell nobody."""


class Ledger:
    """Keeps the ledger of some accounts; remembers what it has seen, so that a second update is quick."""

    def __init__(
        self, store: Store, sources: tuple[Source, ...], clock: Clock, longest_line: int = LONGEST_LINE
    ) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock
        self._found = Found()
        self._blocks = Blocks(self._found, longest_line)
        self._places: dict[Place, int] = {}
        self._readers: dict[Source, Reader] = {}
        self._cursors: dict[str, Cursor] | None = None
        self._roots: dict[str, str] = {}
        self._new_roots: dict[str, str] = {}
        self._rollouts: dict[str, str] | None = None  # session -> path, of this pass

    def update(
        self,
        progress: Callable[[int, int], None] = _ignored,
        recent: Callable[[], None] = _ignored,
        found: Walk | None = None,
    ) -> Updated:
        """Read what is new, oldest first, but what changed in the last days before the rest.

        progress: called with the bytes that are done and their sum. recent: called once the last 7 days are right.
        found: the transcripts that have changed, for a caller that knows them; else all folders are walked.
        Raises StoreUnusable.
        """
        known = self._known()
        found = found or walk(self._sources, known)
        before = self._blocks.bytes_read
        now_ns = round((self._clock.now() - _RECENT).timestamp()) * 1_000_000_000
        order = sorted(found.changed, key=lambda seen: (seen.mtime_ns < now_ns, seen.mtime_ns, seen.path))
        work = _Pass(sum(_new_bytes(seen, known) for seen in order), notes=found.notes)
        self._rollouts = None
        is_told = False
        with _no_collecting(len(order)):
            for seen in order:
                if not is_told and seen.mtime_ns < now_ns:
                    self._write(work)
                    recent()
                    is_told = True
                self._read(seen, work)
                progress(work.done, work.total)
            work.batch.gone = found.gone
            self._write(work)
            rows.index_calls(self._store)
        for path in found.gone:
            del known[path]
        if not is_told:
            recent()
        notes = tuple(work.notes[:_KEPT_NOTES])
        if len(work.notes) > _KEPT_NOTES:
            notes += (f"{len(work.notes) - _KEPT_NOTES} more",)
        return Updated(found.count, found.size, len(order), self._blocks.bytes_read - before, work.damaged, notes)

    def _known(self) -> dict[str, Cursor]:
        if self._cursors is None:
            self._cursors = rows.cursors(self._store)
            self._roots = rows.roots(self._store)
        return self._cursors

    def _read(self, seen: Seen, work: _Pass) -> None:
        known = self._known()
        path = seen.path
        begun = self._blocks.bytes_read

        def count() -> None:
            nonlocal begun
            work.done += self._blocks.bytes_read - begun
            work.since_write += self._blocks.bytes_read - begun
            begun = self._blocks.bytes_read

        def pause(cursor: Cursor) -> None:
            count()
            if work.since_write >= _BATCH_BYTES:
                self._note(path, cursor, work)
                self._write(work)

        try:
            cursor = self._blocks.read(path, known.get(path), self._reader(seen.source), pause)
        except FamilyUnknown:
            return
        except OSError as error:  # unreadable, or gone since the folder was listed
            work.notes.append(f"{shown(path)}: {error.strerror or type(error).__name__}")
            self._found.damaged.clear()
            return
        count()
        self._note(path, cursor, work)
        if work.since_write >= _BATCH_BYTES:
            self._write(work)

    def _note(self, path: str, cursor: Cursor, work: _Pass) -> None:
        work.batch.cursors[path] = cursor
        if self._found.damaged:
            work.damaged += len(self._found.damaged)
            work.batch.damaged.setdefault(path, []).extend(self._found.damaged)
            self._found.damaged.clear()

    def _write(self, work: _Pass) -> None:
        batch, work.batch, work.since_write = work.batch, Batch(), 0
        if not (batch.cursors or batch.gone or self._found.calls):
            return
        batch.calls, batch.roots = self._found.calls, self._new_roots
        rows.write(self._store, batch, self._places)
        self._found.calls.clear()
        self._new_roots = {}
        self._known().update(batch.cursors)

    def _reader(self, source: Source) -> Reader:
        reader = self._readers.get(source)
        if reader is None:
            reader = self._readers[source] = self._new_reader(source)
        return reader

    def _new_reader(self, source: Source) -> Reader:
        if source.cli == "codex":
            from oulipoly_engine.core.ledger_codex import CodexReader  # noqa: PLC0415 - msgspec, 8 ms, only to read

            return CodexReader(source.account, self._found, self._root_of)
        if source.cli == "gemini":
            from oulipoly_engine.core.ledger_gemini import GeminiReader  # noqa: PLC0415 - as above

            return GeminiReader(source.account, self._found)
        from oulipoly_engine.core.ledger_claude import ClaudeReader  # noqa: PLC0415 - as above

        return ClaudeReader(source.account, self._found)

    def _root_of(self, session: str) -> str:
        """Return the first ancestor of a session that another one forked from."""
        root = session
        for _ in range(_MOST_FORKS):
            known = self._roots.get(root)
            if known is not None:
                root = known
                break
            parent = self._parent(root)
            if parent is None or parent == session:
                break
            root = parent
        if root != session:
            self._roots[session] = self._new_roots[session] = root
        return root

    def _parent(self, session: str) -> str | None:
        """Look into a session's rollout for the session that it forked from."""
        if self._rollouts is None:
            self._rollouts = dict(self._rollout_names())
        path = self._rollouts.get(session)
        if path is None:
            return None
        from oulipoly_engine.core.ledger_codex import parent_in  # noqa: PLC0415 - as above

        try:
            with open(path, "rb") as file:  # noqa: PTH123 - text
                line = file.readline(_LONGEST_META)
                changed_at = os.fstat(file.fileno()).st_mtime
        except OSError:
            return None
        if not line.endswith(b"\n") and changed_at > self._clock.now().timestamp() - _PATIENCE_S:
            raise FamilyUnknown(session)  # its first line is being written
        return parent_in(line)

    def _rollout_names(self) -> Iterator[tuple[str, str]]:
        for source in self._sources:
            if source.cli == "codex":
                for folder, _, names in os.walk(source.root):
                    for name in names:
                        if name.startswith("rollout-") and name.endswith(".jsonl"):
                            yield name[-42:-6], os.path.join(folder, name)  # noqa: PTH118 - ten thousand of them


def local_burn(store: Store, account: str, since: datetime) -> tuple[int, Tokens]:
    """Return how many API calls an account has made since an instant, and their tokens, as its transcripts tell."""
    return rows.sums(store, account, round(since.timestamp() * 1000))


def _new_bytes(seen: Seen, known: Mapping[str, Cursor]) -> int:
    cursor = known.get(seen.path)
    return seen.size if cursor is None or seen.size < cursor.offset else seen.size - cursor.offset


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
