"""Follow the one session that is shown, as its CLI writes it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from oulipoly_engine.clock import Clock
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.events import Event, Listeners
from oulipoly_engine.service.following.file_notice import FileNotice
from oulipoly_engine.service.following.notices import Notices
from oulipoly_engine.service.reading.pages import FilePages, Growth, Pages, PlacedEntry, Provenance

INTERVAL_S = 0.03  # at least so long from one look to the next: a burst of appends is told of together
_STORED_EVERY = 25  # looks: stored entries are asked of the state file, and come a scan at a time
_FOUND_AT_ONCE = 2_000  # places
_TOLD = 16  # new places that are told with their turns
_CLOSING_PATIENCE_S = 2.0


class TranscriptGrew(Event):
    """The session that is followed has got new entries, or was rewritten, or its file has come or gone."""

    key: str  # whose it is
    growth: Growth
    placed_entries: tuple[
        PlacedEntry, ...
    ] = ()  # from the first place that changed, redacted; empty: too many, ask for pages


class TranscriptFollower:
    """Owns open pages: every question goes through it, one at a time, and a thread looks for what is new."""

    def __init__(
        self,
        pages: Pages,
        key: str,
        listeners: Listeners,
        clock: Clock,
        interval_s: float = INTERVAL_S,
        notices: Notices | None = None,
    ) -> None:
        """notices: of whoever watches all transcripts; without it, or where it is not told there, we watch the file."""
        self.pages = pages
        self.key = key
        self._listeners = listeners
        self._clock = clock
        self._interval_s = interval_s if isinstance(pages, FilePages) else interval_s * _STORED_EVERY
        self._notice = FileNotice(pages.path, notices or Notices()) if isinstance(pages, FilePages) else None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follow-transcript", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Return how many places there are."""
        return len(self.pages)

    def page(self, start: int, count: int, *, redacting: bool = True) -> tuple[PlacedEntry, ...]:
        """Return what stands at some places."""
        with self._alone():
            return self.pages.page(start, count, redacting=redacting)

    def find(self, text: str, start: int, step: int) -> int | None:
        """Return the next place from `start` on, backwards with a negative step, that shows a text; any case."""
        length = len(self)
        places = range(max(0, start), length) if step > 0 else range(min(start, length - 1), -1, -1)
        for begin in range(0, len(places), _FOUND_AT_ONCE):
            with self._alone():  # between two looks pages can be turned
                found = self.pages.find(text, places[begin : begin + _FOUND_AT_ONCE])
            if found is not None or self._ended.is_set():
                return found
        return None

    def place_of(self, entry_id: str, near: str = "") -> int | None:
        """Return where an entry stands."""
        with self._alone():
            return self.pages.place_of(entry_id, near)

    def provenance(self, place: int) -> Provenance:
        """Return where a place's content comes from."""
        with self._alone():
            return self.pages.provenance(place)

    def close(self) -> None:
        """End the thread and let go of the pages."""
        self._ended.set()
        if self._notice is not None:
            self._notice.interrupt()
        self._thread.join(_CLOSING_PATIENCE_S)
        if self._notice is not None:
            self._notice.close()
        with self._lock:
            self.pages.close()

    def _publish(self, growth: Growth) -> None:
        """Tell what is new with the turns themselves, as long as they are few: nobody need ask again."""
        count = growth.length - growth.first_changed
        is_small = not growth.is_new_file and count <= _TOLD
        placed_entries = self.pages.page(growth.first_changed, count, redacting=True) if is_small else ()
        self._listeners.publish(TranscriptGrew(self._clock.now(), self.key, growth, placed_entries))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            finally:
                self.pages.rest()

    def _run(self) -> None:
        while not self._ended.wait(self._interval_s):
            if self._notice is not None:
                self._notice.wait()
            growth = None
            with suppress(OSError, RunnerError), self._lock:
                growth = self.pages.grow()
                if growth is not None:
                    self._publish(growth)
