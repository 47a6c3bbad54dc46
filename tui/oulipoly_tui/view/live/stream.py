"""A text that still grows as lines: what is there is laid out once, so that a delta costs what is new in it. Pure.

A message is laid out as Markdown of its own at the end: tables and colours of code need all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from oulipoly_tui.view.live.blocks import BODY, Block
from oulipoly_tui.view.transcript.markdown import bar, markdown, typed
from oulipoly_tui.view.transcript.spans import Line
from oulipoly_tui.view.transcript.transcript import TranscriptLine

Form = Literal["markdown", "typed", "bar"]
_LONGEST = 4_000  # characters of a line that has not ended, before it is laid out as it is
_PLAIN = re.compile(r"[A-Za-z\"'(][^\x00-\x1f`*_\[\]~\x7f-\U0010ffff]*")  # nothing in it means anything in Markdown


class StreamLines:
    """The lines of one block for one width."""

    def __init__(self, width: int, indent: str = "", *, form: Form = "markdown") -> None:
        """form: how the text is laid out: as Markdown, as a person typed it, or as it is behind a bar."""
        self._width = width - len(indent)
        self._form = form
        self._indent: Line = ((indent, ""),) if indent else ()
        self._begin(0)

    def _begin(self, beginning: int) -> None:
        self._beginning = beginning  # of the block's text
        self._taken = 0  # chunks
        self._open = ""  # of a line that has not ended
        self._is_begun = self._is_code = False
        self._lines: list[TranscriptLine] = []
        self._head = 0  # lines of it
        self._ended = 0  # lines behind the head whose text has ended

    def lines(self, block: Block, head: Sequence[TranscriptLine] = ()) -> list[TranscriptLine]:
        """Return what stands above the text, and the lines of the text so far: always the same list, which grows."""
        if block.beginning != self._beginning:
            self._begin(block.beginning)
        lines = self._lines
        del lines[self._head + self._ended :]
        lines[: self._head] = head
        self._head = len(head)
        for text in self._split("".join(block.chunks[self._taken :])):
            lines += self._lay_out(text)
        self._taken = len(block.chunks)
        self._ended = len(lines) - self._head
        lines += self._lines_of(self._open) if self._open else ()
        return lines

    def _split(self, new: str) -> Iterator[str]:
        """Yield the lines that have ended, and pieces of a very long one."""
        if not self._is_begun:
            new = new.lstrip("\n")
            self._is_begun = bool(new)
        *whole, self._open = (self._open + new).split("\n")
        yield from whole
        while len(self._open) > _LONGEST:
            yield self._open[:_LONGEST]
            self._open = self._open[_LONGEST:]

    def _lay_out(self, line: str) -> Iterator[TranscriptLine]:
        if self._form == "markdown" and line.lstrip().startswith("```"):
            self._is_code = not self._is_code
            return
        yield from self._lines_of(line)

    def _lines_of(self, line: str) -> Iterator[TranscriptLine]:
        if self._form == "markdown" and not self._is_code and len(line) <= self._width and _PLAIN.fullmatch(line):
            yield TranscriptLine((*self._indent, (line.rstrip(), "")), BODY)
        else:
            yield from (TranscriptLine((*self._indent, *one), BODY) for one in self._written(line))

    def _written(self, line: str) -> Iterator[Line]:
        if self._form == "bar":
            yield from bar(line, self._width)
        elif self._form == "typed":
            yield from typed(line, self._width)
        elif self._is_code:
            yield from bar(line, self._width, "accent")
        elif not line.strip():
            yield ()
        else:
            yield from (one.line for one in markdown(line, self._width))
