"""The help: every key, filtered by word or key; enter runs it."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from oulipoly_tui.keys.keymap import Keymap
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.view.frame.help import help_rows
from oulipoly_tui.view.frame.hints import CLOSE, link
from oulipoly_tui.widgets.lines import VirtualList


class Help(ListScreen[str | None]):
    """Shows the registry of actions; its answer is the id of what shall be done."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "close", priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "move(10)", show=False, priority=True),
        Binding("pageup", "move(-10)", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Help > Box { max-width: 110; height: 90%; }
    Help Input { margin-bottom: 1; }
    Help VirtualList { height: 1fr; scrollbar-gutter: stable; }
    """

    def __init__(self, keys: Keymap, pane: str, works: Collection[str]) -> None:
        super().__init__()
        self._keys = keys
        self._pane = pane
        self._works = works

    def compose(self) -> ComposeResult:
        """Lay out the filter and the list."""
        with Box() as box:
            box.border_title = "Keys"
            box.border_subtitle = f"Type a word or a key · {link('enter: run', 'screen.run')} · {CLOSE}"
            yield Input(placeholder="filter by word or key …", compact=True)
            yield VirtualList()

    def on_mount(self) -> None:
        """Show everything first."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _handle_typing(self) -> None:
        self.redraw()

    def _draw(self) -> None:
        width = self._row_width
        if width > 0:  # before it is laid out nobody knows how much fits
            self.rows.show_rows(help_rows(self._keys, self._pane, self._works, self.query_one(Input).value, width))

    @on(Input.Submitted)
    def action_run(self) -> None:
        """Do what the row under the cursor says."""
        self.dismiss(self.rows.cursor_key)

    @on(VirtualList.Chosen)
    def _handle_choice(self, event: VirtualList.Chosen) -> None:
        self.dismiss(event.key)
