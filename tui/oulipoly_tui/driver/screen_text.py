"""What the app draws, made harmless: every text on its way to the screen, whichever widget it comes from.

Text gets its style, and with it our own sequences, only behind these: a widget's lines are filtered before Textual
renders them, and what is said after a crash before it is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from rich.cells import cell_len
from rich.segment import Segment, Segments
from textual.app import App
from textual.filter import LineFilter

from oulipoly_engine.core.text.control_characters import replace_hidden

if TYPE_CHECKING:
    from textual.color import Color

Result = TypeVar("Result")


class CleanText(LineFilter):
    """Puts spaces in the place of what a terminal obeys or nobody sees, as many as it was measured with."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments of a line."""
        if all(text.isprintable() for text, _, _ in segments):
            return segments
        return [
            Segment(text if control else replace_hidden(text, _blank), style, control)
            for text, style, control in segments
        ]


_CLEAN = CleanText()


class CleanApp(App[Result]):
    """An app of which nothing but Textual's own sequences reaches the terminal."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return what changes a line before it is drawn."""
        return [_CLEAN, *super().get_line_filters()]

    def _print_error_renderables(self) -> None:
        """Print what is left to say after a crash; a Textual that keeps it elsewhere prints it as it is."""
        for one in getattr(self, "_exit_renderables", ()):
            if isinstance(one, Segments):
                one.segments = [Segment(_clean_lines(text), style, control) for text, style, control in one.segments]
        super()._print_error_renderables()


def _clean_lines(text: str) -> str:
    return "\n".join(replace_hidden(line, _blank) for line in text.split("\n"))


def _blank(character: str) -> str:
    return " " * cell_len(character)
