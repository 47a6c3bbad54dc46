"""Copy mode of a terminal: a cursor that walks over the whole text, a selection, a search. Pure.

Lines have numbers that stay their own while older ones are trimmed; hosts of older releases count from the oldest that
is kept. The mode asks for what it needs to see and says what was copied; it draws nothing and sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rich.cells import split_graphemes

from oulipoly_engine.records import Record, field

Runs = Sequence[tuple[str, int, int]]  # text, style number, width in cells
Hit = tuple[int, int, int]  # line, first cell, cell after the last


class Spot(NamedTuple):
    """A cell of the text."""

    line: int
    x: int


class KeyOutcome(Record):
    """What follows from a key."""

    kind: Literal["nothing", "moved", "copy", "search", "leave"]


NOTHING, MOVED, COPY, SEARCH, LEAVE = (KeyOutcome(kind) for kind in ("nothing", "moved", "copy", "search", "leave"))


class CopyMode(Record, frozen=False):
    """Where we are in the text."""

    total: int  # the number after the last line's
    columns: int
    height: int
    top: int  # the first line that is seen
    cursor: Spot
    anchor: Spot | None = None
    by_line: bool = False
    hits: Sequence[Hit] = ()
    hit: int = -1
    lines: dict[int, Runs] = field(default_factory=dict)  # what was seen
    first: int = 0  # the oldest line that is kept
    wrapped_at: int = 0  # the terminal's own columns
    goes_on: dict[int, bool] = field(default_factory=dict)  # of lines that were told: broken because they were full

    def press(self, key: str) -> KeyOutcome:
        """Take a key, by Textual's name."""
        if (step := _STEPS.get(key)) is not None:
            return self._walk(*step)
        match key:
            case "pageup" | "ctrl+b":
                return self._walk(-self.height, 0)
            case "pagedown" | "ctrl+f":
                return self._walk(self.height, 0)
            case "ctrl+u":
                return self._walk(-max(1, self.height // 2), 0)
            case "ctrl+d":
                return self._walk(max(1, self.height // 2), 0)
            case "g" | "home":
                return self._land(Spot(self.first, 0))
            case "G" | "end":
                return self._land(Spot(self.total - 1, 0))
            case "0" | "circumflex_accent":
                return self._land(Spot(self.cursor.line, 0))
            case "dollar_sign":
                return self._land(Spot(self.cursor.line, max(0, _width(self._runs(self.cursor.line)) - 1)))
            case "v" | "space" | "V":
                return self._mark(by_line=key == "V")
            case "y" | "enter":
                return COPY if self.anchor is not None else LEAVE
            case "slash":
                return SEARCH
            case "n" | "N":
                return self._next_hit(1 if key == "n" else -1)
            case "escape" if self.anchor is not None:
                self.anchor = None
                return MOVED
            case "escape" | "q" | "i":
                return LEAVE
            case _:
                return NOTHING

    def select(self, begin: Spot, end: Spot) -> KeyOutcome:
        """Select from one cell to another, both included, as a mouse does."""
        self.anchor, self.by_line = begin, False
        return self._land(end)

    def found(self, hits: Sequence[Hit]) -> KeyOutcome:
        """Take the hits of a search, newest first, and go to the nearest one above the cursor."""
        self.hits = hits
        if not hits:
            return NOTHING
        above = (place for place, hit in enumerate(hits) if (hit[0], hit[1]) <= tuple(self.cursor))
        self.hit = next(above, len(hits) - 1)
        return self._land(Spot(*self.hits[self.hit][:2]))

    def learn(self, first: int, rows: Sequence[Runs]) -> None:
        """Keep lines that were sent."""
        self.lines.update(enumerate(rows, first))

    def trimmed(self, rows: int) -> None:
        """Note that so many rows are not kept any more; what was seen of them can still be walked over and copied."""
        self.first = rows
        self.total = max(self.total, rows + 1)

    def next_missing(self, *, told: bool) -> int | None:
        """Return the first selected line that has to be asked for to be copied. told: also whether it goes on."""
        first, count = self.range_needed()
        known = self.goes_on if told else self.lines
        return next((line for line in range(max(first, self.first), first + count) if line not in known), None)

    def selection(self, line: int) -> tuple[int, int] | None:
        """Return the cells of a line, first and one after the last, that are selected."""
        if self.anchor is None:
            return None
        begin, end = sorted((self.anchor, self.cursor))
        if not begin.line <= line <= end.line:
            return None
        if self.by_line:
            return 0, self.columns
        return begin.x if line == begin.line else 0, end.x + 1 if line == end.line else self.columns

    def range_needed(self) -> tuple[int, int]:
        """Return (first, count) of the selected lines, of which the text has to be known to be copied."""
        begin, end = sorted((self.anchor or self.cursor, self.cursor))
        return begin.line, end.line - begin.line + 1

    def text(self) -> str:
        """Return the selected text; blanks at the ends of lines are left out, and lines that were broken made whole."""
        first, count = self.range_needed()
        found, parts = [], []
        for line in range(first, first + count):
            begin, end = self.selection(line) or (0, 0)
            goes_on = self.goes_on.get(line, False)
            parts.append(_cut(self._fill_line(line) if goes_on else self._runs(line), begin, end))
            if not goes_on or line == first + count - 1:
                found.append("".join(parts).rstrip())
                parts.clear()
        return "\n".join(found)

    def _runs(self, line: int) -> Runs:
        return self.lines.get(line, ())

    def _fill_line(self, line: int) -> Runs:
        """Return a line with the blanks at its end, which belong to the text where that goes on."""
        runs = self._runs(line)
        left = self.wrapped_at - sum(width for _, _, width in runs)
        following = "".join(text for text, _, _ in self._runs(line + 1))
        if left == 1 and following and split_graphemes(following)[0][0][2] > 1:
            return runs  # the last cell is left free because what follows is wider
        return runs if left <= 0 else (*runs, (" " * left, 0, left))

    def _find_visible_line(self, line: int) -> int:
        """Return the nearest line that can be seen: one that is kept, or was seen before it was trimmed."""
        if line >= self.first or line in self.lines:
            return line
        return min((seen for seen in self.lines if line < seen < self.first), default=self.first)

    def _walk(self, down: int, right: int) -> KeyOutcome:
        return self._land(Spot(self.cursor.line + down, self.cursor.x + right))

    def _land(self, spot: Spot) -> KeyOutcome:
        line = self._find_visible_line(min(max(0, spot.line), max(0, self.total - 1)))
        self.cursor = Spot(line, min(max(0, spot.x), max(0, self.columns - 1)))
        if line < self.top:
            self.top = line
        elif line >= self.top + self.height:
            self.top = line - self.height + 1
        return MOVED

    def _mark(self, *, by_line: bool) -> KeyOutcome:
        if self.anchor is not None and self.by_line == by_line:
            self.anchor = None
        else:
            self.anchor, self.by_line = self.cursor if self.anchor is None else self.anchor, by_line
        return MOVED

    def _next_hit(self, step: int) -> KeyOutcome:
        if not self.hits:
            return NOTHING
        self.hit = (self.hit + step) % len(self.hits)
        return self._land(Spot(*self.hits[self.hit][:2]))


_STEPS = {
    "up": (-1, 0),
    "k": (-1, 0),
    "down": (1, 0),
    "j": (1, 0),
    "left": (0, -1),
    "h": (0, -1),
    "right": (0, 1),
    "l": (0, 1),
}


def _width(runs: Runs) -> int:
    """Return how many cells a line takes without the blanks at its end."""
    blank = "".join(text for text, _, _ in runs)
    return sum(width for _, _, width in runs) - (len(blank) - len(blank.rstrip()))


def _cut(runs: Runs, begin: int, end: int) -> str:
    """Return the characters that begin in cells from `begin` to before `end`; what takes cells as one stays whole."""
    found, run_x = [], 0
    for text, _, width in runs:
        x = run_x
        for start, stop, taken in split_graphemes(text)[0]:
            if begin <= x < end:
                found.append(text[start:stop])
            x += taken
        run_x += width  # as the emulator has it: a cluster that is measured otherwise here shifts its own run alone
    return "".join(found)
