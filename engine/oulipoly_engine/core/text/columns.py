"""Text for a terminal of a given width: what cells it takes, cut and padded to them. Pure."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from oulipoly_engine.core.text.control_characters import visible_line

_CUT = "…"


def plain(text: str) -> str:
    """Return a text on one line without signs that a terminal would obey."""
    if text.isprintable():
        return text
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def lines_of(text: str) -> Iterator[str]:
    """Yield a text's lines, tabs made four spaces, without signs that a terminal would obey."""
    for line in text.split("\n"):
        shown = line.expandtabs(4)
        yield shown if shown.isprintable() else "".join(sign for sign in shown if sign.isprintable())


def width(text: str) -> int:
    """Return how many cells a text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def fit(text: str, cells: int) -> str:
    """Return the text, its end cut off with `…` where it is wider than so many cells."""
    return text if width(text) <= cells else _take(text, cells - 1) + _CUT if cells > 0 else ""


def fit_end(text: str, cells: int) -> str:
    """Return the text, its beginning cut off where it is too wide: of a path the end tells more."""
    return text if width(text) <= cells else _CUT + _take(text[::-1], cells - 1)[::-1] if cells > 0 else ""


def pad(text: str, cells: int) -> str:
    """Return the text with spaces up to so many cells."""
    return text + " " * (cells - width(text))


def wrap(text: str, cells: int) -> Iterator[str]:
    """Yield a text's lines; only those that are too wide are broken, so that code keeps its form."""
    for line in lines_of(text):
        if width(line) <= cells:
            yield line.rstrip()
        else:
            yield from _break_line(line, cells)


def _break_line(line: str, cells: int) -> Iterator[str]:
    is_wide = not line.isascii() and width(line) > len(line)
    # A sign of two cells counts as one there: half the width is always enough.
    parts: Sequence[str] = textwrap.wrap(
        line, max(1, cells // 2 if is_wide else cells), drop_whitespace=True, break_on_hyphens=False
    )
    yield from parts


def _take(text: str, cells: int) -> str:
    used = 0
    for place, sign in enumerate(text):
        used += _cells(sign)
        if used > cells:
            return text[:place]
    return text


def _cells(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Return a table's lines: columns as wide as their widest cell, two spaces between.

    right: the columns, counted from 0, that stand to the right. What a terminal would obey in a cell is made visible.
    """
    cells = [[visible_line(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    drawn = []
    for row in cells:
        spaces = [" " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True)]
        fitted = [
            space + cell if place in right else cell + space
            for place, (cell, space) in enumerate(zip(row, spaces, strict=True))
        ]
        drawn.append("  ".join(fitted).rstrip())
    return drawn


def size_text(size_bytes: int) -> str:
    """Return a size as a person reads it: `17 kB`, `1.6 MB`."""
    value = float(size_bytes)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
