"""The request that waits for an answer: all of it can be read here, and nothing here answers it by accident."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from oulipoly_tui.widgets.lines import Lines, VirtualList


class RequestPanel(Lines, can_focus=True):
    """Shows a request and scrolls it by the keys of every list; enter does nothing here."""

    BINDINGS: ClassVar[list[BindingType]] = list(VirtualList.BINDINGS)
    DEFAULT_CSS = """
    RequestPanel { height: auto; border: round $warning; border-title-color: $text-warning; padding: 0 1; }
    RequestPanel:focus { border: heavy $warning; }
    """

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
