"""A session of any length: pages of it come when they are looked at, lines are made when they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from oulipoly_tui.widgets.places.transcript_layout import Layout
from oulipoly_tui.widgets.places.view import PlacesView
from oulipoly_tui.widgets.transcript_entries import PAGE, Entries

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import PlacedEntry


class TranscriptView(PlacesView):
    """Shows pages that are given to it, and asks for those that are missing."""

    def __init__(self, need: Callable[[int, int], None], *, id: str | None = None) -> None:
        self._entries = Entries(need)
        self._laid_entries = Layout(self._entries)
        super().__init__(self._laid_entries, id=id)

    def begin(self, length: int, *, is_side: bool = False) -> None:
        """Show another session, from its end."""
        self._entries.clear(length)
        self._laid_entries.begin(is_side=is_side)
        self._pattern = None
        self._forget()
        self.is_following = True
        self._to_end()

    def give(self, number: int, question: int, placed_entries: tuple[PlacedEntry, ...]) -> None:
        """Take a page; an answer that a later question has overtaken is left."""
        if self._entries.waits_for(number, question):
            self.put(number, placed_entries)

    def put(self, number: int, placed_entries: tuple[PlacedEntry, ...]) -> None:
        """Take a page that was asked for elsewhere."""
        waited_for_top = self._top[0] // PAGE == number and not self._entries.has_page(number)
        for place in self._entries.put(number, placed_entries):
            self._drop(place)
        if self.is_following:
            self._to_end()
        elif waited_for_top and self._from_below:
            self._set_top((self._top[0], max(0, len(self._laid.lines_at(self._top[0])) - 1)))
        else:
            self._redraw()

    def grew(self, length: int, first_changed: int, placed_entries: tuple[PlacedEntry, ...] = ()) -> None:
        """Take note of new places, whose entries may come with them; else pages are asked for again."""
        self._entries.length = length
        if placed_entries and self._entries.join(first_changed, placed_entries):
            for place in range(first_changed, first_changed + len(placed_entries)):
                self._drop(place)
            if self.is_following:
                self._to_end()
            return
        for place in self._entries.renew(first_changed):
            self._drop(place)
        self._to_end() if self.is_following else self._redraw()

    def restart(self, length: int) -> None:
        """Take note that nothing is as it was."""
        self._entries.clear(length)
        self._forget()
        self._to_end() if self.is_following else self._set_top((min(self._top[0], max(0, length - 1)), 0))

    def entry(self, place: int) -> PlacedEntry | None:
        """Return what stands at a place, None while it has not come."""
        return self._entries.at(place)

    def look_ahead(self) -> None:
        """Ask for the pages beside those on the screen, so that they are there when they are scrolled to."""
        view = self._view
        first, last = (view[0][0], view[-1][0]) if view else (self._top[0], self._top[0])
        for number in (first // PAGE - 1, last // PAGE + 1):
            if number >= 0 and not self._entries.has_page(number):
                self._entries.ask(number)
