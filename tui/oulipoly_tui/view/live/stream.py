"""A text that still grows as lines: what is there is laid out once, so that a delta costs what is new in it. Pure.

A whole message is laid out as Markdown of its own at the end: tables and colours of code need all of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from oulipoly_tui.view.live.blocks import Block
from oulipoly_tui.view.transcript.markdown import bar, markdown
from oulipoly_tui.view.transcript.spans import Line

_LONGEST = 4_000  # characters of a line that has not ended, before it is laid out as it is


class StreamLines:
    """The lines of one block for one width."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._taken = 0  # chunks
        self._open = ""  # of a line that has not ended
        self._is_code = False
        self._done: list[Line] = []

    def lines(self, block: Block) -> list[Line]:
        """Return the lines of the text so far."""
        new = "".join(block.chunks[self._taken :])
        self._taken = len(block.chunks)
        *whole, self._open = (self._open + new).split("\n")
        for line in whole:
            self._done += self._lay_out(line)
        while len(self._open) > _LONGEST:
            self._done += self._lay_out(self._open[:_LONGEST])
            self._open = self._open[_LONGEST:]
        return [*self._done, *(self._lines_of(self._open) if self._open else ())]

    def _lay_out(self, line: str) -> list[Line]:
        found = list(self._lines_of(line))
        if line.lstrip().startswith("```"):
            self._is_code = not self._is_code
            return []
        return found

    def _lines_of(self, line: str) -> Iterator[Line]:
        if self._is_code:
            yield from bar(line, self._width, "accent")
        elif not line.strip():
            yield ()
        else:
            yield from (one.line for one in markdown(line, self._width))
