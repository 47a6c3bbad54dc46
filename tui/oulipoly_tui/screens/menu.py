"""The menu of a row: the keys of its pane that work on it now; enter, a click or the key itself does it.

Tab searches it by what the actions are called, as the palette and the help do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from oulipoly_tui.actions.action import LISTS, Action, find_term
from oulipoly_tui.keys.keymap import format_first_key
from oulipoly_tui.screens.box import ListScreen
from oulipoly_tui.view.frame.hints import link
from oulipoly_tui.view.frame.menu import menu_rows
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import VirtualList

if TYPE_CHECKING:
    from oulipoly_tui.base.app_interface import AppInterface

_EDGES = 8  # lines of the screen that stay free, with the box's own
_LONGEST = 60  # columns of a row's words in the title


class Menu(ListScreen[str | None]):
    """Its answer is the id of what shall be done; None: nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "cancel"),
        Binding("q,full_stop", "dismiss(None)", "back"),
        Binding("tab", "search", "search"),
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
    ]
    DEFAULT_CSS = """
    Menu VirtualList { height: auto; }
    Menu Input { display: none; }
    Menu Input.-shown { display: block; }
    """

    def __init__(self, title: str, keys: Sequence[Action], moving: Collection[str]) -> None:
        super().__init__()
        self._title = title
        self._offered = keys
        self._moving = moving  # keys that move in the list, so that they mean no row of it

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            back = link("esc: cancel", "screen.back")  # as the key: a search ends first
            box.border_subtitle = f"enter or its key: do it · {link('tab: search', 'screen.search')} · {back}"
            yield Input(placeholder="search …", compact=True)
            yield VirtualList()

    def on_mount(self) -> None:
        """Give the keys to the list."""
        self.rows.focus()

    def on_key(self, event: events.Key) -> None:
        """Do what a key of a row does in its pane."""
        if event.key in self._moving:
            return
        meant = next((row for row in self._offered if event.key in row.keys.split(",")), None)
        if meant is not None:
            event.stop()
            self.dismiss(meant.id)

    def on_click(self, event: events.Click) -> None:
        """Do what was clicked; a click outside of the box closes it."""
        rows = self.rows
        clicked, _ = self.get_widget_at(*event.screen_offset)
        if clicked is self:
            self.dismiss(None)
        elif clicked is rows:  # which has put its cursor there
            self.dismiss(rows.cursor_key)

    def action_search(self) -> None:
        """Let a word be typed."""
        self.query_one(Input).add_class("-shown").focus()

    def action_back(self) -> None:
        """End the search, or close the menu."""
        typed = self.query_one(Input)
        if not typed.has_class("-shown"):
            self.dismiss(None)
            return
        typed.value = ""
        typed.remove_class("-shown")
        self.rows.focus()

    @on(Input.Submitted)
    def _handle_submit(self) -> None:
        self.dismiss(self.rows.cursor_key)

    @on(VirtualList.Chosen)
    def _handle_choice(self, event: VirtualList.Chosen) -> None:
        self.dismiss(event.key)

    @on(Input.Changed)
    def _handle_typing(self) -> None:
        self.redraw()

    def _draw(self) -> None:
        rows = self.rows
        rows.styles.height = max(1, min(self.size.height - _EDGES, len(self._offered)))
        width = self._row_width
        if width > 0:  # before it is laid out nobody knows how much fits
            wanted = self.query_one(Input).value
            found = [row for row in self._offered if find_term(row, wanted) is not None]
            rows.show_rows(menu_rows(found, width))


def offer(app: AppInterface) -> None:
    """Show what can be done now with the row under the cursor of the pane that has the keys."""
    pane = app.frame.current
    works = (row for row in app.works_now() if not row.by_key)
    keys = [row for row in works if row.where == pane.id or row.custom is not None]
    if not keys:
        app.say(f"Nothing can be done here: {format_first_key('question_mark')} shows every key")
        return
    lists = [one for one in pane.query(VirtualList) if one.has_focus]
    words = " ".join(plain(lists[0].cursor_line).split())[:_LONGEST] if lists else ""
    title = f"{app.frame.entries[pane.id or ''].title}{': ' if words else ''}{words}"
    moving = {key for row in app.keys.of(LISTS) for key in row.keys.split(",")} | {"escape", "q", "full_stop", "tab"}

    def on_chosen(identity: str | None) -> None:
        if identity is not None:
            app.call_next(app.action_press, identity)

    app.push_screen(Menu(title, keys, moving), on_chosen)
