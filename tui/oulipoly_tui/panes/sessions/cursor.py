"""What is under the cursor of the Sessions pane: a session, a part of it, a run of the trace; and what is marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.records import replace
from oulipoly_tui.view.sessions.sessions import Item, Kind, SessionRows, title_of
from oulipoly_tui.view.transcript.transcript import Target
from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from collections.abc import Callable

    from oulipoly_engine.core.sessions.sessions import Part, Session
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_engine.facade.sessions.types import ListedSession, Spawned
    from oulipoly_tui.base.pane import Pane
    from oulipoly_tui.panes.sessions.reading import SessionReading


class SessionCursor:
    """The cursor of the list, or of the trace."""

    def __init__(self, pane: Pane, reading: SessionReading) -> None:
        self._pane = pane
        self._reading = reading
        self.rows: SessionRows | None = None  # that were drawn last

    @property
    def item(self) -> Item | None:
        """Return what is under the cursor of the list."""
        key = self._key
        if key is None or self.rows is None or self._reading.trace is not None:
            return None
        return self.rows.find(key)

    @property
    def listed(self) -> ListedSession | None:
        """Return the session under the cursor, also of an invocation in the trace view."""
        item = self.item
        if item is not None:
            return item.listed
        run = self.traced
        board = self._reading.board
        if run is None or board is None or run.session_id is None:
            return None
        owner = (run.account, run.session_id)
        for row in board.rows:
            if any((part.account, part.session_id) == owner for part in row.session.parts):
                return row
        return None

    @property
    def traced(self) -> Spawned | None:
        """Return the run under the cursor of the trace."""
        key = self._key
        trace = self._reading.trace
        if trace is None or key is None:
            return None
        return next((run for run in trace if f"{Kind.RUN}:{run.uuid}" == key), None)

    @property
    def work(self) -> LiveStatus | None:
        """Return the session that works by itself under the cursor."""
        item = self.item
        if item is None or item.kind is not Kind.WORK:
            return None
        return next((work for work in self._reading.works if work.session.session_id == item.work_id), None)

    @property
    def live_session_id(self) -> str | None:
        """Return the live session that the row under the cursor is; None: it is not one."""
        work = self.work
        return self._reading.find_live(self.listed) if work is None else work.session.session_id

    @property
    def chosen_chains(self) -> tuple[str, ...]:
        """Return the marked sessions in no order, else the one under the cursor."""
        if self._reading.marked and self._reading.trace is None:
            return tuple(self._reading.marked)
        listed = self.listed
        return () if listed is None else (listed.session.chain_id,)

    @property
    def chosen_sessions(self) -> list[Session]:
        """Return the same as the list has them."""
        board = self._reading.board
        rows = [] if board is None else [board.of_chain(chain) for chain in self.chosen_chains]
        return [listed.session for listed in rows if listed is not None]

    def with_session(self, act: Callable[[Session], None]) -> None:
        """Act on the session under the cursor."""
        listed = self.listed
        if listed is not None:
            act(listed.session)

    def target(self) -> Target | None:
        """Return what the transcript pane is to show of the row under the cursor."""
        item = self.item
        listed = self.listed
        if listed is None:
            return None
        session = listed.session
        inside = self._reading.inside.get(session.chain_id)
        target = target_of(listed)
        if item is not None and item.kind is Kind.SEGMENT:
            return target_of(listed, session.parts[item.place])
        if item is not None and item.kind is Kind.LINE and inside is not None:
            line = inside.tree.lines[item.place]
            entry_id, at = inside.firsts.get(line.rows[0], ("", ""))
            return replace(target, entry_id=entry_id, at=at)
        if item is not None and item.kind is Kind.FILE and inside is not None:
            name, path = inside.side_files[item.place]
            return replace(target, path=str(path), side=name)
        return target

    @property
    def _key(self) -> str | None:
        if not is_standing(self._pane):
            return None
        return self._pane.query_one("#sessions-list", VirtualList).cursor_key


def target_of(listed: ListedSession, part: Part | None = None) -> Target:
    """Return what the transcript pane is to show of a session, or of one of its segments."""
    session = listed.session
    part = part or session.active
    return Target(session.chain_id, part.account, part.session_id, part.transcript, title_of(session))
