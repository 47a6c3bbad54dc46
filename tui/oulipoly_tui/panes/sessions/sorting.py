"""In which order, under which headings the Sessions pane shows what; and that under a name, as a saved view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.errors import ReadOnly
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.sessions.columns import arrow, sort_word
from oulipoly_tui.view.sessions.groups import Grouping
from oulipoly_tui.view.transcript.spans import Row

if TYPE_CHECKING:
    from oulipoly_tui.base.pane import Pane

_KEEP, _FORGET = "keep", "forget"  # rows that are no views
_VIEW = "view:"  # before the name in the key of a row that is one


class SessionOrder:
    """How the list is filtered, sorted and grouped."""

    def __init__(self, pane: Pane, arrange: Callable[[], None], show_filter: Callable[[str], None]) -> None:
        """Begin as at the first start. arrange: called when anything is other; show_filter: shows the filter's text."""
        self._pane = pane
        self._arrange = arrange
        self._show_filter = show_filter
        self.filter = ""
        self.sort = Sort.USED
        self.grouping = Grouping.WORKSPACE
        self.is_reversed = False

    def state(self) -> Mapping[str, object]:
        """Return order and grouping, as JSON values."""
        return {"sort": self.sort.value, "reversed": self.is_reversed, "group": self.grouping.value}

    def restore(self, state: Mapping[str, object]) -> None:
        """Take what `state` returned, from a file that anybody may have edited."""
        self.sort = next((sort for sort in Sort if sort == state.get("sort")), self.sort)
        self.is_reversed = state.get("reversed") is True
        self.grouping = _parse_grouping(state.get("group"), self.grouping)

    # ---- orders

    def action_sort(self) -> None:
        """Take the next order."""
        orders = list(Sort)
        self._order_by(orders[(orders.index(self.sort) + 1) % len(orders)])

    def action_sort_by(self, name: str) -> None:
        """Sort by a column; by the one that sorts already, the other way round."""
        sort = Sort(name)
        self._order_by(sort, is_reversed=sort is self.sort and not self.is_reversed)

    def action_group(self) -> None:
        """Take the next grouping."""
        ways = list(Grouping)
        self.grouping = ways[(ways.index(self.grouping) + 1) % len(ways)]
        self._arrange()

    def _order_by(self, sort: Sort, *, is_reversed: bool = False) -> None:
        self.sort = sort
        self.is_reversed = is_reversed
        self._arrange()

    def text(self) -> str:
        """Return what the pane's edge says of the order."""
        view = self.view_name
        kind = "" if self.grouping is Grouping.NONE else f" · by {self.grouping.value}"
        mark = arrow(self.sort, is_reversed=self.is_reversed)
        # A view's name says more than its grouping, and the edge is short.
        return f"{sort_word(self.sort)} {mark}" + (kind if view is None else f" · view {view}")

    # ---- saved views

    @property
    def view_name(self) -> str | None:
        """Return the name of the view that is shown; None: what is shown has none."""
        return next((view.name for view in self._views if view == self.present_view(view.name)), None)

    @property
    def _views(self) -> tuple[SavedView, ...]:
        snapshot = app_of(self._pane).snapshot
        return () if snapshot is None else snapshot.views

    def present_view(self, name: str) -> SavedView:
        """Return what is shown, as a view of that name."""
        return SavedView(name, self.filter.strip(), str(self.grouping), self.sort, self.is_reversed)

    def choose_view(self, view: SavedView) -> None:
        """Show a view."""
        self.grouping = _parse_grouping(view.group, self.grouping)
        self.sort, self.is_reversed, self.filter = view.sort, view.is_reversed, view.filter
        self._show_filter(view.filter)
        self._arrange()

    def action_views(self) -> None:
        """Choose a saved view, keep what is shown as one, or forget one."""
        self._offer("Views", [*self._view_rows(), *self._list_action_rows()], self._handle_view_choice)

    def _view_rows(self) -> Iterator[Row]:
        shown = self.view_name
        for view in self._views:
            mark = "● " if view.name == shown else "  "
            order = f"{sort_word(view.sort)} {arrow(view.sort, is_reversed=view.is_reversed)}, by {view.group}"
            text = f"  {view.filter or 'all'}  {order}"
            yield Row(_VIEW + view.name, ((f"{mark}{view.name}", "strong"), (text, "dim")))

    def _list_action_rows(self) -> Iterator[Row]:
        if app_of(self._pane).options.read_only:
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
            self._pane.wish("session view", key.removeprefix(_VIEW))

    def _forget(self, key: str) -> None:
        self._pane.wish("session view delete", key.removeprefix(_VIEW))

    def _ask_name(self) -> None:
        text = "What this filter, grouping and order are called together; a name that there is is replaced"
        keep = partial(self._pane.wish, "session view save")
        dialogs.ask_name(self._pane.app, "Keep this view", text, keep, self.view_name or "")

    def _offer(self, title: str, rows: list[Row], act: Callable[[str], None]) -> None:
        app = app_of(self._pane)
        if rows:
            dialogs.choose(app, title, rows, act)
        else:
            app.say(ReadOnly("keep views").message)


def _parse_grouping(text: object, default: Grouping) -> Grouping:
    return next((grouping for grouping in Grouping if grouping == text), default)
