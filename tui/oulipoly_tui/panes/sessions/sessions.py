"""The Sessions pane: every session of every account and CLI in one tree, and what can be done with it."""

from __future__ import annotations

from asyncio import timeout
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.markup import escape
from textual.widgets import Input, Static

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.records import replace
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.base.emptiness import set_empty
from oulipoly_tui.base.pane import Pane, bindings
from oulipoly_tui.commands.frame_keys import open_target
from oulipoly_tui.panes.session_keys import SessionKeys
from oulipoly_tui.panes.sessions.actions import SessionActions
from oulipoly_tui.panes.sessions.cursor import SessionCursor, target_of
from oulipoly_tui.panes.sessions.reading import SessionReading
from oulipoly_tui.panes.sessions.sorting import SessionOrder
from oulipoly_tui.panes.sessions.undo import UndoSteps
from oulipoly_tui.panes.sessions.working import GitLooks
from oulipoly_tui.view import row_values
from oulipoly_tui.view.sessions.columns import find_sort_at, format_headings
from oulipoly_tui.view.sessions.groups import Longest
from oulipoly_tui.view.sessions.look import Look
from oulipoly_tui.view.sessions.sessions import Kind, SessionRows, title_of
from oulipoly_tui.view.transcript.spans import Line, cut, cut_to_words
from oulipoly_tui.widgets.heading_line import HeadingLine
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from datetime import datetime

    from oulipoly_engine.events import Event
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.actions.action import Action

_TYPING_S = 0.04  # a pause of typing before the list is narrowed
_PREVIEW_S = 0.12  # the cursor rests so long before the transcript follows it
_PATIENCE_S = 1.0  # with a list that is being narrowed, before a key is taken for the old one
_SCAN_EVERY_S = 120.0
_HEADINGS_FROM = 6  # lines of the pane's inside
_FILTER_SHOWN = 30  # columns of it on the pane's edge
_RUN_FILTER_HINT = "is:failed, words, account: model: session: date:<7d -not"
_FILTER_HINT = "words, account: cli: model: cwd: date:<7d is:pinned -not"
_EMPTY: tuple[Line, ...] = (
    (("No session is known yet.", "strong"),),
    (),
    (("S", "key"), (" reads what the CLIs have written.", "")),
    (("p", "key"), (" under Pools sends a first prompt.", "")),
    (("F5", "key"), (" begins a session that works by itself, on a branch of its own.", "")),
)


class SessionsPane(Pane):
    """The list; its parts have the order, what was read, the cursor, and what is done with sessions."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("sessions")

    def __init__(self, id: str = "sessions") -> None:
        super().__init__(id=id)
        self._snapshot: Snapshot | None = None
        self._folded: set[str] = set()
        self._trace_closed: set[str] = set()
        self._range_from: str | None = None
        self._wanted_row: str | None = None
        self.order = SessionOrder(self, lambda: self.reading.arrange(), self._show_filter)
        self.reading = SessionReading(self, self.order, now=self._now, draw=self._draw, show_filter=self._show_filter)
        self.cursor = SessionCursor(self, self.reading)
        self.undos = UndoSteps(self, self._draw_edge)
        self.git_looks = GitLooks(self, self.reading, self.cursor, self._draw)
        keys = SessionKeys(self, self.cursor.with_session, lambda: self.cursor.live_session_id)
        self.actions = SessionActions(self, self.reading, self.cursor, keys, self.undos)
        self.parts = (self.order, self.reading, self.actions, keys)

    def compose(self) -> ComposeResult:
        """Lay out filter and list."""
        yield Input(placeholder=_FILTER_HINT, id="sessions-filter")
        yield Static(markup=False, id="sessions-wrong")
        yield Static("nothing fits: / changes the filter, esc forgets it", markup=False, id="sessions-nothing")
        yield HeadingLine(id="sessions-head")
        yield VirtualList(id="sessions-list")
        empty = Lines(_EMPTY, id="sessions-empty")
        empty.can_focus = True
        yield empty

    def on_mount(self) -> None:
        """Look for new and lost transcripts now and then."""
        self.set_interval(_SCAN_EVERY_S, self.reading.scan_quietly)
        self.git_looks.begin()

    def on_show(self) -> None:
        """Look for what came while the pane was not shown."""
        self.reading.scan_missed()

    # ---- what comes from outside

    def take(self, snapshot: Snapshot) -> None:
        """Read the list the first time; later the events say when."""
        is_first = self._snapshot is None
        self._snapshot = snapshot
        self.reading.read()
        if is_first or self.reading.misses_scan:
            self.reading.scan_quietly()

    def take_event(self, event: Event) -> None:
        """Read the list again when it may have changed."""
        self.reading.take_event(event)

    def state(self) -> Mapping[str, object]:
        """Return row, order and grouping."""
        return {
            "row": self.query_one("#sessions-list", VirtualList).cursor_key,
            **self.order.state(),
            "closed": sorted(self._folded),
        }

    def restore(self, state: Mapping[str, object]) -> None:
        """Take them."""
        row, closed = state.get("row"), state.get("closed")
        if self._wanted_row is None and isinstance(row, str):  # else somebody has gone to another one already
            self._wanted_row = row
        self.order.restore(state)
        if isinstance(closed, list):
            self._folded = {one for one in closed if isinstance(one, str)}

    def leave(self) -> bool:
        """End the range, the filter, the trace view, the marks: one after the other."""
        if self._range_from is not None:
            self._range_from = None
            self._draw()
        elif (line := self.query_one("#sessions-filter", Input)).has_class("-filter"):
            line.value = ""
            line.remove_class("-filter")
            self.focus_inside()
        elif self.reading.trace is not None:
            self.reading.action_trace()
        elif self.reading.marked:
            self.reading.marked.clear()
            self._draw()
        else:
            return False
        return True

    def is_on(self, chain_id: str) -> bool:
        """Tell whether the cursor is on a session, or on a part of it."""
        listed = self.cursor.listed
        return self._wanted_row is None and listed is not None and listed.session.chain_id == chain_id

    def show(self, key: str) -> bool:
        """Put the cursor on a session by its chain's id, or by the key of its row.

        Where it is not listed yet, or hidden by filter or fold, it is as soon as it can be.
        """
        if self.reading.trace is not None:
            self.reading.action_trace()
        if self._go_to(key):
            return True
        self._wanted_row = key
        if self.reading.board is not None:
            self._folded.clear()
            self.order.choose_view(replace(self.order.present_view(""), filter=""))
        return False

    def focus_inside(self) -> None:
        """Give the keys to the list, or to what stands in its place."""
        self.query_one("#sessions-empty" if self.has_class("-empty") else "#sessions-list").focus()

    def lacks(self, need: Need) -> bool:
        """Return whether there is no session to act on, or nothing to take back."""
        match need:
            case Need.SESSION:
                return not self.cursor.chosen_chains
            case Need.UNDO:
                return not self.actions.can_undo(self.cursor.listed)
            case _:
                return False

    def reason_against(self, action: Action) -> str | None:
        """Say why an action does nothing now. Work and runs that no session tells of are gone on with all the same."""
        is_of_work = action.method == "resume" and self.cursor.work is not None
        is_of_run = action.method == "artifacts" and self.cursor.traced is not None
        return None if is_of_work or is_of_run else super().reason_against(action)

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing now."""
        is_order = action in ("sort", "group", "views") or action.startswith("sort_by")
        if action in ("find_next", "find_before"):
            return None if self.reading.filter_text.strip() else "nothing is looked for: / filters the list"
        if is_order and self.reading.trace is not None:
            return "the trace has its own order: t goes back to the list"
        listed = self.cursor.listed
        if action == "tree" and listed is None and self.cursor.live_session_id is None:
            return Need.SESSION.value
        return None if listed is None else self.actions.obstacle_of(action, listed)

    # ---- the cursor

    def row_values(self) -> Mapping[str, str]:
        """Return what the session under the cursor has for the user's own commands."""
        target, listed = self.cursor.target(), self.cursor.listed
        return {} if target is None or listed is None else row_values.of_session(listed, target, self.model)

    @property
    def live_session_id(self) -> str | None:
        """Return the live session that the row under the cursor is; None: it is not one."""
        return self.cursor.live_session_id

    @property
    def model(self) -> str | None:
        """Return the model of the session under the cursor, where its pool is known."""
        listed = self.cursor.listed
        name = None if listed is None else listed.session.model
        return name if self._snapshot is not None and name and self._snapshot.pool(name) is not None else None

    # ---- keys of the list itself

    def action_filter(self) -> None:
        """Type a filter."""
        # On the line alone: a class of the pane would have all that lies in it styled anew.
        self.query_one("#sessions-filter", Input).add_class("-filter").focus()

    def action_expand(self) -> None:
        """Show what lies in it."""
        item = self.cursor.item
        if self.reading.trace is not None and self.cursor.traced is not None:
            self._trace_closed.discard(self.cursor.traced.uuid)
        elif item is not None and item.kind in (Kind.GROUP, Kind.WORKS):
            self._folded.discard(item.key)
        elif item is not None and item.listed is not None and item.kind is not Kind.WORK:
            self.reading.open_inside(item.listed)
        self._draw()

    def action_collapse(self) -> None:
        """Hide what lies in it; on a session without, go to the heading."""
        item = self.cursor.item
        rows = self.query_one("#sessions-list", VirtualList)
        if self.reading.trace is not None and self.cursor.traced is not None:
            self._trace_closed.add(self.cursor.traced.uuid)
        elif item is None:
            return
        elif item.kind in (Kind.GROUP, Kind.WORKS):
            self._folded.add(item.key)
        elif (
            item.kind is not Kind.WORK
            and item.listed is not None
            and item.listed.session.chain_id in self.reading.opened
        ):
            chain = item.listed.session.chain_id
            self.reading.opened.discard(chain)
            self._draw()
            rows.go_to(f"{Kind.SESSION}:{chain}")
            return
        else:
            rows.go_to(item.group.key)
        self._draw()

    def action_mark(self) -> None:
        """Mark the session, or no longer, and go on; a heading stands for all below it."""
        if (item := self.cursor.item) is None:
            return
        members = item.group.members if item.kind is Kind.GROUP else () if item.listed is None else (item.listed,)
        chains = {one.session.chain_id for one in members}
        if chains <= self.reading.marked:
            self.reading.marked -= chains
        else:
            self.reading.marked |= chains
        self._draw()
        self.query_one("#sessions-list", VirtualList).action_down()

    def action_range(self) -> None:
        """Begin a range, or end it."""
        self._range_from = None if self._range_from is not None else getattr(self.cursor.item, "key", None)
        self._mark_range()

    def action_artifacts(self) -> None:
        """Show what the session's runs have returned, received, sent and kept; in the trace, what the run has."""
        listed, traced = self.cursor.listed, self.cursor.traced
        if traced is not None:
            self.wish("run artifacts", traced.uuid)
        elif listed is not None:
            self.wish("session artifacts", listed.session.chain_id)

    def action_find_next(self) -> None:
        """Go to the next session that fits the filter."""
        self._step_to_session(1)

    def action_find_before(self) -> None:
        """Go to the session before that fits it."""
        self._step_to_session(-1)

    # ---- what the widgets say

    @on(Input.Changed, "#sessions-filter")
    def _handle_filter_change(self) -> None:
        self.reading.delays.start("type", _TYPING_S, self.reading.apply_filter)

    @on(Input.Submitted, "#sessions-filter")
    async def _handle_filter_submit(self) -> None:
        self.focus_inside()
        line = self.query_one("#sessions-filter", Input)
        if not line.value:
            line.remove_class("-filter")
        await self._wait_for_filter()  # the next key is for what was found, however fast it comes

    @on(HeadingLine.Clicked)
    def _handle_heading_click(self, message: HeadingLine.Clicked) -> None:
        rows = self.cursor.rows
        sort = None if rows is None else find_sort_at(rows.look, message.column)
        if sort is not None:
            self.order.action_sort_by(str(sort))

    @on(VirtualList.Highlighted, "#sessions-list")
    def _handle_highlight(self) -> None:
        if self._range_from is not None:
            self._mark_range()
        self.reading.delays.start("preview", _PREVIEW_S, self.preview)

    @on(VirtualList.Chosen, "#sessions-list")
    def _handle_row_choice(self) -> None:
        item, traced = self.cursor.item, self.cursor.traced
        if traced is not None and traced.has_failed:
            from oulipoly_tui.screens.sessions import failed_run  # noqa: PLC0415 - only where a run has failed

            app = app_of(self)
            failed_run.show(app, traced.uuid)
            return
        if item is not None and item.kind in (Kind.GROUP, Kind.WORKS):
            (self._folded.discard if item.key in self._folded else self._folded.add)(item.key)
            self._draw()
            return
        target, work = self.cursor.target(), self.cursor.work
        if work is not None:
            self.wish("live open", work.session.session_id)
        elif (
            (live := self.reading.find_live(self.cursor.listed)) is not None
            and item is not None
            and item.kind is Kind.SESSION
        ):
            self.wish("live open", live)
        elif target is not None:
            open_target(app_of(self), target)

    def on_resize(self, _event: events.Resize) -> None:
        """Fit the rows, and what the filter takes."""
        self._draw_filter_hint()
        self.call_after_refresh(self._draw)

    def _show_filter(self, text: str) -> None:
        """Show a filter on its line, which stands there while it holds any."""
        self._draw_filter_hint()
        line = self.query_one("#sessions-filter", Input)
        with line.prevent(Input.Changed):  # what is found is drawn by who asks for this
            line.replace(text, 0, len(line.value))
        line.set_class(bool(text), "-filter")

    def _draw_filter_hint(self) -> None:
        hint = _FILTER_HINT if self.reading.trace is None else _RUN_FILTER_HINT
        self.query_one("#sessions-filter", Input).placeholder = cut_to_words(hint, self.size.width - 2)

    # ---- drawing

    def _now(self) -> datetime:
        if self._snapshot is None:
            raise RuntimeError("drawn before the first snapshot")  # nothing is read before it either
        return self._snapshot.at.astimezone()  # days are the user's own

    @on(VirtualList.Fitted)
    def _draw(self) -> None:
        reading = self.reading
        board = reading.board
        if not is_standing(self) or board is None or self._snapshot is None:
            return
        rows = self.query_one("#sessions-list", VirtualList)
        is_empty = not board.rows and not reading.works and reading.trace is None
        set_empty(self, is_empty=is_empty)
        listed = 0 if is_empty else rows.outer_size.width  # a hidden list keeps the width that it had
        width = max(20, (listed or self.size.width) - GUTTER)
        if self.reading.trace is not None:
            from oulipoly_tui.view.sessions.trace import trace_rows  # noqa: PLC0415 - only that view needs it

            titles = {part.session_id: title_of(one.session) for one in board.rows for part in one.session.parts}
            runs = self.reading.find_runs(titles)
            self.query_one("#sessions-head").display = False
            self.query_one("#sessions-nothing").display = bool(self.reading.trace) and not runs
            rows.show_rows(trace_rows(runs, titles, self._trace_closed, width - 1, self._now()))
            self._draw_edge()
            return
        look = Look(
            width,
            self._now(),
            self.order.grouping,
            self._folded,
            reading.opened,
            reading.marked,
            reading.inside,
            self.order.sort,
            self.order.is_reversed,
            Longest() if reading.index is None else reading.index.longest,
            reading.listed_works,
            self.git_looks.by_session,
        )
        shown = SessionRows(board, reading.arrangement, look)
        self.cursor.rows = shown
        if len(shown) > rows.outer_size.height:
            shown.look = replace(look, width=width - 1)  # beside the bar
        rows.show_rows(shown)
        self._draw_headings(shown)
        nothing = self.query_one("#sessions-nothing", Static)
        nothing.display = not len(shown) and bool(board.rows)
        if self._wanted_row is not None and (self._go_to(self._wanted_row) or not reading.is_arranging):
            self._wanted_row = None
        elif reading.leads_to_first and not reading.is_arranging:
            reading.leads_to_first = False
            first = shown.first_session()
            if first is not None:
                rows.go_to(first)
        self._draw_edge()

    def _draw_headings(self, rows: SessionRows) -> None:
        """Show the headings where there is room."""
        head = self.query_one("#sessions-head", HeadingLine)
        is_shown = self.size.height >= _HEADINGS_FROM
        if head.display is not is_shown:
            head.display = is_shown
        if is_shown:
            head.show(format_headings(rows.look))

    def _draw_edge(self) -> None:
        """Say on the pane's lower edge what is shown, and how long the last action is taken back at once."""
        shown = self._summary() if self.reading.trace is None else self._summarize_trace(len(self.reading.trace))
        text = escape(" · ".join(part for part in (self.undos.text(), shown) if part))
        if text != self.border_subtitle:  # each change draws the pane's frame
            self.border_subtitle = text

    def _summary(self) -> str:
        board, rows, marked = self.reading.board, self.cursor.rows, self.reading.marked
        if board is None or rows is None:
            return ""
        total = len(board.rows)
        count = f"{total:,}" if rows.total == total else f"{rows.total:,} of {total:,}"
        count = self._with_filter(count)
        marks = f" · {len(marked)} marked" if marked else ""
        new = f" · {board.undescribed:,} to look at" if board.undescribed else ""
        return f"{count} · {self.order.text()}{marks}{new}"

    def _summarize_trace(self, total: int) -> str:
        fitting = len(self.reading.fitting_runs)
        count = f"{total:,} run{'s' * (total != 1)}"
        return f"trace of {count}" if fitting == total else f"trace · {self._with_filter(f'{fitting:,} of {count}')}"

    def _with_filter(self, count: str) -> str:
        """Return how many rows are shown, and by which filter."""
        text = " ".join(self.reading.filter_text.split())
        return f"filter: {cut(text, _FILTER_SHOWN)} ({count})" if text else count

    def _go_to(self, key: str) -> bool:
        rows = self.query_one("#sessions-list", VirtualList)
        return bool(rows.go_to(key) or rows.go_to(f"{Kind.SESSION}:{key}"))

    def _step_to_session(self, step: int) -> None:
        kind = f"{Kind.SESSION}:" if self.reading.trace is None else f"{Kind.RUN}:"
        self.query_one("#sessions-list", VirtualList).step_to(lambda key: key.startswith(kind), step)

    def _mark_range(self) -> None:
        item = self.cursor.item
        if self._range_from is not None and item is not None and self.cursor.rows is not None:
            self.reading.marked |= set(self.cursor.rows.between(self._range_from, item.key))
        self._draw()

    def preview(self) -> None:
        """Let a transcript that is on the screen follow the cursor, while the cursor is ours; an empty one always."""
        app = app_of(self)
        pane: Any = app.frame.find("transcript")
        is_empty = pane is not None and pane.is_empty
        if pane is None or not pane.display or not (is_empty or app.frame.current is self):
            return
        item = self.cursor.item
        target = self.cursor.target()
        if is_empty and item is not None and item.kind is Kind.GROUP:
            target = target_of(item.group.members[0])
        if target is not None:
            pane.open_target(target)

    async def _wait_for_filter(self) -> None:
        """Wait until the list shows what the filter finds."""
        if self.reading.delays.cancel("type"):
            self.reading.apply_filter()
        with suppress(TimeoutError):
            async with timeout(_PATIENCE_S):
                await self.reading.is_arranged.wait()
