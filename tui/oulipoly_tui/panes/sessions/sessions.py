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
from textual.timer import Timer
from textual.widgets import Input, Static

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.records import replace
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.base.pane import Pane, bindings
from oulipoly_tui.panes.sessions.actions import SessionActions
from oulipoly_tui.panes.sessions.reading import SessionReading
from oulipoly_tui.panes.sessions.sorting import SessionOrder
from oulipoly_tui.panes.sessions.undo import UndoSteps
from oulipoly_tui.panes.sessions.working import SessionWork
from oulipoly_tui.view import row_values
from oulipoly_tui.view.sessions.groups import Arrangement, Grouping, Longest, SessionIndex
from oulipoly_tui.view.sessions.look import Look
from oulipoly_tui.view.sessions.sessions import Item, Kind, SessionRows, title_of
from oulipoly_tui.view.transcript.spans import Line, cut, cut_to_words
from oulipoly_tui.widgets.heading_line import HeadingLine
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from datetime import datetime

    from oulipoly_engine.facade.sessions.types import Board, Inside, ListedSession, Spawned
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.actions.action import Action

_TYPING_S = 0.04  # a pause of typing before the list is narrowed
_PREVIEW_S = 0.12  # the cursor rests so long before the transcript follows it
_PATIENCE_S = 1.0  # with a list that is being narrowed, before a key is taken for the old one
_SCAN_EVERY_S = 120.0
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


class SessionsPane(SessionOrder, SessionReading, SessionWork, SessionActions, Pane):
    """Sessions."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("sessions")

    def __init__(self, id: str = "sessions") -> None:
        super().__init__(id=id)
        self.board: Board | None = None
        self.marked: set[str] = set()
        self._snapshot: Snapshot | None = None
        self._text = ""
        self._sort = Sort.USED
        self._grouping = Grouping.WORKSPACE
        self._found = Arrangement()
        self._index: SessionIndex | None = None
        self._folded: set[str] = set()
        self._opened: set[str] = set()
        self._inside: dict[str, Inside] = {}
        self._rows: SessionRows | None = None
        self._trace: tuple[Spawned, ...] | None = None  # None: the list is shown
        self._trace_closed: set[str] = set()
        self._trace_text = ""  # the filter of the trace
        self._range_from: str | None = None
        self._is_reading = self._is_stale = self._is_arranging = self._is_changed = False
        self._wanted_row: str | None = None
        self._timers_of: dict[str, Timer] = {}
        self.undos = UndoSteps(self, self._draw_edge)

    def compose(self) -> ComposeResult:
        """Lay out filter and list."""
        yield Input(placeholder=_FILTER_HINT, id="sessions-filter")
        yield Static(markup=False, id="sessions-wrong")
        yield Static("nothing fits: / changes the filter, esc forgets it", markup=False, id="sessions-nothing")
        yield HeadingLine(id="sessions-head")
        yield VirtualList(id="sessions-list")
        yield Lines(_EMPTY, id="sessions-empty")

    def on_mount(self) -> None:
        """Look for new and lost transcripts now and then."""
        self.set_interval(_SCAN_EVERY_S, self._scan_quietly)
        self.watch_folders()

    # ---- what comes from outside

    def take(self, snapshot: Snapshot) -> None:
        """Read the list the first time; later the events say when."""
        is_first = self._snapshot is None
        self._snapshot = snapshot
        self._read()
        if is_first or self._misses_scan:
            self._scan_quietly()

    def state(self) -> Mapping[str, object]:
        """Return row, order and grouping."""
        return {
            "row": self.query_one("#sessions-list", VirtualList).cursor_key,
            "sort": self._sort.value,
            "reversed": self._is_reversed,
            "group": self._grouping.value,
            "closed": sorted(self._folded),
        }

    def restore(self, state: Mapping[str, object]) -> None:
        """Take them."""
        row, closed = state.get("row"), state.get("closed")
        if self._wanted_row is None and isinstance(row, str):  # else somebody has gone to another one already
            self._wanted_row = row
        self._sort = next((one for one in Sort if one == state.get("sort")), self._sort)
        self._is_reversed = state.get("reversed") is True
        self._grouping = next((one for one in Grouping if one == state.get("group")), self._grouping)
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
        elif self._trace is not None:
            self.action_trace()
        elif self.marked:
            self.marked.clear()
            self._draw()
        else:
            return False
        return True

    def is_on(self, chain_id: str) -> bool:
        """Tell whether the cursor is on a session, or on a part of it."""
        return self._wanted_row is None and self.listed is not None and self.listed.session.chain_id == chain_id

    def show(self, key: str) -> bool:
        """Put the cursor on a session by its chain's id, or by the key of its row.

        Where it is not listed yet, or hidden by filter or fold, it is as soon as it can be.
        """
        if self._trace is not None:
            self.action_trace()
        if self._go_to(key):
            return True
        self._wanted_row = key
        if self.board is not None:
            self._folded.clear()
            self.choose_view(replace(self.present_view(""), filter=""))
        return False

    def focus_inside(self) -> None:
        """Give the keys to the list."""
        self.query_one("#sessions-list", VirtualList).focus()

    def lacks(self, need: Need) -> bool:
        """Return whether there is no session to act on, or nothing to take back."""
        match need:
            case Need.SESSION:
                return self.listed is None and not (self.marked and self._trace is None)
            case Need.UNDO:
                return not self.can_undo(self.listed)
            case _:
                return False

    def reason_against(self, action: Action) -> str | None:
        """Say why an action does nothing now. Work and runs that no session tells of are gone on with all the same."""
        is_of_work = action.method == "resume" and self.work is not None
        is_of_run = action.method == "artifacts" and self._traced is not None
        return None if is_of_work or is_of_run else super().reason_against(action)

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing now."""
        is_order = action in ("sort", "group", "views") or action.startswith("sort_by")
        if action in ("find_next", "find_before"):
            return None if self.filter_text.strip() else "nothing is looked for: / filters the list"
        if is_order and self._trace is not None:
            return "the trace has its own order: t goes back to the list"
        listed = self.listed
        return None if listed is None else self.obstacle_of(action, listed)

    # ---- the cursor

    @property
    def item(self) -> Item | None:
        """Return what is under the cursor of the list."""
        key = self.query_one("#sessions-list", VirtualList).cursor_key if is_standing(self) else None
        return None if key is None or self._rows is None or self._trace is not None else self._rows.find(key)

    @property
    def listed(self) -> ListedSession | None:
        """Return the session under the cursor, also of an invocation in the trace view."""
        item = self.item
        if item is not None:
            return item.listed
        one = self._traced
        if one is None or self.board is None or one.session_id is None:
            return None
        owner = (one.account, one.session_id)
        return next(
            (
                row
                for row in self.board.rows
                if any((part.account, part.session_id) == owner for part in row.session.parts)
            ),
            None,
        )

    def row_values(self) -> Mapping[str, str]:
        """Return what the session under the cursor has for the user's own commands."""
        target, listed = self.target(), self.listed
        return {} if target is None or listed is None else row_values.of_session(listed, target, self.model)

    @property
    def chosen_chains(self) -> tuple[str, ...]:
        """Return the marked sessions in no order, else the one under the cursor."""
        if self.marked and self._trace is None:
            return tuple(self.marked)
        listed = self.listed
        return () if listed is None else (listed.session.chain_id,)

    @property
    def _traced(self) -> Spawned | None:
        key = self.query_one("#sessions-list", VirtualList).cursor_key if is_standing(self) else None
        if self._trace is None or key is None:
            return None
        return next((run for run in self._trace if f"{Kind.RUN}:{run.uuid}" == key), None)

    @property
    def model(self) -> str | None:
        """Return the model of the session under the cursor, where its pool is known."""
        listed = self.listed
        name = None if listed is None else listed.session.model
        return name if self._snapshot is not None and name and self._snapshot.pool(name) is not None else None

    # ---- keys of the list itself

    def action_filter(self) -> None:
        """Type a filter."""
        # On the line alone: a class of the pane would have all that lies in it styled anew.
        self.query_one("#sessions-filter", Input).add_class("-filter").focus()

    def action_expand(self) -> None:
        """Show what lies in it."""
        item = self.item
        if self._trace is not None and self._traced is not None:
            self._trace_closed.discard(self._traced.uuid)
        elif item is not None and item.kind in (Kind.GROUP, Kind.WORKS):
            self._folded.discard(item.key)
        elif item is not None and item.listed is not None and item.kind is not Kind.WORK:
            self._open_inside(item.listed)
        self._draw()

    def action_collapse(self) -> None:
        """Hide what lies in it; on a session without, go to the heading."""
        item = self.item
        rows = self.query_one("#sessions-list", VirtualList)
        if self._trace is not None and self._traced is not None:
            self._trace_closed.add(self._traced.uuid)
        elif item is None:
            return
        elif item.kind in (Kind.GROUP, Kind.WORKS):
            self._folded.add(item.key)
        elif item.kind is not Kind.WORK and item.listed is not None and item.listed.session.chain_id in self._opened:
            chain = item.listed.session.chain_id
            self._opened.discard(chain)
            self._draw()
            rows.go_to(f"{Kind.SESSION}:{chain}")
            return
        else:
            rows.go_to(item.group.key)
        self._draw()

    def action_mark(self) -> None:
        """Mark the session, or no longer, and go on; a heading stands for all below it."""
        if (item := self.item) is None:
            return
        members = item.group.members if item.kind is Kind.GROUP else () if item.listed is None else (item.listed,)
        chains = {one.session.chain_id for one in members}
        if chains <= self.marked:
            self.marked -= chains
        else:
            self.marked |= chains
        self._draw()
        self.query_one("#sessions-list", VirtualList).action_down()

    def action_range(self) -> None:
        """Begin a range, or end it."""
        self._range_from = None if self._range_from is not None else getattr(self.item, "key", None)
        self._mark_range()

    def action_trace(self) -> None:
        """Show the tree of invocations, or the list again."""
        if self._trace is not None:
            self._trace = None
            self.show_filter(self._text)
            self._draw()
            return
        app = app_of(self)
        app.work("trace", engine_of(app).sessions.catalogue.list_spawned, self._open_trace)

    def action_artifacts(self) -> None:
        """Show what the session's runs have returned, received, sent and kept; in the trace, what the run has."""
        listed, traced = self.listed, self._traced
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

    def action_scan(self) -> None:
        """Read what the CLIs have written."""
        app = app_of(self)
        app.say("Reading transcripts …")

        def on_scanned(new: int) -> None:
            app.say(f"{new:,} new turn{'s' * (new != 1)}")
            self._look_again()

        app.work("scan", engine_of(app).sessions.scans.read_new, on_scanned, title="reading transcripts", can_stop=True)

    # ---- what the widgets say

    @on(Input.Changed, "#sessions-filter")
    def _handle_filter_change(self) -> None:
        self._soon("type", _TYPING_S, self._apply_filter)

    @on(Input.Submitted, "#sessions-filter")
    async def _handle_filter_submit(self) -> None:
        self.focus_inside()
        line = self.query_one("#sessions-filter", Input)
        if not line.value:
            line.remove_class("-filter")
        await self._wait_for_filter()  # the next key is for what was found, however fast it comes

    @on(HeadingLine.Clicked)
    def _handle_heading_click(self, message: HeadingLine.Clicked) -> None:
        self._sort_at(message.column)

    @on(VirtualList.Highlighted, "#sessions-list")
    def _handle_highlight(self) -> None:
        if self._range_from is not None:
            self._mark_range()
        self._soon("preview", _PREVIEW_S, self.preview)

    @on(VirtualList.Chosen, "#sessions-list")
    def _handle_row_choice(self) -> None:
        item, traced = self.item, self._traced
        if traced is not None and traced.has_failed:
            from oulipoly_tui.screens.sessions import failed_run  # noqa: PLC0415 - only where a run has failed

            app = app_of(self)
            failed_run.show(app, traced.uuid)
            return
        if item is not None and item.kind in (Kind.GROUP, Kind.WORKS):
            (self._folded.discard if item.key in self._folded else self._folded.add)(item.key)
            self._draw()
            return
        target, work = self.target(), self.work
        if work is not None:
            self.wish("live open", work.session.session_id)
        elif (live := self.live_of(self.listed)) is not None and item is not None and item.kind is Kind.SESSION:
            self.wish("live open", live)
        elif target is not None:
            self.open_target(target)

    def on_resize(self, _event: events.Resize) -> None:
        """Fit the rows, and what the filter takes."""
        self._draw_filter_hint()
        self.call_after_refresh(self._draw)

    def _draw_filter_hint(self) -> None:
        hint = _FILTER_HINT if self._trace is None else _RUN_FILTER_HINT
        self.query_one("#sessions-filter", Input).placeholder = cut_to_words(hint, self.size.width - 2)

    # ---- drawing

    def _now(self) -> datetime:
        if self._snapshot is None:
            raise RuntimeError("drawn before the first snapshot")  # nothing is read before it either
        return self._snapshot.at.astimezone()  # days are the user's own

    @on(VirtualList.Fitted)
    def _draw(self) -> None:
        if not is_standing(self) or self.board is None or self._snapshot is None:
            return
        rows = self.query_one("#sessions-list", VirtualList)
        width = max(20, (rows.outer_size.width or self.size.width) - GUTTER)
        self.set_class(not self.board.rows and not self.works and self._trace is None, "-empty")
        if self._trace is not None:
            from oulipoly_tui.view.sessions.trace import trace_rows  # noqa: PLC0415 - only that view needs it

            titles = {part.session_id: title_of(one.session) for one in self.board.rows for part in one.session.parts}
            self._fitting_runs = self._find_runs(titles)
            self.query_one("#sessions-head").display = False
            self.query_one("#sessions-nothing").display = bool(self._trace) and not self._fitting_runs
            rows.show_rows(trace_rows(self._fitting_runs, titles, self._trace_closed, width - 1, self._now()))
            self._draw_edge()
            return
        look = Look(
            width,
            self._now(),
            self._grouping,
            self._folded,
            self._opened,
            self.marked,
            self._inside,
            self._sort,
            self._is_reversed,
            Longest() if self._index is None else self._index.longest,
            self.listed_works,
            self.git_looks,
        )
        self._rows = SessionRows(self.board, self._found, look)
        if len(self._rows) > rows.outer_size.height:
            self._rows.look = replace(look, width=width - 1)  # beside the bar
        rows.show_rows(self._rows)
        self._draw_headings()
        nothing = self.query_one("#sessions-nothing", Static)
        nothing.display = not len(self._rows) and bool(self.board.rows)
        if self._wanted_row is not None and (self._go_to(self._wanted_row) or not self._is_arranging):
            self._wanted_row = None
        elif self._leads_to_first and not self._is_arranging:
            self._leads_to_first = False
            first = self._rows.first_session()
            if first is not None:
                rows.go_to(first)
        self._draw_edge()

    def _draw_edge(self) -> None:
        """Say on the pane's lower edge what is shown, and how long the last action is taken back at once."""
        shown = self._summary() if self._trace is None else self._summarize_trace(len(self._trace))
        text = escape(" · ".join(part for part in (self.undos.text(), shown) if part))
        if text != self.border_subtitle:  # each change draws the pane's frame
            self.border_subtitle = text

    def _summary(self) -> str:
        board, rows = self.board, self._rows
        if board is None or rows is None:
            return ""
        total = len(board.rows)
        count = f"{total:,}" if rows.total == total else f"{rows.total:,} of {total:,}"
        count = self._with_filter(count)
        marks = f" · {len(self.marked)} marked" if self.marked else ""
        new = f" · {board.undescribed:,} to look at" if board.undescribed else ""
        return f"{count} · {self._order_text()}{marks}{new}"

    def _summarize_trace(self, total: int) -> str:
        fitting = len(self._fitting_runs)
        count = f"{total:,} run{'s' * (total != 1)}"
        return f"trace of {count}" if fitting == total else f"trace · {self._with_filter(f'{fitting:,} of {count}')}"

    def _with_filter(self, count: str) -> str:
        """Return how many rows are shown, and by which filter."""
        text = " ".join(self.filter_text.split())
        return f"filter: {cut(text, _FILTER_SHOWN)} ({count})" if text else count

    def _go_to(self, key: str) -> bool:
        rows = self.query_one("#sessions-list", VirtualList)
        return bool(rows.go_to(key) or rows.go_to(f"{Kind.SESSION}:{key}"))

    def _step_to_session(self, step: int) -> None:
        kind = f"{Kind.SESSION}:" if self._trace is None else f"{Kind.RUN}:"
        self.query_one("#sessions-list", VirtualList).step_to(lambda key: key.startswith(kind), step)

    def _mark_range(self) -> None:
        item = self.item
        if self._range_from is not None and item is not None and self._rows is not None:
            self.marked |= set(self._rows.between(self._range_from, item.key))
        self._draw()

    def preview(self) -> None:
        """Let a transcript that is on the screen follow the cursor, while the cursor is ours; an empty one always."""
        app = app_of(self)
        pane: Any = app.frame.find("transcript")
        is_empty = pane is not None and pane.is_empty
        if pane is None or not pane.display or not (is_empty or app.frame.current is self):
            return
        item = self.item
        target = self.target()
        if is_empty and item is not None and item.kind is Kind.GROUP:
            target = self.target_of(item.group.members[0])
        if target is not None:
            pane.open_target(target)

    def _soon(self, name: str, delay_s: float, act: Any, *, keeps: bool = False) -> None:  # noqa: ANN401 - a call
        """Do something after a pause. keeps: a wish that waits already is left as it is, so that it comes at last."""
        waiting = self._timers_of.get(name)
        if waiting is not None:
            if keeps:
                return
            waiting.stop()

        def on_done() -> None:
            self._timers_of.pop(name, None)
            act()

        self._timers_of[name] = self.set_timer(delay_s, on_done)

    async def _wait_for_filter(self) -> None:
        """Wait until the list shows what the filter finds."""
        waiting = self._timers_of.pop("type", None)
        if waiting is not None:
            waiting.stop()
            self._apply_filter()
        with suppress(TimeoutError):
            async with timeout(_PATIENCE_S):
                await self._is_arranged.wait()
