"""A short list from which one is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from oulipoly_tui.view.frame.hints import BACK, link
from oulipoly_tui.view.transcript.spans import Row
from oulipoly_tui.widgets.lines import VirtualList


class Choice(ModalScreen[str | None]):
    """Its answer is the key of the row that was chosen; None: none of them."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss(None)", "cancel")]
    DEFAULT_CSS = "Choice VirtualList { height: auto; max-height: 16; }"

    def __init__(self, title: str, rows: Sequence[Row], text: str = "", *, at: str = "") -> None:
        """text: what is said above the list. at: the key of the row that the cursor begins on."""
        super().__init__()
        self._title = title
        self._offered = rows
        self._text = text
        self._at = at

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = f"{link('enter: OK', 'screen.take')} · {BACK}"
            if self._text:
                yield Static(self._text, markup=False)
            yield VirtualList()

    def on_mount(self) -> None:
        """Give the keys to the list."""
        rows = self.query_one(VirtualList)
        rows.styles.height = min(16, len(self._offered))
        rows.show_rows(self._offered)
        rows.go_to(self._at)
        rows.focus()

    def action_take(self) -> None:
        """Take the row under the cursor."""
        self.dismiss(self.query_one(VirtualList).cursor_key)

    def on_click(self, event: events.Click) -> None:
        """Close on a click outside of the box."""
        if event.widget is self:
            self.dismiss(None)

    @on(VirtualList.Chosen)
    def _handle_choice(self, event: VirtualList.Chosen) -> None:
        self.dismiss(event.key)
