"""One line of tabs that takes the keys of its pane while no terminal has them."""

from __future__ import annotations

from textual import events
from textual.message import Message

from oulipoly_tui.widgets.lines import Lines


class TabLine(Lines, can_focus=True):
    """Shows tabs; a click says at which column."""

    DEFAULT_CSS = "TabLine { height: 1; overflow: hidden; }"

    class Clicked(Message):
        """The mouse was pressed on the line."""

        def __init__(self, column: int) -> None:
            self.column = column
            super().__init__()

    def on_click(self, event: events.Click) -> None:
        """Tell where."""
        self.post_message(self.Clicked(event.x))
