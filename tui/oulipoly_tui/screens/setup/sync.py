"""Skills and MCP servers of every CLI: marked here, copied to another home after a look at the difference."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from oulipoly_engine.facade.setup.sync import find_filled, tell_empty
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.view.frame.hints import CLOSE, key_links, link
from oulipoly_tui.view.setup.sync import Entry, list_entries, plan_body, plan_head, sync_rows
from oulipoly_tui.view.transcript.spans import Row
from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.facade.setup.sync import SetupSync, SyncHome, SyncPlan

_TITLE = "Skills and MCP servers"
_EDGES = 6  # rows of the screen that stay free, with the box's own


class SyncScreen(ListScreen[None]):
    """Lists what every home has; enter copies what is marked, or the row under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close"),
        Binding("space", "mark", "mark"),
        Binding("R", "look", "check again"),
    ]
    DEFAULT_CSS = """
    SyncScreen VirtualList { scrollbar-gutter: stable; }
    """

    def __init__(self, sync: SetupSync) -> None:
        super().__init__()
        self._sync = sync
        self._homes: Sequence[SyncHome] = ()
        self._entries: Sequence[Entry] = ()
        self._marked: set[str] = set()

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with Box() as box:
            orders = key_links(self.BINDINGS, "mark", "look")
            box.border_subtitle = " · ".join((link("enter: copy", "screen.copy"), *orders, CLOSE))
            yield VirtualList()

    def on_mount(self) -> None:
        """Give the keys to the list, and look."""
        self.rows.focus()
        self.action_look()

    def action_look(self) -> None:
        """Look at every home anew."""
        self.query_one(Box).border_title = f"{_TITLE} · looking …"
        self._app.work_newest("sync", partial(self._app.work, "sync", self._sync.homes, self._take))

    def action_mark(self) -> None:
        """Mark the row under the cursor, or no longer."""
        rows = self.rows
        if rows.cursor_key is not None and rows.cursor_key.isdecimal():
            self._marked ^= {rows.cursor_key}
            self.redraw()
            rows.action_down()

    @on(VirtualList.Chosen)
    def action_copy(self) -> None:
        """Ask where to copy what is marked, or the row under the cursor."""
        key = self.rows.cursor_key
        keys = sorted(self._marked, key=int) or ([key] if key is not None and key.isdecimal() else [])
        entries = [self._entries[int(one)] for one in keys]
        if not entries:
            self._app.say("There is nothing to copy: choose a skill or an MCP server")
            return
        targets = [home for home in self._homes if any(entry.home != home.name for entry in entries)]
        rows = [Row(home.name, ((home.name, ""), (f"  {home.cli.title}", "dim"))) for home in targets]
        name = entries[0].name if len(entries) == 1 else f"{len(entries)} of them"
        dialogs.choose(self._app, f"Copy {name} to", rows, partial(self._plan, entries))

    def _plan(self, entries: Sequence[Entry], target: str) -> None:
        plan = partial(_plan_all, self._sync, [entry for entry in entries if entry.home != target], target)
        self._app.work("sync", plan, partial(self._review, target))

    def _review(self, target: str, plans: Sequence[SyncPlan]) -> None:
        needed = [plan for plan in plans if plan.is_needed]
        if not needed:
            self._app.say(f"{target} has the same already: nothing is to be copied")
            return
        copy = partial(self._app.work, "sync", partial(_apply_all, self._sync, needed), partial(self._did, target))
        head = plan_head(plans, target)
        note = " · then :setup undo"
        dialogs.review(self._app, f"Copy to {target}", head, plan_body(plans), copy, yes="Yes, copy", note=note)

    def _did(self, target: str, count: int) -> None:
        self._marked.clear()
        self._app.say(f"{count} copied to {target}. Undo the last one: `:setup undo`")
        if is_standing(self):
            self.action_look()

    def _take(self, homes: Sequence[SyncHome]) -> None:
        if not is_standing(self):
            return
        self._homes = homes
        self._entries = list_entries(homes)
        self._marked &= {str(place) for place in range(len(self._entries))}
        self.redraw()

    def _draw(self) -> None:
        rows = self.rows
        width = self._row_width
        homes = self._homes
        shown = sync_rows(find_filled(homes), self._marked, width, tell_empty(homes)) if width > 0 else ()
        marked = f" · {len(self._marked)} marked" if self._marked else ""
        self.query_one(Box).border_title = f"{_TITLE}{marked}"
        rows.styles.height = max(1, min(self.size.height - _EDGES, len(shown)))
        rows.show_rows(shown)


def _plan_all(sync: SetupSync, entries: Sequence[Entry], target: str) -> tuple[SyncPlan, ...]:
    return tuple(sync.plan(entry.kind, entry.home, target, entry.name) for entry in entries)


def _apply_all(sync: SetupSync, plans: Sequence[SyncPlan]) -> int:
    for plan in plans:
        sync.apply(plan)
    return len(plans)
