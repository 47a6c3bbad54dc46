"""The library's 72 bytes of a style, as our CellStyle."""

from __future__ import annotations

import struct
from functools import lru_cache

from oulipoly_engine.terminal.protocol.screen import TRUE_COLOUR, Attr, CellStyle, Colour

STYLE_SIZE = 72
# GhosttyStyle: size; foreground, background, underline as (tag, value in 8 bytes); eight flags; the underline's kind.
_STYLE = struct.Struct("<QIxxxx8sIxxxx8s16x8?i4x")
_FLAGS = (Attr.BOLD, Attr.ITALIC, Attr.DIM, Attr.BLINK, Attr.REVERSE, Attr.HIDDEN, Attr.STRIKE)  # the eighth: overline
_CURLY = 3


def rgb(red: int, green: int, blue: int) -> int:
    """Return a true colour."""
    return TRUE_COLOUR | red << 16 | green << 8 | blue


@lru_cache(maxsize=8192)
def style(raw: bytes, link: str | None = None) -> CellStyle:
    """Return what the bytes of a style mean; equal bytes give the same object as long as it is cached.

    Never keyed by the library's style ids: those belong to one page of its memory and are given out anew.
    """
    _, fore_tag, fore, back_tag, back, *flags, underline = _STYLE.unpack(raw)
    attrs = sum(int(attr) for attr, on in zip(_FLAGS, flags, strict=False) if on)
    if underline:
        attrs |= Attr.UNDERLINE | (Attr.CURLY if underline == _CURLY else 0)
    return CellStyle(_colour(fore_tag, fore), _colour(back_tag, back), int(attrs), link)


@lru_cache(maxsize=1024)
def background(colour: int, link: str | None = None) -> CellStyle:
    """Return the style of a blank that has nothing but a background."""
    return CellStyle(background=colour, link=link)


def _colour(tag: int, value: bytes) -> Colour:
    if tag == 1:  # GHOSTTY_STYLE_COLOR_PALETTE
        return value[0]
    if tag == 2:  # GHOSTTY_STYLE_COLOR_RGB
        return rgb(value[0], value[1], value[2])
    return None
