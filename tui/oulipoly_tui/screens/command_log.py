"""What the app has run: a list, the latest first, and all about the row under the cursor below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.view.frame.hints import CLOSE, key_links
from oulipoly_tui.view.frame.jobs import format_command, format_command_rows
from oulipoly_tui.view.transcript.spans import wrap_lines
from oulipoly_tui.widgets.lines import Lines, VirtualList

if TYPE_CHECKING:
    from oulipoly_engine.facade.terminals.command_log import RanCommand

_LOOK_S = 1.0


class CommandLogScreen(ListScreen[None]):
    """Shows the log until escape; what runs meanwhile is added."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close"),
        Binding("slash", "filter", "filter"),
        Binding("y", "copy", "copy the command"),
    ]
    DEFAULT_CSS = """
    CommandLogScreen > Box { max-width: 180; height: 92%; }
    CommandLogScreen VirtualList { height: 1fr; }
    CommandLogScreen #detail { height: 6; border-top: solid $panel; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[str, RanCommand] = {}

    def compose(self) -> ComposeResult:
        """Lay out filter, list and details."""
        with Box() as box:
            box.border_title = "Commands that this app has run"
            box.border_subtitle = " · ".join((*key_links(self.BINDINGS, "copy", "filter"), CLOSE))
            yield Input(placeholder="filter by word …", compact=True)
            yield VirtualList()
            yield Lines(id="detail")

    def on_mount(self) -> None:
        """Give the keys to the list, and look from time to time."""
        self.rows.focus()
        self.set_interval(_LOOK_S, self.redraw)

    def action_filter(self) -> None:
        """Let a word be typed."""
        self.query_one(Input).focus()

    @on(VirtualList.Chosen)
    def action_copy(self) -> None:
        """Copy the command under the cursor, as a shell would take it."""
        from oulipoly_tui.driver.copying import copy_command  # noqa: PLC0415 - only when something is copied

        one = self._find_chosen()
        if one is not None:
            copy_command(self.app, one.command)

    @on(Input.Submitted)
    def _focus_list(self) -> None:
        self.rows.focus()

    @on(VirtualList.Highlighted)
    def _describe(self) -> None:
        one, detail = self._find_chosen(), self.query_one("#detail", Lines)
        lines = () if one is None else format_command(one)
        detail.show_lines(wrap_lines(lines, detail.scrollable_content_region.width or 40))

    @on(Input.Changed)
    def _handle_typing(self) -> None:
        self.redraw()

    def _draw(self) -> None:
        if self._app.engine is None:
            return
        word = self.query_one(Input).value.strip().lower()
        found = [one for one in self._app.engine.command_log.list() if word in f"{one.command} {one.action}".lower()]
        self._shown = {str(one.number): one for one in found}
        self.rows.show_rows(format_command_rows(found, max(40, self._row_width)))
        self._describe()

    def _find_chosen(self) -> RanCommand | None:
        return self._shown.get(self.rows.cursor_key or "")
