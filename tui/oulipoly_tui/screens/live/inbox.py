"""The inbox: what is asked, the oldest first; enter goes to the session that asks, or to the question itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from oulipoly_engine.core.commands.needs import Need
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.view.frame.hints import CLOSE, link
from oulipoly_tui.view.live.conversation import OpenRequest
from oulipoly_tui.view.live.lists import request_rows
from oulipoly_tui.view.live.request_lines import request_lines
from oulipoly_tui.view.transcript.spans import Line
from oulipoly_tui.widgets.lines import Lines, VirtualList

if TYPE_CHECKING:
    from oulipoly_engine.core.live.sessions import LiveRequest

_LOOK_S = 0.5
_MOST = 12  # rows of the list
_EMPTY: tuple[Line, ...] = (
    ((Need.REQUEST.fact, "strong"),),
    (("What live sessions, set-ups and others ask of you is listed here.", ""),),
)


class Inbox(ListScreen["LiveRequest | None"]):
    """Lists requests until escape; its answer is the one to go to."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss(None)", "close")]
    DEFAULT_CSS = """
    Inbox #inbox-detail { height: auto; max-height: 20; border-top: solid $panel; }
    """

    def __init__(self, read: Callable[[], tuple[Sequence[LiveRequest], Mapping[str, str]]]) -> None:
        """read: the open requests, and what their sessions are called."""
        super().__init__()
        self._read = read
        self._found: Sequence[LiveRequest] = ()

    def compose(self) -> ComposeResult:
        """Lay out the list and all of the chosen one."""
        with Box() as box:
            box.border_title = "Inbox"
            box.border_subtitle = f"{link('enter: go to it', 'screen.go')} · {CLOSE}"
            yield VirtualList()
            yield Lines(_EMPTY, id="inbox-detail")

    def on_mount(self) -> None:
        """Follow what is asked."""
        self.rows.focus()
        self.set_interval(_LOOK_S, self.redraw)
        self.call_after_refresh(self.redraw)

    @on(VirtualList.Chosen)
    def action_go(self) -> None:
        """Go to where it is answered; nothing is answered by it."""
        found = self._chosen
        if found is not None:
            self.dismiss(found)

    @property
    def _chosen(self) -> LiveRequest | None:
        key = self.rows.cursor_key
        return next((one for one in self._found if one.request_id == key), None)

    @on(VirtualList.Highlighted)
    def _describe(self) -> None:
        one = self._chosen
        detail = self.query_one("#inbox-detail", Lines)
        width = max(20, (detail.scrollable_content_region.width or 60) - 1)
        lines = _EMPTY
        if one is not None:
            lines = request_lines(OpenRequest(one.request_id, one.kind, one.prompt), width)
        detail.styles.height = len(lines) + 1
        detail.scroll_to(y=0, animate=False)
        detail.show_lines(lines)

    def _draw(self) -> None:
        app = app_of(self)
        self._found, names = self._read()
        rows = self.rows
        rows.styles.height = min(_MOST, len(self._found))
        rows.display = bool(self._found)
        width = max(20, self._row_width)
        rows.show_rows(request_rows(self._found, names, width, app.now()))
        self._describe()
