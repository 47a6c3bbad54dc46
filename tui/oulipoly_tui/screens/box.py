"""What the large boxes over the panes have in common: how they look, and the keys that scroll what is read in one."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, ScreenResultType

from oulipoly_tui.widgets.lines import Lines

_WHOLE = 1_000_000  # rows: more than anything has that is shown


class Box(Vertical):
    """A box over the panes, as high as what is in it; a screen says where it wants it otherwise."""

    DEFAULT_CSS = """
    Box { width: 96%; max-width: 150; height: auto; border: round $accent; background: $surface; padding: 0 1; }
    Box > .buttons { height: 3; align-horizontal: right; }
    """


class ScrollScreen(ModalScreen[ScreenResultType]):
    """A screen whose keys scroll one text, wherever the focus is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("pagedown,space,ctrl+d", "scroll(10)", "further", show=False),
        Binding("pageup,ctrl+u", "scroll(-10)", "back", show=False),
        Binding("home,g", f"scroll(-{_WHOLE})", "top", show=False),
        Binding("end,G", f"scroll({_WHOLE})", "end", show=False),
    ]

    @property
    def scrolled(self) -> Lines:
        """Return what the keys scroll."""
        return self.query_one(Lines)

    def action_scroll(self, by: int) -> None:
        """Scroll. by: rows, downwards."""
        self.scrolled.scroll_relative(y=by, animate=False)
