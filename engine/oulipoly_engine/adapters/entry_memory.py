"""Turn adapters for a caller that stays: cursors held in memory, and passes over files that are known to have changed.

A cursor file of ten thousand transcripts takes 40 ms to read and to write again, for one appended line. Here it is read
once and written when `save` is called; what a crash loses is read again, and stored entries are not stored twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from oulipoly_engine.adapters import entry_decoder as decoder
from oulipoly_engine.adapters.bundled import SessionCall
from oulipoly_engine.adapters.scripts.turns import LONGEST_LINE, Cursor, Format, Reading
from oulipoly_engine.core.transcripts.turn_script import Told

_Stamp = tuple[int, int, int]


class EntryMemory:
    """How far an account's transcripts have been read."""

    def __init__(self, call: SessionCall, state_dir: Path, longest_line: int = LONGEST_LINE) -> None:
        self.call = call
        self.longest_line = longest_line
        self.cursors: dict[str, Cursor] = {}
        self._state_dir = state_dir
        self._saved: _Stamp | None = None  # of the cursor file as we know it
        self._form = decoder.form(call.name)
        self._unsaved: set[str] = set()

    def reading(self, paths: Sequence[str]) -> Reading[Told]:
        """Return a pass over some files; what it keeps is kept here."""
        self._look()
        return _Known(self, self._state_dir, paths, self._form)

    def unread(self, paths: Sequence[str]) -> list[str]:
        """Return those of some files with which something has happened since they were read."""
        self._look()
        return [path for path in paths if not self._is_read(path)]

    def forget(self) -> None:
        """Begin anew: nothing of what was read is stored any more."""
        self.cursors.clear()
        self._saved = _stamp(self._file)

    def take(self, path: str, cursor: Cursor | None) -> None:
        """Remember how far one file was read; None: it is no more."""
        if cursor is None:
            self.cursors.pop(path, None)
        else:
            self.cursors[path] = cursor
        self._unsaved.add(path)

    def save(self) -> None:
        """Write the cursors for the next caller. Raises TurnsFailed."""
        if not self._unsaved:
            return
        self._look()
        whole = Reading(self._form, self.call.folder, self._state_dir)
        whole._now = self.cursors
        whole.keep()
        self._unsaved.clear()
        self._saved = _stamp(self._file)

    @property
    def _file(self) -> Path:
        return self._state_dir / f"{self.call.name}.json"

    def _look(self) -> None:
        """Read the cursor file where another process has written it; ours of files that we read since stay."""
        found = _stamp(self._file)
        if found is None or found == self._saved:
            return
        ours = {path: self.cursors.get(path) for path in self._unsaved}
        self.cursors = Reading(self._form, self.call.folder, self._state_dir)._load()
        for path, cursor in ours.items():
            self.take(path, cursor)
        self._saved = found

    def _is_read(self, path: str) -> bool:
        cursor = self.cursors.get(path)
        try:
            return cursor is not None and cursor.is_of(os.stat(path))  # noqa: PTH116 - ten thousand of them
        except OSError:
            return False


class _Known(Reading[Told]):
    """A pass over known files instead of a walk."""

    def __init__(self, memory: EntryMemory, state_dir: Path, paths: Sequence[str], form: Format[Told]) -> None:
        super().__init__(form, memory.call.folder, state_dir, longest_line=memory.longest_line)
        self._memory = memory
        self._paths = paths

    def keep(self) -> None:
        for path in self._paths:
            self._memory.take(path, self._now.get(path))

    def _load(self) -> dict[str, Cursor]:
        cursors = self._memory.cursors
        return {path: cursors[path] for path in self._paths if path in cursors}

    def _transcripts(self, root: str) -> Iterator[str]:
        return iter(path for path in self._paths if path.startswith(root.rstrip(os.sep) + os.sep))


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
