"""The area of the panes: places them as `view.frame.layout` says, and shows those alone that have a place."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import Container
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from oulipoly_tui.view.frame.layout import PaneRectangle, Present, arrange


class _Placing(Layout):
    """Puts each child where the area wants it."""

    name = "panes"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """Return the placements."""
        places = parent.places(size) if isinstance(parent, Area) else {}
        return [
            WidgetPlacement(Region(placed.x, placed.y, placed.width, placed.height), NULL_OFFSET, NULL_SPACING, child)
            for child in children
            if (placed := places.get(child.id or "")) is not None
        ]


class Area(Container):
    """Holds the panes."""

    DEFAULT_CSS = "Area { height: 1fr; width: 1fr; overflow: hidden; }"

    def __init__(self, panes: Sequence[Present], focused: str, *, zoomed: bool = False) -> None:
        super().__init__(id="area")
        self._panes = panes
        self._placing = _Placing()
        self.focused_pane = focused
        self.detail: str | None = None
        self.listed: str | None = None
        self._remember(focused)
        self.zoomed = zoomed
        self.is_alone = False  # nothing is configured: the pane that says so has the whole area

    @property
    def layout(self) -> Layout:
        """Return our own way to place children, instead of the style sheet's."""
        return self._placing

    def places(self, size: Size) -> dict[str, PaneRectangle]:
        """Return each visible pane's place."""
        placed = arrange(
            self._panes,
            (size.width, size.height),
            self.focused_pane,
            self.detail,
            zoomed=self.zoomed or self.is_alone,
            listed=self.listed,
        )
        return {pane_place.id: pane_place for pane_place in placed}

    def visible_ids(self) -> tuple[str, ...]:
        """Return the panes that have a place now, in reading order."""
        return tuple(self.places(self.size))

    def turn_to(self, pane: str, *, zoomed: bool | None = None) -> None:
        """Make a pane the one that must be seen."""
        self.focused_pane = pane
        self._remember(pane)
        if zoomed is not None:
            self.zoomed = zoomed
        self.show_placed()

    def _remember(self, pane: str) -> None:
        column = next((pane_place.column for pane_place in self._panes if pane_place.id == pane), None)
        if column == "list":
            self.listed = pane
        elif column is not None:
            self.detail = pane

    def show_placed(self) -> None:
        """Show the panes that have a place, and hide the others."""
        placed = self.places(self.size)
        for child in self.children:
            child.display = child.id in placed
        for child in self.children[:1]:
            child.refresh(layout=True)  # a child's makes its parent place anew; our own would keep the places

    def on_resize(self) -> None:
        """Place anew."""
        self.show_placed()
