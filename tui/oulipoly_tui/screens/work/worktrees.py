"""The worktrees of sessions: what they hold and take; to be removed, restored, pruned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from oulipoly_engine.core.commands.needs import Need
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.box import Box
from oulipoly_tui.screens.work.acting import ActingScreen
from oulipoly_tui.view.frame.hints import CLOSE, key_links, link
from oulipoly_tui.view.live.lists import name_of
from oulipoly_tui.view.transcript.spans import Line, wrap_lines
from oulipoly_tui.view.work.worktrees import detail_lines, prune_lines, remove_text, total_text, worktree_rows
from oulipoly_tui.widgets.lines import Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.worktrees.retention import WorktreeStatus
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.worktrees.worktrees import Pruned, Removal

_DETAIL = 6  # rows
_EMPTY: tuple[Line, ...] = (
    (("No worktree.", "strong"),),
    (("A session that works by itself has one: F5 begins one.", ""),),
)


class WorktreesScreen(ActingScreen):
    """Lists worktrees until escape; enter shows the changes of one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close"),
        Binding("d", "act('remove')", "remove"),
        Binding("r,u", "act('restore')", "restore"),
        Binding("P", "act('prune')", "prune"),
        Binding("R", "look", "look again"),
    ]
    DEFAULT_CSS = f"""
    WorktreesScreen > Box {{ height: 92%; }}
    WorktreesScreen VirtualList {{ height: 1fr; }}
    WorktreesScreen #worktree-detail {{ height: {_DETAIL}; border-top: solid $panel; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: Sequence[WorktreeStatus] | None = None
        self._names: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        """Lay out the list and what is known of the chosen one."""
        with Box() as box:
            box.border_title = "Worktrees"
            orders = key_links(self.BINDINGS, "act('remove')", "act('restore')")
            box.border_subtitle = " · ".join((link("enter: changes", "screen.choose"), *orders, CLOSE))
            yield VirtualList()
            yield Lines(id="worktree-detail")

    def on_mount(self) -> None:
        """Look."""
        self.rows.focus()
        self.action_look()

    # ---- keys

    DOES: ClassVar[Mapping[str, str]] = {name: f"worktree {name}" for name in ("remove", "restore", "prune")}

    def lacks(self, need: Need) -> bool:
        """Return whether there is no worktree, or none under the cursor."""
        return (need is Need.WORKTREES and not self.found) or (need is Need.WORKTREE and self._chosen is None)

    def obstacle(self, name: str) -> str | None:
        """Say why a worktree cannot be removed or restored."""
        one = self._chosen
        if one is None or name == "prune":
            return None
        is_gone = one.worktree.state == "removed"
        if name == "remove":
            return "it is removed already: r restores it" if is_gone else _in_use(one)
        return None if is_gone else "it is there: nothing is to be restored"

    def action_look(self) -> None:
        """Ask git and the disk again."""
        self.query_one(Box).border_title = "Worktrees · looking …"
        look = partial(self._app.work, "worktrees", partial(_list, self._engine), self._take, self._skip)
        self._app.work_newest("worktrees", look)  # an older list never comes behind a newer one

    @on(VirtualList.Chosen)
    def action_choose(self) -> None:
        """Show the changes of one that is there."""
        one = self._chosen
        if one is not None and one.worktree.state == "ready":
            self._app.order("work changes", [one.worktree.session_id])

    # ---- orders

    def _remove(self) -> None:
        one = self._chosen
        if one is None:
            return
        work = partial(self._engine.worktrees.remove, one.worktree.session_id, force=True)

        def ask(would: Removal) -> None:
            remove = partial(self._order, "remove", work, "Removed. r: restore")
            dialogs.confirm(self.app, "Remove a worktree", remove_text(one, would.ignored), "remove", remove)

        self._app.work("remove", partial(work, dry_run=True), ask, title="looking what would go")

    def _restore(self) -> None:
        one = self._chosen
        if one is not None:
            self._order("restore", partial(self._engine.worktrees.restore, one.worktree.session_id), "Restored")

    def _prune(self) -> None:
        """Show what would go by itself, then let it go."""
        prune = self._engine.worktrees.prune

        def on_known(would: Pruned) -> None:
            can_do = bool(would.gone or would.references)
            act = partial(self._order, "prune", prune, f"Removed {len(would.gone)}. r: restore")
            dialogs.review(self.app, "Prune?", (), prune_lines(would), act, yes="Prune", can_do=can_do)

        self._app.work("prune", partial(prune, dry_run=True), on_known, title="looking what would go")

    def _order(self, name: str, work: Callable[[], object], said: str) -> None:
        self.do(name, work, lambda _: self._app.say(said), f"{name} a worktree")

    def look_after(self) -> None:
        """Look again."""
        if is_standing(self):
            self.action_look()

    # ---- what comes of it

    def _take(self, told: tuple[Sequence[WorktreeStatus], dict[str, str]]) -> None:
        self.found, self._names = told
        self.redraw()
        self._app.show_keys()

    def _skip(self, _error: Exception) -> None:
        if is_standing(self):
            self.query_one(Box).border_title = "Worktrees · cannot be listed"

    def _draw(self) -> None:
        if self.found is None:
            return
        width = max(20, self._row_width)
        self.rows.show_rows(worktree_rows(self.found, self._names, width))
        self.query_one(Box).border_title = f"Worktrees · {total_text(self.found)}"
        self._describe()

    @on(VirtualList.Highlighted)
    def _describe(self) -> None:
        one, shown = self._chosen, self.query_one("#worktree-detail", Lines)
        lines = () if self.found is None else _EMPTY
        if one is not None:
            lines = detail_lines(one, str(Path.home()), self._app.now())
        shown.show_lines(wrap_lines(lines, max(20, shown.scrollable_content_region.width)))

    @property
    def _chosen(self) -> WorktreeStatus | None:
        key = self.rows.cursor_key
        return next((one for one in self.found or () if one.worktree.session_id == key), None)


def _list(engine: Engine) -> tuple[Sequence[WorktreeStatus], dict[str, str]]:
    names = {one.session.session_id: name_of(one) for one in engine.work.list(1000)}
    return engine.worktrees.list(has_removed=True), names


def _in_use(one: WorktreeStatus) -> str | None:
    return "its session runs: end it first (x in Live)" if one.is_running else None
