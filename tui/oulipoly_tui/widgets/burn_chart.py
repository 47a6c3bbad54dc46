"""The burn chart on the screen: drawn anew when its values or its size change, and at no other time."""

from __future__ import annotations

from textual import events

from oulipoly_tui.view.burn_chart import Burn, burn_chart
from oulipoly_tui.widgets.lines import Lines


class BurnChart(Lines):
    """Draws one window over a range of time."""

    DEFAULT_CSS = "BurnChart { overflow: hidden; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._burn: Burn | None = None

    def show_burn(self, burn: Burn | None) -> None:
        """Draw a window; None: nothing."""
        if burn != self._burn:
            self._burn = burn
            self._draw_anew()

    def on_resize(self, event: events.Resize) -> None:
        """Draw for the new size."""
        super().on_resize(event)
        self._draw_anew()

    def _draw_anew(self) -> None:
        self.show_lines(() if self._burn is None else burn_chart(self._burn, self.size.width, self.size.height))
