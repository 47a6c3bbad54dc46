"""Rows of an emulated terminal as strips: styles are told once, by number; a row is made when it changes, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.app import App
from textual.filter import ANSIToTruecolor, LineFilter
from textual.strip import Strip

from oulipoly_engine.core.text.control_characters import replace_hidden
from oulipoly_engine.terminal.protocol.messages import WireStyle
from oulipoly_engine.terminal.protocol.screen import PALETTE, TRUE_COLOUR, Attr

Runs = Sequence[tuple[str, int, int]]  # text, style number, width in cells


class Strips:
    """The visible rows of one terminal."""

    def __init__(self, shared_with: Strips | None = None) -> None:
        """Begin without rows. beside: others of the same terminal, whose styles are ours: they are told once."""
        self._styles: dict[int, Style] = {} if shared_with is None else shared_with._styles
        self._rows: list[Runs] = []
        self._strips: list[Strip | None] = []
        self._base = Style.null()
        self._width = 0

    @property
    def width(self) -> int:
        """Return how many cells a row has."""
        return self._width

    @property
    def count(self) -> int:
        """Return how many rows there are."""
        return len(self._rows)

    def learn(self, styles: Sequence[WireStyle], *, resets_styles: bool) -> None:
        """Keep styles by their numbers; anew: those told before mean nothing any more."""
        if resets_styles:
            self._styles.clear()
        for number, foreground, background, attrs, link in styles:
            self._styles[number] = _style(foreground, background, attrs, link)

    def resize(self, columns: int, rows: int) -> None:
        """Take a size; rows that are gone are forgotten, new ones are blank until they are told."""
        if columns != self._width:
            self._width = columns
            self._strips = [None] * len(self._rows)
        del self._rows[rows:], self._strips[rows:]
        missing = rows - len(self._rows)
        self._rows += [()] * missing
        self._strips += [None] * missing

    def put(self, y: int, runs: Runs) -> bool:
        """Keep a row; returns whether it differs from the one that stood there."""
        if not 0 <= y < len(self._rows):
            return False
        strip = self._make(runs)
        before = self._strips[y]
        self._rows[y], self._strips[y] = runs, strip
        return before is None or before != strip

    def base(self, style: Style) -> None:
        """Take the style of what the child left at its defaults: the theme's."""
        if style != self._base:
            self._base = style
            self._strips = [None] * len(self._rows)

    def strip(self, y: int) -> Strip:
        """Return a row."""
        if not 0 <= y < len(self._rows):
            return Strip.blank(self._width, self._base)
        strip = self._strips[y]
        if strip is None:
            strip = self._strips[y] = self._make(self._rows[y])
        return strip

    def runs(self, y: int) -> Runs:
        """Return a row as it was told."""
        return self._rows[y] if 0 <= y < len(self._rows) else ()

    def text(self, y: int) -> str:
        """Return a row's plain text, without the blanks at its end."""
        return "".join(run[0] for run in self.runs(y)).rstrip()

    def link_at(self, x: int, y: int) -> str | None:
        """Return the address that a cell leads to."""
        begin = 0
        for _, number, width in self._rows[y] if 0 <= y < len(self._rows) else ():
            if begin <= x < begin + width:
                return self._styles.get(number, _NULL).link
            begin += width
        return None

    def _make(self, runs: Runs) -> Strip:
        base, segments, used = self._base, [], 0
        for text, number, width in runs:
            segments.append(Segment(text, base + self._styles.get(number, _NULL)))
            used += width
        if used < self._width:
            segments.append(Segment(" " * (self._width - used), base))
        return Strip(segments, max(used, self._width))


_NULL = Style.null()
_PARTS = [(colour >> 16, colour >> 8 & 0xFF, colour & 0xFF) for colour in PALETTE]
_AS_TOLD = ANSIToTruecolor(TerminalTheme(_PARTS[0], _PARTS[7], _PARTS[:8], _PARTS[8:]))


def line_filters(filters: Sequence[LineFilter], app: App[Any]) -> Sequence[LineFilter]:
    """Return an app's filters with the child's 16 colours as it is told them; the app's own have two that are alike.

    A theme that keeps the terminal's colours has no such filter, and a light one has colours that can be read on it. A
    terminal of 16 colours is left its own: the nearest to most of ours would be its grey.
    """
    if app.no_color or not app.current_theme.dark:
        return filters
    own = [] if app.console.color_system == "standard" else [_AS_TOLD]
    return [
        each for line_filter in filters for each in (own if isinstance(line_filter, ANSIToTruecolor) else [line_filter])
    ]


def highlight(strip: Strip, begin: int, end: int, style: Style) -> Strip:
    """Return a strip whose cells from `begin` to before `end` are drawn with a style on top."""
    width = strip.cell_length
    begin, end = max(0, begin), min(end, width)
    if begin >= end:
        return strip
    left, middle, right = strip.crop(0, begin), strip.crop(begin, end), strip.crop(end, width)
    on_top = Strip([Segment(text, (own or _NULL) + style, control) for text, own, control in middle], end - begin)
    return Strip.join((left, on_top, right))


@lru_cache(maxsize=4096)
def _style(foreground: int | None, background: int | None, attrs: int, link: str | None) -> Style:
    attributes = Attr(attrs & 0x1FF)
    return Style(
        color=_colour(foreground),
        bgcolor=_colour(background),
        bold=True if Attr.BOLD in attributes else None,
        dim=True if Attr.DIM in attributes else None,
        italic=True if Attr.ITALIC in attributes else None,
        underline=True if Attr.UNDERLINE in attributes else None,
        blink=True if Attr.BLINK in attributes else None,
        reverse=True if Attr.REVERSE in attributes else None,
        conceal=True if Attr.HIDDEN in attributes else None,
        strike=True if Attr.STRIKE in attributes else None,
        link=replace_hidden(link, lambda _: "") if link else None,
    )


def _colour(value: int | None) -> Color | None:
    if value is None:
        return None
    if value & TRUE_COLOUR:
        return Color.from_rgb(value >> 16 & 0xFF, value >> 8 & 0xFF, value & 0xFF)
    return Color.from_ansi(value & 0xFF)
