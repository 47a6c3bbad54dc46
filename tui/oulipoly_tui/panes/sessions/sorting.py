"""In which order, under which headings the Sessions pane shows what; and that under a name, as a saved view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.widgets import Input

from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.sessions.columns import arrow, find_sort_at, format_headings, sort_word
from oulipoly_tui.view.sessions.groups import Grouping
from oulipoly_tui.view.sessions.sessions import SessionRows
from oulipoly_tui.view.transcript.spans import Row
from oulipoly_tui.widgets.heading_line import HeadingLine

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import Snapshot

_KEEP, _FORGET = "keep", "forget"  # rows that are no views
_VIEW = "view:"  # before the name in the key of a row that is one
_HEADINGS_FROM = 6  # lines of the pane's inside


class SessionOrder:
    """The ordering half of the pane."""

    app: Any
    size: Any
    query_one: Callable[..., Any]
    wish: Callable[..., None]
    _arrange: Callable[[], None]
    _draw_filter_hint: Callable[[], None]
    _snapshot: Snapshot | None
    _rows: SessionRows | None
    _text: str
    _sort: Sort
    _grouping: Grouping
    _is_reversed: bool = False

    # ---- orders

    def action_sort(self) -> None:
        """Take the next order."""
        orders = list(Sort)
        self._order_by(orders[(orders.index(self._sort) + 1) % len(orders)])

    def action_sort_by(self, name: str) -> None:
        """Sort by a column; by the one that sorts already, the other way round."""
        sort = Sort(name)
        self._order_by(sort, is_reversed=sort is self._sort and not self._is_reversed)

    def action_group(self) -> None:
        """Take the next grouping."""
        ways = list(Grouping)
        self._grouping = ways[(ways.index(self._grouping) + 1) % len(ways)]
        self._arrange()

    def _sort_at(self, column: int) -> None:
        """Sort by the column whose heading was clicked."""
        sort = None if self._rows is None else find_sort_at(self._rows.look, column)
        if sort is not None:
            self.action_sort_by(str(sort))

    def _order_by(self, sort: Sort, *, is_reversed: bool = False) -> None:
        self._sort, self._is_reversed = sort, is_reversed
        self._arrange()

    def _draw_headings(self) -> None:
        """Show the headings where there are rows, and room."""
        head = self.query_one("#sessions-head", HeadingLine)
        is_shown = self._rows is not None and self.size.height >= _HEADINGS_FROM
        if head.display is not is_shown:
            head.display = is_shown
        if is_shown and self._rows is not None:
            head.show(format_headings(self._rows.look))

    def _order_text(self) -> str:
        """Return what the pane's edge says of the order."""
        view = self.view_name
        kind = "" if self._grouping is Grouping.NONE else f" · by {self._grouping.value}"
        mark = arrow(self._sort, is_reversed=self._is_reversed)
        # A view's name says more than its grouping, and the edge is short.
        return f"{sort_word(self._sort)} {mark}" + (kind if view is None else f" · view {view}")

    # ---- saved views

    @property
    def view_name(self) -> str | None:
        """Return the name of the view that is shown; None: what is shown has none."""
        return next((one.name for one in self._views if one == self.present_view(one.name)), None)

    @property
    def _views(self) -> tuple[SavedView, ...]:
        return () if self._snapshot is None else self._snapshot.views

    def present_view(self, name: str) -> SavedView:
        """Return what is shown, as a view of that name."""
        return SavedView(name, self._text.strip(), str(self._grouping), self._sort, self._is_reversed)

    def choose_view(self, view: SavedView) -> None:
        """Show a view."""
        self._grouping = next((one for one in Grouping if one == view.group), self._grouping)
        self._sort, self._is_reversed, self._text = view.sort, view.is_reversed, view.filter
        self.show_filter(view.filter)
        self._arrange()

    def show_filter(self, text: str) -> None:
        """Show a filter on its line, which stands there while it holds any."""
        self._draw_filter_hint()
        line = self.query_one("#sessions-filter", Input)
        with line.prevent(Input.Changed):  # what is found is drawn by who asks for this
            line.replace(text, 0, len(line.value))
        line.set_class(bool(text), "-filter")

    def action_views(self) -> None:
        """Choose a saved view, keep what is shown as one, or forget one."""
        self._offer("Views", [*self._view_rows(), *self._list_action_rows()], self._handle_view_choice)

    def _view_rows(self) -> Iterator[Row]:
        shown = self.view_name
        for one in self._views:
            mark = "● " if one.name == shown else "  "
            order = f"{sort_word(one.sort)} {arrow(one.sort, is_reversed=one.is_reversed)}, by {one.group}"
            yield Row(_VIEW + one.name, ((f"{mark}{one.name}", "strong"), (f"  {one.filter or 'all'}  {order}", "dim")))

    def _list_action_rows(self) -> Iterator[Row]:
        if self.app.options.read_only:
            return
        yield Row(_KEEP, (("+ keep what is shown under a name …", "key"),))
        if self._views:
            yield Row(_FORGET, (("- forget a view …", "key"),))

    def _handle_view_choice(self, key: str) -> None:
        if key == _KEEP:
            self._ask_name()
        elif key == _FORGET:
            self._offer("Forget which view?", list(self._view_rows()), self._forget)
        else:
            self.wish("session view", key.removeprefix(_VIEW))

    def _forget(self, key: str) -> None:
        self.wish("session view delete", key.removeprefix(_VIEW))

    def _ask_name(self) -> None:
        text = "What this filter, grouping and order are called together; a name that there is is replaced"
        keep = partial(self.wish, "session view save")
        dialogs.ask_name(self.app, "Keep this view", text, keep, self.view_name or "")

    def _offer(self, title: str, rows: list[Row], act: Callable[[str], None]) -> None:
        if rows:
            dialogs.choose(self.app, title, rows, act)
        else:
            self.app.say("No view is saved, and this app is read-only")
