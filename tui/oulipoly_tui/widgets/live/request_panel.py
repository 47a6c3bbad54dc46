"""The request that waits for an answer: all of it can be read here, and nothing here answers it by accident."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from oulipoly_tui.view.transcript.spans import Line
from oulipoly_tui.widgets.lines import Lines, VirtualList


class RequestPanel(Lines, can_focus=True):
    """Shows a request and scrolls it by the keys of every list; enter does nothing here."""

    BINDINGS: ClassVar[list[BindingType]] = list(VirtualList.BINDINGS)
    DEFAULT_CSS = """
    RequestPanel { height: auto; border: round $warning; border-title-color: $text-warning; padding: 0 1; }
    RequestPanel:focus { border: heavy $warning; }
    """

    class Read(Message):
        """The end of the request has come on the screen."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.is_read = False  # its end was on the screen
        self._request_id = ""
        self._below = 0  # lines of the request below its beginning

    def show_request(self, request_id: str, lines: Sequence[Line], rows: int) -> None:
        """Show a request in so many rows at most, another one from its beginning."""
        if request_id != self._request_id:
            self.is_read = True  # whatever the scrolling below does, it is not of this one
            self.scroll_to(y=0, animate=False, immediate=True)
            self._request_id, self.is_read = request_id, False
        self.is_read = self.is_read or len(lines) <= rows
        self.styles.height = min(len(lines), rows) + 2
        self._below = len(lines) - rows
        self.show_lines(lines)
        self._tell_more()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take note that the end is on the screen."""
        super().watch_scroll_y(old_value, new_value)
        self._tell_more()
        if not self.is_read and round(new_value) >= self.max_scroll_y > 0:
            self.is_read = True
            self.post_message(self.Read())

    def _tell_more(self) -> None:
        self.border_subtitle = "more below: scroll" if round(self.scroll_y) < self._below else ""

    def action_down(self) -> None:
        """Scroll down."""
        self.scroll_relative(y=1, animate=False)

    def action_up(self) -> None:
        """Scroll up."""
        self.scroll_relative(y=-1, animate=False)

    def action_half_down(self) -> None:
        """Scroll down half a page."""
        self.scroll_relative(y=max(1, self.size.height // 2), animate=False)

    def action_half_up(self) -> None:
        """Scroll up half a page."""
        self.scroll_relative(y=-max(1, self.size.height // 2), animate=False)

    def action_first(self) -> None:
        """Scroll to the beginning."""
        self.scroll_to(y=0, animate=False)

    def action_last(self) -> None:
        """Scroll to the end."""
        self.scroll_end(animate=False)

    def action_choose(self) -> None:
        """Do nothing: enter never answers."""
