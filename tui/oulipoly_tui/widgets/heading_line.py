"""The line of headings above a list; a click on one is as good as its key."""

from __future__ import annotations

from textual import events
from textual.message import Message

from oulipoly_tui.view.transcript.spans import Line
from oulipoly_tui.widgets.lines import GUTTER, Lines


class HeadingLine(Lines):
    """One line that stands over the rows of a list."""

    DEFAULT_CSS = "HeadingLine { height: 1; overflow: hidden; }"

    class Clicked(Message):
        """A place was clicked."""

        def __init__(self, column: int) -> None:
            self.column = column  # of a row, the cursor's own columns not counted
            super().__init__()

    def show(self, content: Line) -> None:
        """Show the headings."""
        self.show_lines((((" " * GUTTER, ""), *content),))

    def on_click(self, event: events.Click) -> None:
        """Tell where it was."""
        self.post_message(self.Clicked(event.x - GUTTER))
