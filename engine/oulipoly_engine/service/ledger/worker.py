"""Share the reading of much with a second process, which sends rows that are ready to be stored.

Both take pieces from one list, we from its front and the partner from its end, and mark what they take on a page that
they share. Should both take the same piece, it is read twice, which changes no total.
"""

from __future__ import annotations

import gc
import marshal
import mmap
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar

from oulipoly_engine.core.ledger.calls import Damage, Place
from oulipoly_engine.process.worker_process import WorkerProcess, answer, read_order
from oulipoly_engine.service.ledger.files import Source, TranscriptFile
from oulipoly_engine.service.ledger.reading import Reading
from oulipoly_engine.store.ledger.calls import Batch, Cursor

_PIECE_BYTES = 4 << 20  # 8 ms of work: so much may one of both wait for the other
_COLUMNS = 9  # of a call's row

T = TypeVar("T")


class Frame:
    """What a partner has sent: bytes that it has read, perhaps a batch, perhaps that a part of the work is done."""

    def __init__(self, raw: bytes) -> None:
        self.read_bytes, self.is_end, self.notes, self._batch = marshal.loads(raw)  # noqa: S302 - our own process

    def batch(self) -> Batch | None:
        """Return the batch, None where there is none."""
        if self._batch is None:
            return None
        calls, places, cursors, damaged, roots = self._batch
        values = array("q", calls)
        return Batch(
            zip(*[iter(values)] * _COLUMNS, strict=True),
            {number: Place(*names) for number, names in places},
            {path: Cursor(*values) for path, values in cursors},
            {path: [Damage(*one) for one in found] for path, found in damaged},
            roots,
        )


class SharedWork(Generic[T]):
    """The work of a pass in parts that follow each other, each in pieces that two processes take."""

    def __init__(self, parts: Sequence[Sequence[Sequence[T]]], page: mmap.mmap) -> None:
        self._parts = parts
        self._page = page
        self._firsts = [sum(map(len, parts[:number])) for number in range(len(parts))]

    def take(self, part: int, *, from_end: bool = False) -> Iterator[T]:
        """Take the files of a part's pieces that nobody has taken."""
        pieces, first, page = self._parts[part], self._firsts[part], self._page
        numbers = range(len(pieces))
        for at in reversed(numbers) if from_end else numbers:
            if not page[first + at]:
                page[first + at] = 1
                yield from pieces[at]


def _pieces(files: Sequence[TranscriptFile], sizes: Mapping[str, int]) -> list[list[TranscriptFile]]:
    """Cut a list of files into pieces. sizes: the new bytes of each, by path."""
    found: list[list[TranscriptFile]] = []
    room = 0
    for seen in files:
        if room <= 0:
            found.append([])
            room = _PIECE_BYTES
        found[-1].append(seen)
        room -= sizes[seen.path]
    return found


@contextmanager
def share_work(
    parts: Sequence[Sequence[TranscriptFile]],
    sizes: Mapping[str, int],
    known: Mapping[str, Cursor],
    sources: Sequence[Source],
    roots: Mapping[str, str],
    settings: tuple[float, int, int],
) -> Iterator[tuple[SharedWork[TranscriptFile], WorkerProcess]]:
    """Start a partner on work that is to be shared; it ends with the block.

    sizes: new bytes by path. settings: seconds since 1970, bytes of a batch, of the longest line. Raises SpawnFailed.
    """
    import tempfile  # noqa: PLC0415 - 10 ms, and the partner needs it not

    cut = [_pieces(part, sizes) for part in parts]
    numbers = {source: number for number, source in enumerate(sources)}
    order = marshal.dumps(
        (
            [
                [[(seen.path, numbers[seen.source], _plain(known.get(seen.path))) for seen in piece] for piece in part]
                for part in cut
            ],
            [(source.account, source.cli, str(source.root)) for source in sources],
            dict(roots),
            settings,
        )
    )
    with tempfile.TemporaryFile() as file:
        file.truncate(max(1, sum(map(len, cut))))
        with mmap.mmap(file.fileno(), 0) as page:
            size = file.fileno().to_bytes(4)
            with WorkerProcess(__name__, size + order, file.fileno()) as partner:
                yield SharedWork(cut, page), partner


def _plain(cursor: Cursor | None) -> tuple[Any, ...] | None:
    return None if cursor is None else tuple(cursor)


def _main() -> None:
    """Do a partner's share."""
    order = read_order()
    parts, folders, roots, (now_s, batch_bytes, longest_line) = marshal.loads(order[4:])  # noqa: S302 - our own process
    sources = tuple(Source(account, cli, Path(root)) for account, cli, root in folders)
    gc.disable()  # there is no cyclic garbage
    told = 0

    def send(batch: tuple[Any, ...] | None, *, is_end: bool = False) -> None:
        nonlocal told
        read_bytes, told = reading.bytes_done() - told, reading.bytes_done()
        answer(marshal.dumps((read_bytes, is_end, reading.notes, batch)))
        reading.notes = []

    def emit(batch: Batch) -> None:
        calls = array("q", chain.from_iterable(batch.calls)).tobytes()
        places = [(number, tuple(place)) for number, place in batch.places.items()]
        cursors = [(path, tuple(cursor)) for path, cursor in batch.cursors.items()]
        damaged = [(path, [tuple(one) for one in found]) for path, found in batch.damaged.items()]
        send((calls, places, cursors, damaged, dict(batch.roots)))

    reading = Reading(sources, emit, roots, longest_line)
    reading.begin(now_s, batch_bytes)
    with mmap.mmap(int.from_bytes(order[:4]), 0) as page:
        sharing: SharedWork[tuple[str, int, tuple[Any, ...] | None]] = SharedWork(parts, page)
        for part in range(len(parts)):
            for path, source, cursor in sharing.take(part, from_end=True):
                reading.read(path, sources[source], None if cursor is None else Cursor(*cursor))
                if reading.bytes_done() - told >= _PIECE_BYTES:
                    send(None)
            reading.flush()
            send(None, is_end=True)


if __name__ == "__main__":
    _main()
