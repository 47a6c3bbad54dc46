"""A new work session: where, at which branch, with which model, and what will be made before it is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from oulipoly_engine.records import replace
from oulipoly_tui.orders.work import begin, find
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.screens.work.folder import FolderQuestion
from oulipoly_tui.view.frame.hints import BACK, link
from oulipoly_tui.view.live.lists import start_rows
from oulipoly_tui.view.live.models import Start
from oulipoly_tui.view.transcript.spans import Line, wrap_lines
from oulipoly_tui.view.work.new_work import (
    LIVES,
    NONE,
    Draft,
    Found,
    branch_rows,
    command_lines,
    field_rows,
    level_rows,
    place_rows,
    plan_lines,
    reason_against,
)
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList
from oulipoly_tui.widgets.standing import close_by_itself, is_standing

if TYPE_CHECKING:
    from oulipoly_engine.facade.worktrees.work import BegunWork

_PLAN = 6  # rows


class NewWorkScreen(ListScreen["BegunWork | None"]):
    """Its answer is the session that was begun."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel", priority=True),
        Binding("f2,ctrl+s", "begin", "begin", priority=True),
    ]
    DEFAULT_CSS = f"""
    NewWorkScreen VirtualList {{ height: 7; }}
    NewWorkScreen TextArea {{ height: 5; border: tall $panel; border-title-color: $foreground-muted; }}
    NewWorkScreen TextArea:focus {{ border: tall $accent; }}
    NewWorkScreen #new-plan {{ height: auto; max-height: {_PLAN}; }}
    """

    def __init__(self, folders: Sequence[Path], start: Start | None = None) -> None:
        """folders: those that are offered, the one to begin with first. start: the model that is offered."""
        super().__init__()
        self._folders = tuple(folders)
        self.draft = Draft(self._folders[0], start=start)
        self.found: Found | None = None
        self._is_beginning = False

    def compose(self) -> ComposeResult:
        """Lay out the fields, the prompt, and what will be made."""
        with Box() as box:
            box.border_title = "New work session"
            hints = (link("F2: begin", "screen.begin"), link("enter: change", "screen.change"))
            box.border_subtitle = " · ".join((*hints, "tab: prompt", BACK))
            yield VirtualList()
            prompt = TextArea(tab_behavior="focus")
            prompt.border_title = "prompt"
            yield prompt
            yield Lines(id="new-plan")

    def on_mount(self) -> None:
        """Begin with the fields."""
        self.rows.focus()
        if self.draft.start is None:
            self._offer_first_model()
        self._look()
        self.call_after_refresh(self.redraw)

    # ---- keys

    @on(VirtualList.Chosen)
    def action_change(self) -> None:
        """Change the field under the cursor."""
        key = self.rows.cursor_key
        if key is not None and not self._is_beginning:
            getattr(self, f"_change_{key}")()

    def action_begin(self) -> None:
        """Begin it; commands that nobody has allowed are shown whole first."""
        draft, found = self.draft, self.found
        reason = reason_against(draft, found, self._prompt)
        if self._is_beginning or reason is not None or found is None:
            self._app.say(reason or "It begins already", severity="warning")
            return
        setup = found.setup
        if setup is None or found.is_allowed or not setup.commands or draft.place == NONE:
            self._begin()
            return
        head: tuple[Line, ...] = ((("This repository asks to run these commands in each new worktree, as you:", ""),),)

        def on_agreed() -> None:
            if found.repository is not None:
                self._begin(allowed=(Path(found.repository.root), setup.digest))

        title = "Run these commands?"
        dialogs.review(self.app, title, head, command_lines(setup.commands), on_agreed, yes="Yes, always")

    # ---- fields

    def _change_repository(self) -> None:
        def on_chosen(folder: Path | None) -> None:
            if folder is not None:
                self._set(repository=folder, base="")
                self._look()

        self.app.push_screen(FolderQuestion(self.draft.repository, self._folders), on_chosen)

    def _change_base(self) -> None:
        repository = None if self.found is None else self.found.repository
        if repository is None:
            self._app.say("There are no branches to choose from", severity="warning")
            return

        def on_chosen(base: str) -> None:
            self._set(base=base)
            self._look()

        dialogs.choose(self.app, "Begin at", branch_rows(repository), on_chosen, at=self.draft.base)

    def _change_place(self) -> None:
        self._choose("It works on", place_rows(), "place")

    def _change_model(self) -> None:
        from oulipoly_tui.screens.live.picker import ModelPicker  # noqa: PLC0415 - only when it is opened

        def on_chosen(start: Start | None) -> None:
            if start is not None:
                self._set(start=start, next_account=self._next_account(start))
                self._look()

        self.app.push_screen(ModelPicker(), on_chosen)

    def _change_lifecycle(self) -> None:
        names = [key for key, _, _ in LIVES]
        self._set(lifecycle=names[(names.index(self.draft.lifecycle) + 1) % len(names)])

    def _change_isolation(self) -> None:
        if self.found is None or self.draft.place == NONE:
            self._app.say("Only a worktree of its own can be held", severity="warning")
            return
        at = self.draft.isolation or self.found.isolation
        rows = level_rows(self.found)
        dialogs.choose(self.app, "What holds its CLI", rows, lambda level: self._set(isolation=level), at=at)

    def _change_profile(self) -> None:
        self._choose("What it may do unasked", start_rows(self._kind, has_terminal=False), "profile")

    def _choose(self, title: str, rows: Sequence[Any], field: str) -> None:
        at = getattr(self.draft, field)
        dialogs.choose(self.app, title, rows, lambda key: self._set(**{field: key}), at=at)

    def _set(self, **changed: Any) -> None:  # noqa: ANN401 - fields of the draft
        self.draft = replace(self.draft, **changed)
        self.redraw()

    def _offer_first_model(self) -> None:
        snapshot = self._app.snapshot
        pools = () if snapshot is None else snapshot.pools
        name = next((one.model.name for one in pools if one.next_account), None)
        if name is not None:
            start = Start(pool=name)
            self.draft = replace(self.draft, start=start, next_account=self._next_account(start))

    def _next_account(self, start: Start) -> str:
        snapshot = self._app.snapshot
        view = None if snapshot is None or not start.pool else snapshot.pool(start.pool)
        return "" if view is None else view.next_account or ""

    # ---- what is asked of the engine

    def _look(self) -> None:
        """Ask what the folder is; an answer about another one comes too late."""
        self.found = None
        self.redraw()
        draft = self.draft
        self._app.work("repository", partial(find, self._engine, draft), self._take)

    def _take(self, found: Found) -> None:
        if is_standing(self) and found.folder == self.draft.repository:
            self.found = found
            if found.repository is None and not found.problem:
                self.draft = replace(self.draft, place=NONE)
            self.redraw()

    def _begin(self, allowed: tuple[Path, str] | None = None) -> None:
        self._is_beginning = True
        self.query_one(Box).border_title = "New work session · making it …"
        work = partial(begin, self._engine, self.draft, self._prompt, allowed)
        self._app.work("begin work", work, self._take_begun, self._take_failure, title="beginning a work session")

    def _take_begun(self, begun: BegunWork) -> None:
        if begun.waits_for:
            self._app.say(f"Begun: {begun.waits_for}")
        if begun.login_in_reach:
            self._app.say(f"Begun: {begun.login_in_reach}", severity="warning")
        close_by_itself(self, begun)

    def _take_failure(self, _error: Exception) -> None:
        self._is_beginning = False
        if is_standing(self):
            self.query_one(Box).border_title = "New work session"
            self._look()

    # ---- drawing

    def _draw(self) -> None:
        rows, plan, home = self.rows, self.query_one("#new-plan", Lines), str(Path.home())
        width = max(20, (rows.scrollable_content_region.width or 60) - GUTTER)
        rows.show_rows(field_rows(self.draft, self.found, home, width))
        lines = wrap_lines(plan_lines(self.draft, self.found, home), width)
        plan.styles.height = min(_PLAN, len(lines))
        plan.show_lines(lines)

    @property
    def _kind(self) -> str:
        return "" if self.found is None else self.found.kind

    @property
    def _prompt(self) -> str:
        return self.query_one(TextArea).text
