"""What the large boxes over the panes have in common: how they look, their list, the keys that scroll what is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, ScreenResultType

from oulipoly_tui.base.app_interface import AppInterface, app_of, engine_of
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine

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


class ListScreen(ModalScreen[ScreenResultType]):
    """A screen with a list, whose rows are made for the width that it has."""

    @property
    def rows(self) -> VirtualList:
        """Return the list."""
        return self.query_one(VirtualList)

    @property
    def _row_width(self) -> int:
        """Return the columns of a row; none or less before the list is laid out."""
        return self.rows.scrollable_content_region.width - GUTTER

    @property
    def _app(self) -> AppInterface:
        return app_of(self)

    @property
    def _engine(self) -> Engine:
        return engine_of(self._app)

    def on_resize(self) -> None:
        """Fit the rows."""
        self.call_after_refresh(self.redraw)

    @on(VirtualList.Fitted)
    def redraw(self) -> None:
        """Make the rows anew, unless the screen is gone."""
        if is_standing(self):
            self._draw()

    def action_move(self, by: int) -> None:
        """Move in the list while something else has the keys. by: rows, downwards."""
        for _ in range(abs(by)):
            if by > 0:
                self.rows.action_down()
            else:
                self.rows.action_up()

    def _draw(self) -> None:
        """Make the rows for the width that they have."""
