"""Read transcripts of some accounts into batches that can be stored, in whichever process does it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module

from oulipoly_engine.adapters.transcript_file import open_transcript
from oulipoly_engine.core.ledger.calls import FamilyUnknown, Found, Place, Reader
from oulipoly_engine.regular_files import walk_folders
from oulipoly_engine.service.ledger.files import Blocks, Source, escape_path
from oulipoly_engine.store.ledger.calls import Batch, Cursor, rows_of

_MOST_CALLS = 30_000  # in a batch: 15 MB of memory
_LONGEST_META = 16 << 20  # bytes of a first line, which holds the instructions
_PATIENCE_S = 600.0  # for the first line of a session that another one forked from
_MOST_FORKS = 64  # generations of a session's family that are looked up


class Reading:
    """Reads files one after the other and hands over what it has found, batch by batch.

    emit: takes a batch. roots: the first ancestors of forked sessions that are known.
    """

    def __init__(
        self, sources: tuple[Source, ...], emit: Callable[[Batch], None], roots: dict[str, str], longest_line: int
    ) -> None:
        self.roots = roots
        self.done = 0  # bytes read
        self.notes: list[str] = []
        self._sources = sources
        self._emit = emit
        self._found = Found()
        self._blocks = Blocks(self._found, longest_line)
        self._readers: dict[Source, Reader] = {}
        self._places: dict[Place, int] = {}  # that have been handed over
        self._batch = Batch()
        self._begun = 0
        self._now_s = 0.0
        self._batch_bytes = 0
        self._new_roots: dict[str, str] = {}
        self._rollouts: dict[str, str] | None = None  # session -> path, of this pass

    def begin(self, now_s: float, batch_bytes: int) -> None:
        """Begin a pass; what the last one has not handed over is read again."""
        self._now_s, self._batch_bytes = now_s, batch_bytes
        self._rollouts = None
        self._batch = Batch()
        self._found.damaged.clear()
        self.notes = []
        self._begun = self._blocks.bytes_read
        self.done = 0

    def read(self, path: str, source: Source, before: Cursor | None) -> None:
        """Read what a transcript has gained."""

        def pause(cursor: Cursor) -> None:
            if self._is_full():
                self._note(path, cursor)
                self.flush()

        try:
            cursor = self._blocks.read(path, before, self._reader(source), pause)
        except FamilyUnknown:
            return
        except OSError as error:  # unreadable, or gone since the folder was listed
            self.notes.append(f"{escape_path(path)}: {error.strerror or type(error).__name__}")
            self._found.damaged.clear()
            return
        self._note(path, cursor)
        if self._is_full():
            self.flush()

    def flush(self) -> None:
        """Hand over what has been read, if anything was."""
        batch, found = self._batch, self._found
        self.done += self._read_since()
        self._begun = self._blocks.bytes_read
        if not (batch.cursors or found.calls):
            return
        batch.places, batch.calls = rows_of(found.calls, self._places)
        batch.roots = self._new_roots
        self._batch = Batch()
        found.calls.clear()
        self._emit(batch)
        self._new_roots = {}
        self._places.update((place, number) for number, place in batch.places.items())

    def bytes_done(self) -> int:
        """Return how many bytes this pass has read."""
        return self.done + self._read_since()

    def _read_since(self) -> int:
        return self._blocks.bytes_read - self._begun

    def _is_full(self) -> bool:
        return self._read_since() >= self._batch_bytes or len(self._found.calls) >= _MOST_CALLS

    def _note(self, path: str, cursor: Cursor) -> None:
        self._batch.cursors[path] = cursor
        if self._found.damaged:
            self._batch.damaged.setdefault(path, []).extend(self._found.damaged)
            self._found.damaged.clear()

    def _reader(self, source: Source) -> Reader:
        reader = self._readers.get(source)
        if reader is None:
            reader = self._readers[source] = self._new_reader(source)
        return reader

    def _new_reader(self, source: Source) -> Reader:
        module, _, name = source.transcripts.calls.partition(":")
        make = getattr(import_module(f"oulipoly_engine.core.ledger.{module}"), name)  # msgspec, 8 ms, only to read
        more = (self._root_of,) if source.transcripts.tells_forks else ()
        reader: Reader = make(source.account, self._found, *more)
        return reader

    def _root_of(self, session: str) -> str:
        """Return the first ancestor of a session that another one forked from."""
        root = session
        for _ in range(_MOST_FORKS):
            known = self.roots.get(root)
            if known is not None:
                root = known
                break
            parent = self._parent(root)
            if parent is None or parent == session:
                break
            root = parent
        if root != session:
            self.roots[session] = self._new_roots[session] = root
        return root

    def _parent(self, session: str) -> str | None:
        """Look into a session's rollout for the session that it forked from."""
        if self._rollouts is None:
            self._rollouts = dict(self._rollout_names())
        path = self._rollouts.get(session)
        if path is None:
            return None
        from oulipoly_engine.core.ledger.codex import parent_in  # noqa: PLC0415 - msgspec, 8 ms, only to read

        try:
            with open_transcript(path) as file:
                line = file.readline(_LONGEST_META)
                changed_at = os.fstat(file.fileno()).st_mtime
        except OSError:
            return None
        if not line.endswith(b"\n") and changed_at > self._now_s - _PATIENCE_S:
            raise FamilyUnknown(session)  # its first line is being written
        return parent_in(line)

    def _rollout_names(self) -> Iterator[tuple[str, str]]:
        for source in self._sources:
            if source.transcripts.tells_forks:
                for folder, _, names in walk_folders(source.root):
                    for name in names:
                        if name.startswith(source.transcripts.prefix) and name.endswith(".jsonl"):
                            yield name[-42:-6], os.path.join(folder, name)  # noqa: PTH118 - ten thousand of them
