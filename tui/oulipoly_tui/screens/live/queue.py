"""The messages of a live session that wait for the end of its turn: edited, moved, taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from oulipoly_engine.core.commands.needs import Need
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.screens.prompt import Prompt
from oulipoly_tui.view.frame.hints import CLOSE, link
from oulipoly_tui.view.live.lists import queue_rows
from oulipoly_tui.widgets.lines import VirtualList

if TYPE_CHECKING:
    from oulipoly_tui.view.live.conversation import Queued

_LOOK_S = 0.2
_LEAST, _MOST = 3, 16  # rows


class QueueScreen(ListScreen[None]):
    """Lists what waits until escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close"),
        Binding("e", "edit", "edit"),
        Binding("x", "remove", "take back"),
        Binding("K", "sooner", "send sooner"),
        Binding("J", "later", "send later"),
    ]
    DEFAULT_CSS = "QueueScreen VirtualList { height: auto; }"

    def __init__(self, read: Callable[[], Sequence[Queued]], change: Callable[..., None]) -> None:
        """read: what waits now. change: is called with what shall be done and the message's id."""
        super().__init__()
        self._read = read
        self._change = change
        self._shown: Sequence[Queued] = ()
        self._taken_back: set[str] = set()

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        hints = (("e: edit", "edit"), ("x: take back", "remove"), ("K: sooner", "sooner"), ("J: later", "later"))
        with Box() as box:
            box.border_title = "Waits to be sent"
            box.border_subtitle = " · ".join((*(link(text, f"screen.{action}") for text, action in hints), CLOSE))
            yield VirtualList()

    def on_mount(self) -> None:
        """Follow what waits."""
        self.rows.focus()
        self.set_interval(_LOOK_S, self.redraw)
        self.call_after_refresh(self.redraw)

    def action_edit(self) -> None:
        """Change the text of a message."""
        found = self._chosen

        def on_asked(text: str | None) -> None:
            if text is not None and text.strip() and found is not None:
                self._change("edit", found.message_id, text=text)

        if found is not None:
            self.app.push_screen(Prompt("Sent when the turn is over", found.text, "change"), on_asked)

    @on(VirtualList.Chosen)
    def _handle_choice(self) -> None:
        self.action_edit()

    def action_remove(self) -> None:
        """Take a message back; it leaves the list at once, so that the next key means another one."""
        if (found := self._chosen) is not None:
            self._taken_back.add(found.message_id)
            self._change("remove", found.message_id)
            self.redraw()

    def action_sooner(self) -> None:
        """Send a message sooner."""
        self._move(-1)

    def action_later(self) -> None:
        """Send a message later."""
        self._move(1)

    def _move(self, by: int) -> None:
        found = self._chosen
        place = next((at for at, one in enumerate(self._shown, 1) if one == found), 0) + by
        if found is not None and 1 <= place <= len(self._shown):
            self._change("move", found.message_id, place=place)

    @property
    def _chosen(self) -> Queued | None:
        key = self.rows.cursor_key
        return next((one for one in self._shown if one.message_id == key), None)

    def _draw(self) -> None:
        rows = self.rows
        found = tuple(one for one in self._read() if one.message_id not in self._taken_back)
        if not found:
            app = app_of(self)
            self.call_next(partial(self._close, app))
            return
        self._shown = found
        rows.styles.height = max(_LEAST, min(_MOST, len(found)))
        rows.show_rows(queue_rows(found, max(20, self._row_width)))

    def _close(self, app: Any) -> None:  # noqa: ANN401 - AgentsApp, whose import would be a cycle
        if self.is_active:
            self.dismiss()
            app.say(Need.MESSAGE.value)
