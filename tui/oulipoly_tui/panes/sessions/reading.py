"""How the Sessions pane comes to its rows: read, filtered, sorted and grouped in threads, one of each at a time."""

from __future__ import annotations

import asyncio
import gc
from functools import partial
from typing import TYPE_CHECKING

from textual.widgets import Input, Static

from oulipoly_engine.core.search.query import Query
from oulipoly_engine.core.sessions.facets import RECORDED
from oulipoly_engine.core.sessions.spawned import run_fits
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.stopping import Stopped
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.view.sessions.groups import Arrangement, Order, SessionIndex
from oulipoly_tui.view.work.works import choose_works, work_fits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from textual.timer import Timer

    from oulipoly_engine.events import Event
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_engine.facade.sessions.types import Board, Inside, ListedSession, Spawned
    from oulipoly_tui.base.pane import Pane
    from oulipoly_tui.panes.sessions.sorting import SessionOrder

    _Found = tuple[Board, SessionIndex, tuple[LiveStatus, ...]]

_READ_EVERY_S = 1.0  # at most: others may write four times a second
_MOST_WORKS = 200  # that are listed


class Delays:
    """What is done after a pause, once for each name."""

    def __init__(self, pane: Pane) -> None:
        self._pane = pane
        self._timers: dict[str, Timer] = {}

    def start(self, name: str, delay_s: float, act: Callable[[], object], *, keeps: bool = False) -> None:
        """Do something after a pause. keeps: a wish that waits already is left as it is, so that it comes at last."""
        if keeps and name in self._timers:
            return
        self.cancel(name)

        def on_done() -> None:
            self._timers.pop(name, None)
            act()

        self._timers[name] = self._pane.set_timer(delay_s, on_done)

    def cancel(self, name: str) -> bool:
        """Forget what waits; return whether anything did."""
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.stop()
        return timer is not None


class SessionReading:
    """What the pane has read: the board and the sessions that work by themselves, arranged, and the trace."""

    def __init__(
        self,
        pane: Pane,
        order: SessionOrder,
        *,
        now: Callable[[], datetime],
        draw: Callable[[], None],
        show_filter: Callable[[str], None],
    ) -> None:
        """Begin with nothing. show_filter: shows the text on the line of the filter."""
        self._pane = pane
        self._order = order
        self._now = now
        self._draw = draw
        self._show_filter = show_filter
        self.delays = Delays(pane)
        self.board: Board | None = None
        self.works: tuple[LiveStatus, ...] = ()
        self.marked: set[str] = set()  # chains
        self.opened: set[str] = set()  # chains whose inside is shown
        self.inside: dict[str, Inside] = {}  # by chain
        self.index: SessionIndex | None = None
        self.arrangement = Arrangement()
        self.trace: tuple[Spawned, ...] | None = None  # None: the list is shown
        self.fitting_runs: tuple[Spawned, ...] = ()  # of the trace, those that its filter finds
        self.leads_to_first = False  # the cursor, once what a new filter finds is there
        self.misses_scan = False  # one was due while the pane was not shown, or failed
        self.is_arranging = False
        self.is_arranged = asyncio.Event()
        self.is_arranged.set()
        self._trace_text = ""  # the filter of the trace
        self._query_of_works = Query()
        self._looks_again = False
        self._is_reading = self._is_stale = self._is_changed = False

    def take_event(self, event: Event) -> None:
        """Read the list again when entries came or somebody wrote; after an action of ours its files may have moved."""
        growth = getattr(event, "growth", None)  # of the transcript that is open
        if type(event).__name__ == "SessionsChanged" or (growth is not None and (growth.is_gone or growth.is_back)):
            self.look_soon()
        elif type(event).__name__ in ("EntriesIngested", "StateChanged"):
            self._read_soon()

    @property
    def listed_works(self) -> tuple[LiveStatus, ...]:
        """Return the sessions that work by themselves and that the filter finds."""
        query = self._query_of_works
        return self.works if query == Query() else tuple(work for work in self.works if work_fits(work, query))

    def find_live(self, listed: ListedSession | None) -> str | None:
        """Return the live session that a session is; None: it is none."""
        if listed is None or self.board is None:
            return None
        return self.board.facets.get(listed.session.chain_id, RECORDED).live_id or None

    # ---- reading

    def _read_soon(self) -> None:
        self.delays.start("read", _READ_EVERY_S, self.read, keeps=True)

    def look_soon(self) -> None:
        """Read the list, and look at every transcript, with whatever else is asked until then."""
        self._looks_again = True
        self._read_soon()

    def read(self) -> None:
        """Read the list; what is asked meanwhile is read after it."""
        app = app_of(self._pane)
        if app.engine is None:
            return
        if self._is_reading:
            self._is_stale = True
            return
        self._is_reading, self._is_stale = True, False
        board = partial(app.engine.sessions.catalogue.board, self.board, looks=self._looks_again)
        self._looks_again = False
        work = partial(_read_board, app.engine, board, self.board, self.index)
        app.work("sessions", work, self._take_board, self._take_board)
        if self.trace is not None:
            app.work("trace", app.engine.sessions.catalogue.list_spawned, self._renew_trace)

    def look_again(self) -> None:
        """Read the list and look at every transcript: no event tells that one was deleted."""
        self._looks_again = True
        self.read()

    def _take_board(self, found: _Found | Exception) -> None:
        self._is_reading = False
        if isinstance(found, Exception):
            text = f"The list is as it was: {getattr(found, 'message', found)}"
            app_of(self._pane).say(text, severity="warning")
            if self._is_stale:  # who asked meanwhile would wait for ever
                self._read_soon()
            return
        board, index, works = found
        is_other = works != self.works
        self.works = works
        if is_other and board is self.board:
            self._draw()
        if board is not self.board:
            self.board = board
            self.index = index
            self.inside.clear()  # what was opened is looked at again
            for chain in self.opened:
                listed = board.of_chain(chain)
                if listed is not None:
                    self._look_inside(listed)
            self.marked &= set(board.by_chain or ())
            self.arrange()
        if self._is_stale:
            self.read()

    # ---- filter and order

    def arrange(self) -> None:
        """Filter, sort and group in a thread; what was asked meanwhile is done after it."""
        if self.index is None:
            return
        if self.is_arranging:
            self._is_changed = True
            return
        query = self._query(self._order.filter)
        self._is_changed = False
        if query is None:
            self.is_arranged.set()
            return
        self.is_arranging = True
        self.is_arranged.clear()
        self._query_of_works = query
        order = Order(query, self._order.sort, self._order.grouping, self._now(), self._order.is_reversed)
        work = partial(self.index.arrange, order)
        app_of(self._pane).work("arrange", work, self._take_arrangement, self._keep_arrangement)

    def _keep_arrangement(self, _error: Exception) -> None:
        """Let the list stay as it was; what was asked meanwhile is done."""
        self.is_arranging = False
        if self._is_changed:
            self.arrange()
        if not self.is_arranging:
            self.is_arranged.set()

    def _take_arrangement(self, found: Arrangement) -> None:
        self.is_arranging = False
        self.arrangement = found
        if self._is_changed:
            self.arrange()
        self._draw()
        if not self.is_arranging:
            self.is_arranged.set()

    @property
    def filter_text(self) -> str:
        """Return the filter of what is shown: the sessions, or the runs of the trace."""
        return self._order.filter if self.trace is None else self._trace_text

    def _query(self, text: str) -> Query | None:
        """Return a filter; None, and what is wrong, where it cannot be understood yet."""
        wrong = self._pane.query_one("#sessions-wrong", Static)
        try:
            query: Query = engine_of(app_of(self._pane)).sessions.catalogue.query(text)
        except UsageInvalid as error:
            wrong.update(error.message)
            wrong.add_class("-wrong")
            return None
        wrong.remove_class("-wrong")
        return query

    def apply_filter(self) -> None:
        """Narrow what is shown to what is typed."""
        text = self._pane.query_one("#sessions-filter", Input).value
        if self.trace is not None:
            self._trace_text = text
            self._draw()
            return
        if text != self._order.filter:
            self.leads_to_first = bool(text.strip())
        self._order.filter = text
        self.arrange()

    # ---- what lies in a session

    def open_inside(self, listed: ListedSession) -> None:
        """Show what lies in a session, once that is read."""
        chain = listed.session.chain_id
        self.opened.add(chain)
        if chain not in self.inside:
            self._look_inside(listed)

    def _look_inside(self, listed: ListedSession) -> None:
        app = app_of(self._pane)
        chain = listed.session.chain_id

        def on_looked(found: Inside) -> None:
            self.inside[chain] = found
            self._draw()

        app.work("branches", partial(engine_of(app).sessions.catalogue.inside, listed.session), on_looked)

    # ---- the trace

    def action_trace(self) -> None:
        """Show the tree of invocations, or the list again."""
        if self.trace is not None:
            self.trace = None
            self._show_filter(self._order.filter)
            self._draw()
            return
        app = app_of(self._pane)
        app.work("trace", engine_of(app).sessions.catalogue.list_spawned, self._open_trace)

    def _open_trace(self, runs: tuple[Spawned, ...]) -> None:
        self.trace = runs
        self._show_filter(self._trace_text)
        self._draw()

    def _renew_trace(self, runs: tuple[Spawned, ...]) -> None:
        """Show the runs of now, unless the list of sessions is back meanwhile."""
        if self.trace is not None and self.trace != runs:
            self.trace = runs
            self._draw()

    def find_runs(self, titles: Mapping[str, str]) -> tuple[Spawned, ...]:
        """Return the runs that the filter finds; as before while it cannot be understood. titles: by sessions' ids."""
        query = self._query(self._trace_text)
        if query is not None and self.trace is not None:
            fits = (run for run in self.trace if run_fits(query, run, titles.get(run.session_id or "", "")))
            self.fitting_runs = tuple(fits)
        return self.fitting_runs

    # ---- what the CLIs have written

    def action_scan(self) -> None:
        """Read what the CLIs have written."""
        app = app_of(self._pane)
        app.say("Reading transcripts …")

        def on_scanned(new: int) -> None:
            app.say(f"{new:,} new turn{'s' * (new != 1)}")
            self.look_again()

        app.work("scan", engine_of(app).sessions.scans.read_new, on_scanned, title="reading transcripts", can_stop=True)

    def scan_missed(self) -> None:
        """Look for what came while the pane was not shown."""
        if self.misses_scan:
            self.scan_quietly()

    def scan_quietly(self) -> None:
        """Read what the CLIs have written, without a word; while the pane is not shown, once it is."""
        app = app_of(self._pane)
        self.misses_scan = app.engine is None or not self._pane.display
        if self.misses_scan:
            return
        if app.options.read_only:
            self.look_again()
        else:
            title = "reading transcripts"
            read_new = engine_of(app).sessions.scans.read_new
            app.work("scan", read_new, lambda _new: self.look_again(), self._miss_scan, title=title, can_stop=True)

    def _miss_scan(self, error: Exception) -> None:
        """Have a scan that failed done again with the next snapshot; one that its user stopped is not missed."""
        self.misses_scan = not isinstance(error, Stopped)


def _read_board(
    engine: Engine,
    read: Callable[[], Board],
    before: Board | None,
    index: SessionIndex | None,
) -> _Found | Exception:
    """Return the board, ready to be filtered, or what failed: the old list stays then."""
    try:
        board = read()
        works = choose_works(engine.work.list(_MOST_WORKS))
    except RunnerError as error:
        return error
    if board is before and index is not None:
        return board, index, works
    made = SessionIndex(board, index)
    if before is None:
        # A whole collection walks all of these: 150 ms at 10,000, and a key must not wait so long. Later boards share
        # nearly all of their rows with this one.
        gc.freeze()
    return board, made, works
