"""A screen to read: a title and lines that scroll."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from oulipoly_tui.screens.box import Box, ScrollScreen
from oulipoly_tui.view.frame.hints import CLOSE
from oulipoly_tui.view.transcript.spans import Line, wrap_lines
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.standing import is_standing

LinesOfWidth = Callable[[int], Sequence[Line]]  # of the terminal's columns


class Reading(ScrollScreen[None]):
    """Shows lines until escape; a click outside closes it too."""

    HINTS: ClassVar[str] = CLOSE  # of the lower edge
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "close"),
    ]
    DEFAULT_CSS = """
    Reading > Box { max-height: 90%; }
    Reading Lines { height: auto; max-height: 100%; scrollbar-gutter: stable; }
    """

    def __init__(self, title: str, lines: Sequence[Line] | LinesOfWidth) -> None:
        """Take what is shown; what is laid out for a width is laid out again when the terminal has another one."""
        super().__init__()
        self._title = title
        self._content = lines

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Box() as box:
            box.border_title = Content(self._title)
            box.border_subtitle = self.HINTS
            yield Lines(self._lay_out())

    def on_resize(self) -> None:
        """Wrap to the width."""
        self.call_after_refresh(self._fit)

    def show_content(self, lines: Sequence[Line]) -> None:
        """Show other lines."""
        self._content = lines
        self._fit()

    def on_click(self, event: events.Click) -> None:
        """Close on a click outside of the box."""
        if event.widget is self:
            self.dismiss()

    def _fit(self) -> None:
        if not is_standing(self):
            return
        shown = self.query_one(Lines)
        width = shown.scrollable_content_region.width
        lines = self._lay_out()
        if width:
            lines = wrap_lines(lines, width)
        shown.styles.height = len(lines)
        shown.show_lines(lines)

    def _lay_out(self) -> Sequence[Line]:
        return self._content(self.app.size.width) if callable(self._content) else self._content
