"""How the Sessions pane comes to its rows: read, filtered, sorted and grouped in threads, one of each at a time."""

from __future__ import annotations

import asyncio
import gc
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.widgets import Static

from oulipoly_engine.core.search.query import Query
from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.core.sessions.spawned import run_fits
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.stopping import Stopped
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.view.sessions.groups import Arrangement, Grouping, Order, SessionIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from oulipoly_engine.events import Event
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_engine.facade.sessions.types import Board, Inside, ListedSession, Spawned

    _Found = tuple[Board, SessionIndex, tuple[LiveStatus, ...]]

_READ_EVERY_S = 1.0  # at most: others may write four times a second


class SessionReading:
    """The reading half of the pane."""

    app: Any
    display: Any
    board: Board | None
    marked: set[str]
    query_one: Callable[..., Any]
    show_filter: Callable[[str], None]
    _draw: Callable[[], None]
    _now: Callable[[], datetime]
    _soon: Callable[..., None]
    _text: str
    _sort: Sort
    _grouping: Grouping
    _is_reversed: bool
    _found: Arrangement
    _index: SessionIndex | None
    _opened: set[str]
    _inside: dict[str, Inside]
    _trace: tuple[Spawned, ...] | None
    _trace_text: str
    _is_reading: bool
    works: tuple[LiveStatus, ...]
    _query_of_works: Query
    _is_stale: bool
    _is_arranging: bool
    _is_changed: bool
    _fitting_runs: tuple[Spawned, ...] = ()  # of the trace, those that its filter finds
    _looks_again: bool = False
    _misses_scan: bool = False  # one was due while the pane was not shown, or failed
    _leads_to_first: bool = False  # the cursor, once what a new filter finds is there

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - the pane's own
        super().__init__(**more)
        self._is_arranged = asyncio.Event()
        self._is_arranged.set()

    def take_event(self, event: Event) -> None:
        """Read the list again when entries came or somebody wrote; after an action of ours its files may have moved."""
        growth = getattr(event, "growth", None)  # of the transcript that is open
        if type(event).__name__ == "SessionsChanged" or (growth is not None and (growth.is_gone or growth.is_back)):
            self._look_soon()
        elif type(event).__name__ in ("EntriesIngested", "StateChanged"):
            self._read_soon()

    def _read_soon(self) -> None:
        self._soon("read", _READ_EVERY_S, self._read, keeps=True)

    def _look_soon(self) -> None:
        """Read the list, and look at every transcript, with whatever else is asked until then."""
        self._looks_again = True
        self._read_soon()

    def _read(self) -> None:
        app = app_of(self)
        if app.engine is None:
            return
        if self._is_reading:
            self._is_stale = True
            return
        self._is_reading, self._is_stale = True, False
        board = partial(app.engine.sessions.catalogue.board, self.board, looks=self._looks_again)
        self._looks_again = False
        work = partial(_read_board, app.engine, board, self.board, self._index)
        app.work("sessions", work, self._take_board, self._take_board)
        if self._trace is not None:
            app.work("trace", app.engine.sessions.catalogue.list_spawned, self._renew_trace)

    def _look_again(self) -> None:
        """Read the list and look at every transcript: no event tells that one was deleted."""
        self._looks_again = True
        self._read()

    def _take_board(self, found: _Found | Exception) -> None:
        self._is_reading = False
        if isinstance(found, Exception):
            app = app_of(self)
            app.say(f"The list is as it was: {getattr(found, 'message', found)}", severity="warning")
            if self._is_stale:  # who asked meanwhile would wait for ever
                self._read_soon()
            return
        board, index, works = found
        is_other = works != self.works
        self.works = works
        if is_other and board is self.board:
            self._draw()
        if board is not self.board:
            self.board, self._index = board, index
            self._inside.clear()  # what was opened is looked at again
            for chain in self._opened:
                listed = board.of_chain(chain)
                if listed is not None:
                    self._look_inside(listed)
            self.marked &= set(board.by_chain or ())
            self._arrange()
        if self._is_stale:
            self._read()

    def _arrange(self) -> None:
        """Filter, sort and group in a thread; what was asked meanwhile is done after it."""
        app = app_of(self)
        if self._index is None:
            return
        if self._is_arranging:
            self._is_changed = True
            return
        query = self._query(self._text)
        self._is_changed = False
        if query is None:
            self._is_arranged.set()
            return
        self._is_arranging = True
        self._is_arranged.clear()
        self._query_of_works = query
        order = Order(query, self._sort, self._grouping, self._now(), self._is_reversed)
        app.work("arrange", partial(self._index.arrange, order), self._take_arrangement, self._keep_arrangement)

    def _keep_arrangement(self, _error: Exception) -> None:
        """Let the list stay as it was; what was asked meanwhile is done."""
        self._is_arranging = False
        if self._is_changed:
            self._arrange()
        if not self._is_arranging:
            self._is_arranged.set()

    def _take_arrangement(self, found: Arrangement) -> None:
        self._is_arranging = False
        self._found = found
        if self._is_changed:
            self._arrange()
        self._draw()
        if not self._is_arranging:
            self._is_arranged.set()

    @property
    def filter_text(self) -> str:
        """Return the filter of what is shown: the sessions, or the runs of the trace."""
        return self._text if self._trace is None else self._trace_text

    def _query(self, text: str) -> Query | None:
        """Return a filter; None, and what is wrong, where it cannot be understood yet."""
        app = app_of(self)
        try:
            query: Query = engine_of(app).sessions.catalogue.query(text)
        except UsageInvalid as error:
            wrong = self.query_one("#sessions-wrong", Static)
            wrong.update(error.message)
            wrong.add_class("-wrong")
            return None
        self.query_one("#sessions-wrong", Static).remove_class("-wrong")
        return query

    def _apply_filter(self) -> None:
        text = self.query_one("#sessions-filter").value
        if self._trace is not None:
            self._trace_text = text
            self._draw()
            return
        before, self._text = self._text, text
        if self._text != before:
            self._leads_to_first = bool(self._text.strip())
        self._arrange()

    def _open_inside(self, listed: ListedSession) -> None:
        chain = listed.session.chain_id
        self._opened.add(chain)
        if chain not in self._inside:
            self._look_inside(listed)

    def _look_inside(self, listed: ListedSession) -> None:
        app = app_of(self)
        chain = listed.session.chain_id

        def on_looked(found: Inside) -> None:
            self._inside[chain] = found
            self._draw()

        app.work("branches", partial(engine_of(app).sessions.catalogue.inside, listed.session), on_looked)

    def _open_trace(self, runs: tuple[Spawned, ...]) -> None:
        self._trace = runs
        self.show_filter(self._trace_text)
        self._draw()

    def _renew_trace(self, runs: tuple[Spawned, ...]) -> None:
        """Show the runs of now, unless the list of sessions is back meanwhile."""
        if self._trace is not None and self._trace != runs:
            self._trace = runs
            self._draw()

    def _find_runs(self, titles: Mapping[str, str]) -> tuple[Spawned, ...]:
        """Return the runs that the filter finds; as before while it cannot be understood. titles: by sessions' ids."""
        query = self._query(self._trace_text)
        if query is None or self._trace is None:
            return self._fitting_runs
        return tuple(run for run in self._trace if run_fits(query, run, titles.get(run.session_id or "", "")))

    def on_show(self) -> None:
        """Look for what came while the pane was not shown."""
        if self._misses_scan:
            self._scan_quietly()

    def _scan_quietly(self) -> None:
        app = app_of(self)
        self._misses_scan = app.engine is None or not self.display
        if self._misses_scan:
            return
        if app.options.read_only:
            self._look_again()
        else:
            title = "reading transcripts"
            read_new = engine_of(app).sessions.scans.read_new
            app.work("scan", read_new, lambda _new: self._look_again(), self._miss_scan, title=title, can_stop=True)

    def _miss_scan(self, error: Exception) -> None:
        """Have a scan that failed done again with the next snapshot; one that its user stopped is not missed."""
        self._misses_scan = not isinstance(error, Stopped)


def _read_board(
    engine: Engine,
    read: Callable[[], Board],
    before: Board | None,
    index: SessionIndex | None,
) -> _Found | Exception:
    """Return the board, ready to be filtered, or what failed: the old list stays then."""
    from oulipoly_engine.errors import RunnerError  # noqa: PLC0415 - loaded already
    from oulipoly_tui.panes.sessions.working import read_works  # noqa: PLC0415 - the same

    try:
        board = read()
        works = read_works(engine)
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
