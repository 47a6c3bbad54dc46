"""How many bytes a text takes on a page, where `<` takes four and a letter up to four. Pure."""

from __future__ import annotations

from html import escape

from oulipoly_engine.core.text.control_characters import visible_text

_LINE = 14  # bytes of the markup of a line of a diff


def weight_of(text: str, *, is_diff: bool = False) -> int:
    """Return the bytes that a text takes."""
    return len(escape(visible_text(text)).encode("utf-8", "replace")) + (_LINE * text.count("\n") if is_diff else 0)


def cut_beginning(text: str, budget: int) -> str:
    """Return as much of a text's beginning as so many bytes hold, a character at least."""
    length = min(len(text), budget)
    while length > 1 and weight_of(text[:length]) > budget:
        length = length * 3 // 4
    return text[:length]


def cut_end(text: str, budget: int) -> str:
    """Return as much of a text's end as so many bytes hold, a character at least."""
    length = min(len(text), budget)
    while length > 1 and weight_of(text[-length:]) > budget:
        length = length * 3 // 4
    return text[-length:]
