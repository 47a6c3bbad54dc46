"""Transcripts on disk: which there are, what has become of them since the last pass, and their lines in blocks.

One buffer serves all files: a fresh one for each is several times slower, for the kernel has to hand out its pages.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

from oulipoly_engine.adapters.transcript_file import open_transcript
from oulipoly_engine.core.accounts.accounts import LONGEST_LINE
from oulipoly_engine.core.accounts.clis.adapters import ADAPTERS, Transcripts
from oulipoly_engine.core.ledger.calls import Damage, Found, Reader
from oulipoly_engine.records import Record, field
from oulipoly_engine.regular_files import DEEPEST, check_regular
from oulipoly_engine.store.ledger.calls import Cursor

_BUFFER = 1 << 20
_HEAD, _TAIL = 896, 64  # bytes that must be unchanged for a file to be read on; with the new tail 1 kB in all


class Source(Record):
    """A folder of transcripts and the account that wrote them."""

    account: str
    cli: str  # its name
    root: Path

    @property
    def transcripts(self) -> Transcripts:
        """Return what is known of transcripts of its CLI."""
        return ADAPTERS[self.cli]


class TranscriptFile(Record):
    """A transcript as the walk found it."""

    path: str
    source: Source
    size: int
    mtime_ns: int


class Walk(Record, frozen=False):
    """One look at all folders."""

    changed: list[TranscriptFile] = field(default_factory=list)
    count: int = 0  # of transcripts
    size: int = 0  # bytes of all of them
    gone: list[str] = field(default_factory=list)  # known paths that are no more
    notes: list[str] = field(default_factory=list)  # what could not be looked at


def walk(sources: tuple[Source, ...], known: dict[str, Cursor]) -> Walk:
    """Find the transcripts that are new or have changed. Links to folders are not followed."""
    found = Walk()
    missing = set(known)
    for source in sources:
        root = os.path.abspath(source.root)  # noqa: PTH100 - text, ten thousand times
        was_whole = _walk_folder(root, source, known, missing, found)
        if not was_whole:  # what could not be seen is not gone
            below = root.rstrip(os.sep) + os.sep
            missing = {path for path in missing if not path.startswith(below)}
    # A folder that is not an account's any more keeps its cursors: it may come back.
    roots = tuple(os.path.abspath(source.root).rstrip(os.sep) + os.sep for source in sources)  # noqa: PTH100 - as above
    found.gone = [path for path in missing if path.startswith(roots)]
    return found


def _walk_folder(
    folder: str, source: Source, known: dict[str, Cursor], missing: set[str], found: Walk, depth: int = 0
) -> bool:
    """Look at a folder and those below; tells whether all could be listed."""
    is_whole = True
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
    except FileNotFoundError:
        return depth > 0  # a removed folder is gone with its files; a missing root may be a disk that is not there
    except OSError as error:
        found.notes.append(f"{escape_path(folder)}: {error.strerror or type(error).__name__}")
        return False
    prefix = source.transcripts.prefix
    for entry in listed:
        name = entry.name
        try:
            if name.endswith(".jsonl") and name.startswith(prefix):
                status = entry.stat(follow_symlinks=False)
                path = entry.path
                missing.discard(path)
                cursor = known.get(path)
                check_regular(status, path)
                found.count += 1
                found.size += status.st_size
                if (
                    cursor is None
                    or cursor.mtime_ns != status.st_mtime_ns
                    or cursor.size != status.st_size
                    or cursor.inode != status.st_ino
                    or cursor.device != status.st_dev
                ):
                    found.changed.append(TranscriptFile(path, source, status.st_size, status.st_mtime_ns))
            elif depth < DEEPEST and entry.is_dir(follow_symlinks=False):
                is_whole &= _walk_folder(entry.path, source, known, missing, found, depth + 1)
        except FileNotFoundError:  # a file that went while we looked, or a link that leads nowhere
            continue
        except OSError as error:
            missing.discard(entry.path)
            found.notes.append(f"{escape_path(entry.path)}: {error.strerror or type(error).__name__}")
    return is_whole


def escape_path(path: str) -> str:
    """Return a path as text that a terminal and a database can hold, whatever its bytes are."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class Blocks:
    """Reads transcripts through one buffer, whole lines at a time."""

    def __init__(self, found: Found, longest_line: int = LONGEST_LINE) -> None:
        self.bytes_read = 0
        self._found = found
        self._longest = longest_line
        self._buffer = bytearray(_BUFFER)

    def read(self, path: str, before: Cursor | None, reader: Reader, pause: Callable[[Cursor], None]) -> Cursor:
        """Read what a transcript has gained and return its new cursor.

        pause: called between blocks of a long file with the cursor so far. Raises OSError.
        """
        try:
            with open_transcript(path, 0) as file:
                # Before the first byte: what is appended meanwhile shows as a change next time.
                status = os.fstat(file.fileno())
                return self._read(file.fileno(), path, status, before, reader, pause)
        finally:
            if len(self._buffer) > _BUFFER:
                self._buffer = bytearray(_BUFFER)

    def _read(
        self,
        descriptor: int,
        path: str,
        status: os.stat_result,
        before: Cursor | None,
        reader: Reader,
        pause: Callable[[Cursor], None],
    ) -> Cursor:
        start, state, head, generation = 0, None, b"", 0
        if before is not None:
            start, state, head, generation = before.offset, before.state, before.head, before.generation
            if start > status.st_size or self._marks(descriptor, start) != (before.head, before.tail):
                start, state, head, generation = 0, None, b"", generation + 1
        stem = path.rpartition(os.sep)[2].removesuffix(".jsonl")
        reader.begin(state, stem, status.st_mtime_ns // 1_000_000)
        end = start
        for end in self._lines(descriptor, start, status.st_size, reader):
            if end - start >= _BUFFER and end < status.st_size:
                pause(
                    Cursor(
                        status.st_dev,
                        status.st_ino,
                        end,
                        0,
                        end,
                        *self._marks(descriptor, end),
                        reader.state,
                        generation,
                    )
                )
        state = reader.state
        if start == end and before is not None and generation == before.generation:
            marks = (before.head, before.tail)
        elif head and start >= _HEAD:  # the head is as it was
            marks = (head, _digest(self._pread(descriptor, _TAIL, end - _TAIL)))
        else:
            marks = self._marks(descriptor, end)
        if self._rest:  # the last line has no end yet; if it is whole all the same, its call counts already
            self._peek(reader, end)
        return Cursor(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, end, *marks, state, generation)

    def _lines(self, descriptor: int, offset: int, size: int, reader: Reader) -> Iterator[int]:
        """Hand whole lines to the reader and yield the place behind them after each block."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        buffer, held, self._rest = self._buffer, 0, 0
        at = offset  # of buffer[0] in the file
        while at + held < size:
            with memoryview(buffer) as view:
                count = os.readv(descriptor, [view[held : min(len(buffer), size - at)]])
            if count == 0:  # shorter than it was
                break
            self.bytes_read += count
            cut = buffer.rfind(b"\n", held, held + count) + 1
            held += count
            if cut:
                reader.take(buffer, 0, cut, at)
                held -= cut
                buffer[:held] = buffer[cut : cut + held]
                at += cut
                yield at
            elif held == len(buffer):
                if held >= self._longest:
                    at, held = self._skip(descriptor, at, held, size), 0
                    if at < 0:
                        return
                    yield at
                    continue
                self._buffer = larger = bytearray(min(2 * len(buffer), self._longest))
                larger[:held] = buffer
                buffer = larger
        self._rest = held

    def _skip(self, descriptor: int, at: int, held: int, size: int) -> int:
        """Pass over a line that is too long; returns the place behind it, -1 if it has no end yet."""
        begin, at = at, at + held
        while at < size:
            part = os.pread(descriptor, min(_BUFFER, size - at), at)
            if not part:
                break
            self.bytes_read += len(part)
            cut = part.find(b"\n") + 1
            if cut:
                at += cut
                self._found.damaged.append(
                    Damage(begin, at - begin, f"longer than {self._longest} bytes (from byte {begin} on)")
                )
                os.lseek(descriptor, at, os.SEEK_SET)
                return at
            at += len(part)
        return -1

    def _peek(self, reader: Reader, offset: int) -> None:
        end = self._rest
        while end and self._buffer[end - 1] in b" \t\r\0":
            end -= 1
        if end and self._buffer[end - 1] == ord("}"):
            kept = len(self._found.damaged)
            reader.take(self._buffer, 0, end, offset)
            del self._found.damaged[kept:]  # what is being written is not damaged

    def _marks(self, descriptor: int, offset: int) -> tuple[bytes, bytes]:
        """Return digests of a file's first bytes and of those before the offset; what follows may still grow."""
        head = self._pread(descriptor, min(_HEAD, offset), 0)
        tail = self._pread(descriptor, min(_TAIL, offset), max(0, offset - _TAIL))
        return _digest(head), _digest(tail)

    def _pread(self, descriptor: int, size: int, offset: int) -> bytes:
        content = os.pread(descriptor, size, offset)
        self.bytes_read += len(content)
        return content


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=8).digest()
