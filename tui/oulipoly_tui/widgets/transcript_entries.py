"""What has come of a session, in pages, and what is asked for. Nothing of the screen here."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import PlacedEntry

PAGE = 32  # places
_PAGES_KEPT, _BYTES_KEPT = 80, 8 << 20
_PAGES_LEAST = 8  # whatever their size: more than a screen shows and asks for beside it, or they would never all come


class Entries:
    """The pages that are kept."""

    def __init__(self, need: Callable[[int, int], None]) -> None:
        self.length = 0  # places of the whole session
        self._need = need  # asks for a page by its number; the second one tells the questions apart
        self._pages: OrderedDict[int, tuple[PlacedEntry, ...]] = OrderedDict()
        self._bytes = 0  # of their texts
        self._requested: dict[int, int] = {}
        self._questions = 0

    def clear(self, length: int) -> None:
        """Forget everything."""
        self.length = length
        self._pages.clear()
        self._bytes = 0
        self._requested.clear()

    def at(self, place: int) -> PlacedEntry | None:
        """Return what stands at a place, None while it has not come."""
        page = self._pages.get(place // PAGE)
        index = place % PAGE
        if page is None or index >= len(page):
            return None
        return page[index]

    def has_page(self, number: int) -> bool:
        """Tell whether a page has come, whole or in part."""
        return number in self._pages

    def waits_for(self, number: int, question: int) -> bool:
        """Tell whether an answer is still wanted: a later question may have overtaken it."""
        return self._requested.get(number) == question

    def put(self, number: int, placed_entries: tuple[PlacedEntry, ...]) -> list[int]:
        """Keep a page; return the places that are not as they were."""
        self._requested.pop(number, None)
        before = self._pages.get(number, ())
        self._keep(number, placed_entries)
        return [
            number * PAGE + index
            for index, placed in enumerate(placed_entries)
            if index >= len(before) or before[index] != placed
        ]

    def ask(self, number: int) -> None:
        """Ask for a page that exists and is not asked for already."""
        if 0 <= number * PAGE < self.length and number not in self._requested:
            self._questions += 1
            self._requested[number] = self._questions
            self._need(number, self._questions)

    def renew(self, first_changed: int) -> Iterable[int]:
        """Ask again for what has changed, and keep the old places until it comes; return what is forgotten."""
        for number in [number for number in self._pages if (number + 1) * PAGE > first_changed]:
            self._keep(number, self._pages[number][: max(0, first_changed - number * PAGE)])
            self._requested.pop(number, None)
            self.ask(number)
            yield from range(max(first_changed, number * PAGE), (number + 1) * PAGE)

    def join(self, first: int, placed_entries: tuple[PlacedEntry, ...]) -> bool:
        """Put new entries behind what is there; return whether all that is before them in their page is."""
        number, index = divmod(first, PAGE)
        page = self._pages.get(number, ()) if index else ()
        if len(page) < index:
            return False
        joined = [*page[:index], *placed_entries]
        for at in range(0, len(joined), PAGE):
            self._requested.pop(number + at // PAGE, None)
            self._keep(number + at // PAGE, tuple(joined[at : at + PAGE]))
        return True

    def _keep(self, number: int, page: tuple[PlacedEntry, ...]) -> None:
        """Keep a page, and let the oldest go where there are too many, or too much is said in them."""
        self._bytes += _size(page) - _size(self._pages.get(number, ()))
        self._pages[number] = page
        self._pages.move_to_end(number)
        while len(self._pages) > (_PAGES_KEPT if self._bytes <= _BYTES_KEPT else _PAGES_LEAST):
            self._bytes -= _size(self._pages.popitem(last=False)[1])


def _size(page: Iterable[PlacedEntry]) -> int:
    """Return the bytes that a page's texts take."""
    entries = (placed.entry for placed in page if placed.entry is not None)
    return sum(sys.getsizeof(part.text) for entry in entries for part in entry.parts)
