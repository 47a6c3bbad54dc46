"""What of a cell's text may be drawn. Pure."""

from __future__ import annotations

import unicodedata

# Formats that stand inside a cluster and shape it: the joiners and the variation selectors.
_SHAPING = {0x200C, 0x200D, *range(0xFE00, 0xFE10), *range(0xE0020, 0xE0080), *range(0xE0100, 0xE01F0)}
# Controls, formats, surrogates and separators of lines take no cell, or move a cursor: in a cell of their own they
# would shift what follows. Marks that nothing precedes would be drawn on the cell before. Emulators store some of them.
_UNDRAWABLE = {"Cc", "Cf", "Cs", "Zl", "Zp", "Mn", "Me"}


class _Drawable(dict[int, str]):
    """A table for `str.translate` that fills itself."""

    def __missing__(self, codepoint: int) -> str:
        character = chr(codepoint)
        drawn = " " if unicodedata.category(character) in _UNDRAWABLE else character
        self[codepoint] = drawn
        return drawn


_DRAWABLE = _Drawable()


def clean_text(text: str) -> str:
    """Return text of one character a cell, what cannot be drawn in a cell of its own replaced by a space."""
    if text.isascii():  # nearly always, and five times faster
        text = text.replace("\0", " ")
        if text.isprintable():
            return text
    return text.translate(_DRAWABLE)


def clean_cluster(text: str) -> str:
    """Return the text of one cell that holds several characters, without what would break out of it."""
    first, rest = text[:1].translate(_DRAWABLE), text[1:]
    if rest.isprintable():
        return first + rest
    return first + "".join(
        character
        for character in rest
        if ord(character) in _SHAPING or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )


def clean_label(text: str, limit: int) -> str:
    """Return text for a title or a notice: printable, of at most `limit` characters."""
    return "".join(character if character.isprintable() else " " for character in text[:limit]).strip()
