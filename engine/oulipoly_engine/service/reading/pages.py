"""One session by pages, however long it is: places of its entries, each read when it is looked at.

Of a file only the lines that may hold an entry are noted, 16 bytes each; the file is followed as its CLI writes it.
For one thread at a time.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Protocol

from oulipoly_engine.adapters.transcript_file import find_status, open_transcript
from oulipoly_engine.core.accounts.accounts import LONGEST_LINE, StorageType
from oulipoly_engine.core.transcripts import claude, codex
from oulipoly_engine.core.transcripts.canonical import Line, read_stored_chunks
from oulipoly_engine.core.transcripts.dialogue import Entry, Findings, Part, of_chunks
from oulipoly_engine.core.transcripts.document_head import Origin
from oulipoly_engine.core.transcripts.sanitize import Visible
from oulipoly_engine.records import Record, replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.transcripts.entry_pages import EntryPages

_BLOCK = 1 << 22
_TAIL = 512  # bytes before the end of what was read, by which an appended file is told from a rewritten one
_OPENS, _CLOSES = b"{}"
_LONGEST_PART = 200_000  # characters that are shown of one part; the pager has all of it
_READERS: dict[StorageType, Callable[[Iterable[Line], Findings], Iterator[Entry]]] = {
    StorageType.CLAUDE_CODE: claude.dialogue,
    StorageType.CODEX_SESSION: codex.dialogue,
}
# What every line with an entry holds; a line without one costs no more than this look.
_HINTS = {
    StorageType.CLAUDE_CODE: re.compile(rb'"type"\s*:\s*"(?:user|assistant)"'),
    StorageType.CODEX_SESSION: re.compile(rb'"type"\s*:\s*"(?:response_item|compacted)"'),
}


class PlacedEntry(Record):
    """What stands at one place."""

    place: int
    entry: Entry | None  # None: the record holds nothing to show


class Damage(Record):
    """The whole lines of a file that cannot be read."""

    lines: int = 0
    first: int = 0  # its number, from 1; 0: there is none


class Provenance(Record):
    """Where one entry comes from."""

    origin: Origin
    place: str  # a path, or the row of the state file
    line: int | None
    byte_start: int | None
    byte_end: int | None
    sha256: str
    is_gone: bool = False  # the file is not there any more
    damage: Damage = Damage()


class Growth(Record):
    """What has happened to a session since the last look."""

    length: int
    first_changed: int  # places from here on are new, or hold something else
    is_new_file: bool = False  # it was rewritten: nothing that was read holds any more
    is_gone: bool = False  # its file has gone away since; what was read of it stays
    is_back: bool = False  # its file was gone at the last look, and is there again


class Pages(Protocol):
    """A session by places."""

    origin: Origin
    is_gone: bool  # its file was there once and is not at the last look
    damage: Damage

    def __len__(self) -> int:
        """Return how many places there are."""

    def page(self, start: int, count: int, *, redacting: bool) -> tuple[PlacedEntry, ...]:
        """Return what stands at some places, as it may be shown."""

    def grow(self) -> Growth | None:
        """Look again; None: nothing has changed."""

    def provenance(self, place: int) -> Provenance:
        """Return where a place's content comes from."""

    def place_of(self, entry_id: str, near: str = "") -> int | None:
        """Return where an entry stands. near: its instant, where ids are not the file's own."""

    def find(self, text: str, places: Iterable[int]) -> int | None:
        """Return the first of some places that shows a text; any case."""

    def rest(self) -> None:
        """Let go of what this thread alone holds."""

    def close(self) -> None:
        """Let go of it."""


class FilePages:
    """A transcript file, or a kept copy of one."""

    def __init__(
        self,
        path: Path,
        storage_type: StorageType,
        origin: Origin = Origin.TRANSCRIPT,
        file: BinaryIO | None = None,
        longest_line: int = LONGEST_LINE,
    ) -> None:
        """Open it. file: the bytes, where the path is only a name. Raises OSError."""
        self._longest = longest_line
        self.origin = origin
        self.path = path
        self._kind = storage_type
        self._read = _READERS[storage_type]
        self._hint = _HINTS[storage_type]
        self.is_gone = False
        self._is_copy = file is not None
        self._file: BinaryIO = open_transcript(path, 0) if file is None else file
        self._forget()
        self._scan()

    def __len__(self) -> int:
        """Return how many lines may hold an entry."""
        return len(self._starts)

    def page(self, start: int, count: int, *, redacting: bool) -> tuple[PlacedEntry, ...]:
        """Return entries by place."""
        visible = Visible(redacting=redacting)
        places = range(max(0, start), min(len(self), start + count))
        return tuple(PlacedEntry(place, _filter_entry(self._entry(place), visible)) for place in places)

    def grow(self) -> Growth | None:
        """Take in what was appended, or begin anew with a file that was rewritten; tell once that it is gone, or back.

        Raises OSError while the file cannot be opened.
        """
        if self._is_copy:
            return None
        status = find_status(self.path)
        if status is None:
            was_gone, self.is_gone = self.is_gone, True
            return None if was_gone else Growth(len(self), len(self), is_gone=True)  # what was open stays readable
        growth = self._look(status)
        if self.is_gone:
            self.is_gone = False
            return replace(growth or Growth(len(self), len(self)), is_back=True)
        return growth

    def provenance(self, place: int) -> Provenance:
        """Return the line's number, its bytes and their hash."""
        start, data = self._starts[place], self._bytes(place)
        number, digest = self._numbers[place], sha256(data).hexdigest()
        return Provenance(
            self.origin, str(self.path), number, start, start + len(data), digest, self.is_gone, self.damage
        )

    def place_of(self, entry_id: str, near: str = "") -> int | None:
        """Look for an entry's id in the lines; ids that we have made ourselves are found by their instant."""
        for wanted in (entry_id, near[:23]):
            if wanted:
                needle = wanted.encode()
                found = next((place for place in range(len(self)) if needle in self._bytes(place)), None)
                if found is not None:
                    return found
        return None

    def find(self, text: str, places: Iterable[int]) -> int | None:
        """Look through the bytes first: few lines are decoded."""
        wanted = text.casefold()
        hint = max(re.findall(r"[a-z0-9]+", wanted), key=len, default="").encode()
        for place in places:
            if hint and hint not in self._bytes(place).lower():
                continue
            if _says(_filter_entry(self._entry(place), Visible()), wanted):
                return place
        return None

    def rest(self) -> None:
        """Hold on: a file is every thread's."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _look(self, status: os.stat_result) -> Growth | None:
        """Take in what the path leads to now."""
        identity = (status.st_dev, status.st_ino)
        if identity == self._identity and status.st_size == self._size and status.st_mtime_ns == self._mtime_ns:
            return None
        if identity == self._identity and status.st_size > self._size and self._still_stands():
            before = len(self) - self._has_open_end
            self._scan()
            return Growth(len(self), max(0, before))
        if identity != self._identity:
            new = open_transcript(self.path, 0)  # first: it may be gone again, and what was open stays readable
            self._file.close()
            self._file = new
        self._forget()
        self._scan()
        return Growth(len(self), 0, is_new_file=True)

    def _still_stands(self) -> bool:
        """Tell whether the file goes on behind what was read: an editor writes a whole one in its place."""
        start = self._line_start - len(self._tail)
        return os.pread(self._file.fileno(), len(self._tail), start) == self._tail

    def _forget(self) -> None:
        self._tail = b""
        self._starts, self._ends, self._numbers = array("Q"), array("Q"), array("L")
        self._size = self._line_start = 0
        self._passed = 0  # up to here there is no end of the last line, which is too long
        self._mtime_ns = 0
        self._lines = 0
        self.damage = Damage()
        self._has_open_end = False
        self._identity = (0, 0)

    def _scan(self) -> None:
        """Note the lines behind what is noted. A last one that is not ended yet is taken, and again when it is."""
        status = os.fstat(self._file.fileno())
        self._identity, self._mtime_ns = (status.st_dev, status.st_ino), status.st_mtime_ns
        if self._has_open_end:
            for numbers in (self._starts, self._ends, self._numbers):
                numbers.pop()
            self._has_open_end = False
        rest, at = b"", self._line_start
        while at + len(rest) < status.st_size:
            if len(rest) > self._longest or self._passed > at:
                rest, at = b"", self._pass_over(at, max(at + len(rest), self._passed))
                if self._passed:
                    break
                continue
            left = status.st_size - at - len(rest)  # Python takes memory for all that it is told to read
            block = os.pread(self._file.fileno(), min(_BLOCK, self._longest, left), at + len(rest))
            if not block:
                break
            rest, at = self._note(rest + block, at)
        self._line_start = at
        self._tail = os.pread(self._file.fileno(), min(at, _TAIL), max(0, at - _TAIL))
        self._size = self._passed or at + len(rest)
        if rest.strip() and self._hint.search(rest):
            self._starts.append(at)
            self._ends.append(at + len(rest))
            self._numbers.append(self._lines + 1)
            self._has_open_end = True

    def _pass_over(self, at: int, behind: int) -> int:
        """Look for the end of a line that is too long; return where the next one begins, the same place if nowhere."""
        while block := os.pread(self._file.fileno(), _BLOCK, behind):
            end = block.find(b"\n") + 1
            if end:
                self._passed = 0
                self._lines += 1
                self.damage = Damage(self.damage.lines + 1, self.damage.first or self._lines)
                return behind + end
            behind += len(block)
        self._passed = behind
        return at

    def _note(self, data: bytes, at: int) -> tuple[bytes, int]:
        """Note the whole lines of some bytes; return what is left, and where that begins."""
        start, number, opens, closes = 0, self._lines, _OPENS, _CLOSES
        # Looked up once: a long file has a hundred thousand lines.
        find, hint = data.find, self._hint.search
        add_start, add_end, add_number = self._starts.append, self._ends.append, self._numbers.append
        if (end := find(b"\n")) > self._longest:  # only the first one can be: the others lie within one block
            start, number = end + 1, number + 1
            self.damage = Damage(self.damage.lines + 1, self.damage.first or number)
        while (end := find(b"\n", start)) >= 0:
            number += 1
            # Nothing is decoded here: a record is an object on one line, and what is broken off lacks an end.
            if (data[start] != opens or data[end - 1] != closes) and _is_damaged(data[start:end]):
                self.damage = Damage(self.damage.lines + 1, self.damage.first or number)
            if hint(data, start, end):
                add_start(at + start)
                add_end(at + end)
                add_number(number)
            start = end + 1
        self._lines = number
        return data[start:], at + start

    def _bytes(self, place: int) -> bytes:
        start = self._starts[place]
        return os.pread(self._file.fileno(), self._ends[place] - start, start).removesuffix(b"\r")

    def _entry(self, place: int) -> Entry | None:
        line = Line(self._numbers[place], self._starts[place], self._bytes(place))
        return next(iter(self._read((line,), Findings())), None)


class StoredPages:
    """The stored entries of a session whose transcript is gone."""

    origin = Origin.STATE
    is_gone = False
    damage = Damage()

    def __init__(self, store: Store, account: str, session_id: str) -> None:
        self._store = store
        self._key = (account, session_id)
        self._pages = EntryPages(store, account, session_id)

    def __len__(self) -> int:
        """Return how many entries are stored."""
        return len(self._pages)

    def page(self, start: int, count: int, *, redacting: bool) -> tuple[PlacedEntry, ...]:
        """Return entries by position."""
        visible = Visible(redacting=redacting)
        rows = self._pages.page(start, count)
        found = []
        for place, row in enumerate(rows, max(0, start)):
            try:
                chunks = read_stored_chunks(row.body) if row.body is not None else ()
            except (ValueError, RecursionError):
                chunks = ()
            entry = of_chunks(row.role, row.timestamp, chunks, row.entry_id, row.row_id)
            found.append(PlacedEntry(place, _filter_entry(replace(entry, is_sidechain=row.is_sidechain), visible)))
        return tuple(found)

    def grow(self) -> Growth | None:
        """Look for turns that were stored meanwhile."""
        before = len(self)
        self._pages.refresh()
        return Growth(len(self), before) if len(self) != before else None

    def provenance(self, place: int) -> Provenance:
        """Return the row."""
        (row,) = self._pages.page(place, 1)
        digest = sha256((row.body or "").encode("utf-8", "surrogatepass")).hexdigest()
        return Provenance(
            self.origin, f"{self._store.path}, row {row.row_id} of session_turns", None, None, None, digest
        )

    def place_of(self, entry_id: str, near: str = "") -> int | None:
        """Return where an entry stands."""
        for start in range(0, len(self), 500):
            for place, row in enumerate(self._pages.page(start, 500), start):
                if row.entry_id == entry_id:
                    return place
        return None

    def find(self, text: str, places: Iterable[int]) -> int | None:
        """Look at one entry after the other."""
        wanted = text.casefold()
        for place in places:
            if any(_says(placed.entry, wanted) for placed in self.page(place, 1, redacting=True)):
                return place
        return None

    def rest(self) -> None:
        """Close this thread's connection."""
        self._store.close()

    def close(self) -> None:
        """Close this thread's connection."""
        self._store.close()


def text_of(entry: Entry) -> str:
    """Return everything that an entry says."""
    return "\n".join(f"{part.label} {part.text}" if part.label else part.text for part in entry.parts)


def _is_damaged(line: bytes) -> bool:
    line = line.strip()  # of a carriage return, for one
    return bool(line) and not (line.startswith(b"{") and line.endswith(b"}"))


def _says(entry: Entry | None, wanted: str) -> bool:
    return entry is not None and wanted in text_of(entry).casefold()


def _filter_entry(entry: Entry | None, visible: Visible) -> Entry | None:
    if entry is None:
        return None
    return visible.entry(replace(entry, parts=tuple(_shorten_part(part) for part in entry.parts)))


def _shorten_part(part: Part) -> Part:
    if len(part.text) <= _LONGEST_PART:
        return part
    more = len(part.text) - _LONGEST_PART
    return replace(part, text=f"{part.text[:_LONGEST_PART]}\n… {more:,} more characters: the CLI's own file has them")
