"""Search everything that was said, in every session; a result opens its transcript at the entry."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widgets import Input, Static

from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.view.frame.hints import CLOSE, link
from oulipoly_tui.view.sessions.search import as_typed, count_text, hit_rows
from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from oulipoly_engine.facade.sessions.types import Found, Hit

_MOST = 200  # entries
_PAUSE_S = 0.2  # of typing, before it is searched
_HINT = 'words, "a phrase", prefix*, -not, account: cli: model: cwd: role: date:<7d is:pinned'


class Search(ListScreen["Hit | None"]):
    """Asks for a query and shows what fits it; its answer is the turn that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "close", priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Search > Box { height: 90%; }
    Search #search-line { border: none; height: 1; padding: 0; }
    Search Static { height: auto; color: $foreground-muted; }
    Search VirtualList { height: 1fr; }
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._now = now
        self._hits: tuple[Hit, ...] = ()
        self._timer: Timer | None = None
        self._asked: str | None = None
        self._is_searching = False
        self._first: str | None = None  # key of the newest that was found
        self._unindexed: float = math.inf  # turns that the last search for the same could not look through

    def compose(self) -> ComposeResult:
        """Lay out the line and what was found."""
        with Box() as box:
            box.border_title = "Search everything"
            box.border_subtitle = f"{link('enter: open', 'screen.open')} · {CLOSE}"
            yield Input(placeholder="what was said …", select_on_focus=False, id="search-line")
            yield Static(_HINT, markup=False, id="search-state")
            yield VirtualList()

    def on_mount(self) -> None:
        """Begin to type."""
        self.query_one(Input).focus()

    def action_open(self) -> None:
        """Open the result under the cursor."""
        self._open(self.rows.cursor_key)

    @on(Input.Changed)
    def _handle_change(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE_S, self._search)

    @on(Input.Submitted)
    def _handle_submit(self) -> None:
        if self._asked == self.query_one(Input).value and self._hits:
            self.action_open()
        else:
            self._search()

    @on(VirtualList.Chosen)
    def _handle_choice(self, event: VirtualList.Chosen) -> None:
        self._open(event.key)

    def _open(self, key: str | None) -> None:
        hit = next((one for one in self._hits if key == str(one.row_id)), None)
        if hit is not None:
            self.dismiss(hit)

    def _search(self) -> None:
        if not is_standing(self):
            return
        text = self.query_one(Input).value
        if self._is_searching or text == self._asked:
            return
        if not text.strip():
            self._asked, self._hits = text, ()
            self._show(_HINT)
            return
        self._asked = text
        self._unindexed = math.inf
        self.query_one("#search-state", Static).update("searching …")
        self._ask(text)

    def _ask(self, text: str) -> None:
        app = app_of(self)
        self._is_searching = True
        app.work("search", partial(_find, engine_of(app).sessions, text), self._take_hits, self._handle_failure)

    def _handle_failure(self, error: Exception) -> None:
        self._take_hits(getattr(error, "message", str(error)))

    def _take_hits(self, found: Found | str) -> None:
        self._is_searching = False
        if not is_standing(self):
            return
        before = self._unindexed
        self._unindexed = 0
        if isinstance(found, str):
            self._hits = ()
            self._show(found)
        else:
            self._hits, self._unindexed = found.hits, found.unindexed
            self._show(count_text(len(found.hits), _MOST, found.unindexed))
        text = self.query_one(Input).value
        if text != self._asked:
            self._search()
        elif 0 < self._unindexed < before:  # each search indexes for a while first; where nobody can, it is told
            self._ask(text)

    def _show(self, state: str) -> None:
        self.query_one("#search-state", Static).update(state)
        self.redraw()

    def _draw(self) -> None:
        rows = self.rows
        width = max(20, self._row_width + rows.scrollbar_size_vertical - 1)  # beside the bar, there or not
        was_first = rows.cursor_key == self._first
        rows.show_rows(hit_rows(self._hits, width, self._now().astimezone()))
        self._first = str(self._hits[0].row_id) if self._hits else None
        if was_first and self._first is not None:  # whoever has not moved yet sees the newest
            rows.go_to(self._first)


def _find(sessions: Any, text: str) -> Found | str:  # noqa: ANN401 - engine.sessions, whose import is deferred
    """Return what was found, or what is wrong with the query: half a query is not a failure."""
    from oulipoly_engine.errors import UsageInvalid  # noqa: PLC0415 - loaded already

    try:
        found: Found = sessions.catalogue.search(as_typed(text), _MOST)
    except UsageInvalid as error:
        return str(error.message)
    return found
