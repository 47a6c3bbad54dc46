"""The lines of places, folded and unfolded, laid out where somebody looks. Nothing of the screen here.

A position is a place and a line of it, never a count of lines from the top: so nothing but what is looked at is ever
laid out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from oulipoly_tui.view.transcript.transcript import TranscriptLine

Position = tuple[int, int]  # a place and a line of it
WAITING = (TranscriptLine((("…", "dim"),)),)
_LINES_KEPT = 6_000  # some 500 bytes each


class PlacesLayout(ABC):
    """The lines."""

    def __init__(self) -> None:
        self.drawn = 0  # lines that were laid out, for whoever counts work
        self._width = 12
        self._laid: OrderedDict[int, Sequence[TranscriptLine]] = OrderedDict()
        self._counts: dict[int, int] = {}  # of lines, by place: a list of them may grow
        self._count = 0  # of all
        self._shown = self._ending = range(0)  # places of the last walk, and those at the end: they are kept

    @property
    @abstractmethod
    def length(self) -> int:
        """Return how many places there are."""

    @abstractmethod
    def make(self, place: int) -> Sequence[TranscriptLine] | None:
        """Return the lines of a place, at another time perhaps the same list with more; None: it has not come."""

    @abstractmethod
    def toggle(self, place: int, part: int) -> bool:
        """Unfold a part, or fold it; return whether it can be folded at all."""

    @abstractmethod
    def toggle_all(self) -> None:
        """Unfold everything, or fold it again."""

    @property
    @abstractmethod
    def unfolds_all(self) -> bool:
        """Tell whether everything is unfolded."""

    @abstractmethod
    def unfold_for(self, place: int, text: str) -> None:
        """Unfold what hides a text."""

    def forget(self) -> None:
        """Lay everything out anew."""
        self._laid.clear()
        self._counts.clear()
        self._count = 0

    def fit(self, width: int) -> None:
        """Lay out for a width."""
        self._width = max(12, width)
        self.forget()

    def drop(self, place: int) -> None:
        """Lay one place out anew."""
        if self._laid.pop(place, None) is not None:
            self._count -= self._counts.pop(place)

    def lines_at(self, place: int) -> Sequence[TranscriptLine]:
        """Return the lines of a place: none where there is no such place; "waiting" where it has not come yet."""
        if place >= self.length:
            return ()
        lines = self._laid.get(place)
        if lines is not None:
            self._laid.move_to_end(place)
            return lines
        made = self.make(place)
        if made is None:
            return WAITING
        self._laid[place] = made
        count = self._counts[place] = len(made)
        self.drawn += count
        self._count += count
        self._let_go(place)
        return made

    def _let_go(self, place: int) -> None:
        """Forget what was looked at longest ago, where there is too much, but nothing that is looked at now."""
        while self._count > _LINES_KEPT:
            idle = (one for one in self._laid if one not in self._shown and one not in self._ending and one != place)
            oldest = next(idle, None)
            if oldest is None:
                break
            self.drop(oldest)

    # ---- positions

    def after(self, position: Position) -> Position | None:
        """Return the position below, None at the end."""
        place, line = position
        if line + 1 < len(self.lines_at(place)):
            return place, line + 1
        for following in range(place + 1, self.length):
            if self.lines_at(following):
                return following, 0
        return None

    def before(self, position: Position) -> Position | None:
        """Return the position above, None at the beginning."""
        place, line = position
        if line > 0:
            return place, line - 1
        for above in range(place - 1, -1, -1):
            lines = self.lines_at(above)
            if lines:
                return above, len(lines) - 1
        return None

    def walk(self, top: Position, count: int) -> Iterator[tuple[int, int, TranscriptLine]]:
        """Yield so many lines from a position on."""
        place, line = top
        while count > 0 and place < self.length:
            lines = self.lines_at(place)
            shown = range(min(line, len(lines)), min(len(lines), line + count))
            yield from ((place, at, lines[at]) for at in shown)
            count -= len(shown)
            place, line = place + 1, 0
        self._shown = range(top[0], place)

    def end_top(self, height: int) -> Position:
        """Return where the view stands when the last line is at the bottom."""
        at = self.before((self.length, 0)) if self.length else None
        if at is None:
            return 0, 0
        for _ in range(height - 1):
            self._ending = range(at[0], self.length)
            above = self.before(at)
            if above is None:
                return 0, 0
            at = above
        return at
