"""bittty's cells, pairs of a style and a character, as our rows. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from oulipoly_engine.terminal.protocol.cell_text import cluster, drawable
from oulipoly_engine.terminal.protocol.rows import finished
from oulipoly_engine.terminal.protocol.screen import TRUE_COLOUR, Attr, CellStyle, Colour, Row

_ATTRS = (
    ("bold", Attr.BOLD),
    ("dim", Attr.DIM),
    ("italic", Attr.ITALIC),
    ("underline", Attr.UNDERLINE),
    ("blink", Attr.BLINK),
    ("reverse", Attr.REVERSE),
    ("conceal", Attr.HIDDEN),
    ("strike", Attr.STRIKE),
)
_LONGEST_LINK = 4096
_STYLE = itemgetter(0)


def row_of(cells: Sequence[tuple[Any, str]]) -> Row:
    """Return a row of cells; the tail of a wide character is an empty string."""
    runs = []
    for kind, group in groupby(cells, _STYLE):
        characters = [character for _, character in group]
        text = "".join(characters)
        if len(text) == len(characters) and "" not in characters:
            drawn = drawable(text)
        else:
            drawn = "".join(drawable(part) if len(part) < 2 else cluster(part) for part in characters)
        runs.append((drawn, look(kind), len(characters)))
    return finished(runs)


@lru_cache(maxsize=8192)
def look(kind: Any) -> CellStyle:  # noqa: ANN401 - the library's Style, which is hashed by value
    """Return what one of the library's styles looks like."""
    attrs = sum(int(attr) for name, attr in _ATTRS if getattr(kind, name))
    if attrs & Attr.UNDERLINE and kind.underline_style == "curly":
        attrs |= Attr.CURLY
    link = kind.hyperlink
    fits = link and len(link.encode("utf-8", "replace")) <= _LONGEST_LINK
    return CellStyle(_colour(kind.fg), _colour(kind.bg), int(attrs), link if fits else None)


def _colour(colour: Any) -> Colour:  # noqa: ANN401 - as above
    if colour is None or colour.mode == "default":
        return None
    if colour.mode == "indexed":
        return int(colour.value)
    red, green, blue = (int(part) for part in colour.value)
    return TRUE_COLOUR | red << 16 | green << 8 | blue
