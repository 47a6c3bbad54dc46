"""The lines of a session, folded and unfolded, laid out where somebody looks. Nothing of the screen here.

A position is a place and a line of it, never a count of lines from the top: so nothing but what is looked at is ever
laid out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from oulipoly_engine.records import replace
from oulipoly_tui.view.transcript.transcript import SIDE_CHAIN, Folds, TranscriptLine, entry_lines, foldable, part_with
from oulipoly_tui.widgets.transcript_entries import PAGE, Entries

Position = tuple[int, int]  # a place and a line of it
WAITING = (TranscriptLine((("…", "dim"),)),)
_LINES_KEPT = 6_000  # some 500 bytes each


class Layout:
    """The lines."""

    def __init__(self, placed_entries: Entries) -> None:
        self.drawn = 0  # lines that were laid out, for whoever counts work
        self._entries = placed_entries
        self._width = 0
        self._unfolded: set[Position] = set()
        self._folds = Folds(self._unfolded)
        self._laid: OrderedDict[int, tuple[TranscriptLine, ...]] = OrderedDict()
        self._count = 0  # of its lines

    def begin(self, *, is_side: bool) -> None:
        """Fold everything."""
        self._unfolded = set()
        self._folds = Folds(self._unfolded, is_side=is_side)
        self.forget()

    def forget(self) -> None:
        """Lay everything out anew."""
        self._laid.clear()
        self._count = 0

    def fit(self, width: int) -> None:
        """Lay out for a width."""
        self._width = max(12, width)
        self.forget()

    def drop(self, place: int) -> None:
        """Lay one place out anew."""
        self._count -= len(self._laid.pop(place, ()))

    def lines_at(self, place: int) -> tuple[TranscriptLine, ...]:
        """Return the lines of a place; of one that has not come, that it is waited for."""
        lines = self._laid.get(place)
        if lines is not None:
            return lines
        placed = self._entries.at(place)
        if placed is None:
            self._entries.ask(place // PAGE)
            return WAITING
        lines = self._laid[place] = entry_lines(placed, self._width, self._folds)
        self.drawn += len(lines)
        self._count += len(lines)
        while self._count > _LINES_KEPT and len(self._laid) > 1:
            self._count -= len(self._laid.popitem(last=False)[1])
        return lines

    # ---- positions

    def after(self, position: Position) -> Position | None:
        """Return the position below, None at the end."""
        place, line = position
        if line + 1 < len(self.lines_at(place)):
            return place, line + 1
        for following in range(place + 1, self._entries.length):
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
        while count > 0 and place < self._entries.length:
            lines = self.lines_at(place)
            for at in range(min(line, len(lines)), len(lines)):
                yield place, at, lines[at]
                count -= 1
                if count == 0:
                    return
            place, line = place + 1, 0

    def end_top(self, height: int) -> Position:
        """Return where the view stands when the last line is at the bottom."""
        length = self._entries.length
        at = self.before((length, 0)) if length else None
        if at is None:
            return 0, 0
        for _ in range(height - 1):
            above = self.before(at)
            if above is None:
                return 0, 0
            at = above
        return at

    # ---- folding

    @property
    def unfolds_all(self) -> bool:
        """Tell whether everything is unfolded."""
        return self._folds.is_all

    def toggle_all(self) -> None:
        """Unfold everything, or fold it again."""
        self._unfolded.clear()
        self._folds = replace(self._folds, is_all=not self._folds.is_all)
        self.forget()

    def toggle(self, place: int, part: int) -> bool:
        """Unfold a part, or fold it; return whether it can be folded at all."""
        placed = self._entries.at(place)
        if placed is None or not foldable(placed, part):
            return False
        self._unfolded ^= {(place, part)}
        self.drop(place)
        return True

    def unfold_for(self, place: int, text: str) -> None:
        """Unfold what hides a text."""
        placed = self._entries.at(place)
        part = None if placed is None else part_with(placed.entry, text)
        if placed is None or part is None:
            return
        if placed.entry is not None and placed.entry.is_sidechain and not self._folds.is_open(place, SIDE_CHAIN):
            self._unfolded ^= {(place, SIDE_CHAIN)}
        if foldable(placed, part) and not self._folds.is_open(place, part):
            self._unfolded ^= {(place, part)}
        self.drop(place)
