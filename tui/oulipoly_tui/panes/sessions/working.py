"""The sessions that work by themselves in the Sessions pane: read with the list, and git asked about what is seen."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from oulipoly_engine.errors import RunnerError
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.view.sessions.sessions import Kind
from oulipoly_tui.view.work.works import GitLook, has_folder, read_changes
from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_tui.base.pane import Pane
    from oulipoly_tui.panes.sessions.cursor import SessionCursor
    from oulipoly_tui.panes.sessions.reading import SessionReading

_TICK_S = 0.5
_BUSY_S = 2.0  # between two looks of git at a folder in which an agent works
_IDLE_S = 10.0  # and at one in which nobody does


class GitLooks:
    """What git says of the folders of the sessions on the screen that work by themselves."""

    def __init__(self, pane: Pane, reading: SessionReading, cursor: SessionCursor, draw: Callable[[], None]) -> None:
        self._pane = pane
        self._reading = reading
        self._cursor = cursor
        self._draw = draw
        self.by_session: Mapping[str, GitLook] = {}
        self._looked_at: dict[str, float] = {}  # monotonic seconds, by session
        self._is_looking = False

    def begin(self) -> None:
        """Have git asked about what is seen from now on."""
        self._pane.set_interval(_TICK_S, self.look)

    def look(self) -> None:
        """Ask git about the folders of the rows on the screen whose last look is too old; one such work at a time."""
        app = app_of(self._pane)
        if self._is_looking or not self._reading.works or app.engine is None or not self._is_seen():
            return
        now = monotonic()
        seen = self._seen_works()
        due = [_id(one) for one in seen if now - self._looked_at.get(_id(one), 0.0) >= _age(one)]
        if not due:
            return
        self._is_looking = True
        self._looked_at.update(dict.fromkeys(due, now))
        app.work("worktrees", partial(_look, app.engine, due), self._take_looks, self._skip_looks)

    def _is_seen(self) -> bool:
        pane, app = self._pane, app_of(self._pane)
        return pane.display and self._reading.trace is None and is_standing(pane) and app.screen is app.frame

    def _seen_works(self) -> Sequence[LiveStatus]:
        shown = self._cursor.rows
        rows = self._pane.query_one("#sessions-list", VirtualList)
        top, height = rows.scroll_offset.y, rows.size.height
        if shown is None or not height:
            return ()
        last = min(len(shown), top + height)
        ids = {item.work_id for place in range(top, last) if (item := shown.item(place)).kind is Kind.WORK}
        return [one for one in self._reading.works if _id(one) in ids and has_folder(one)]

    def _take_looks(self, found: Mapping[str, GitLook]) -> None:
        self._is_looking = False
        known = {_id(one) for one in self._reading.works}
        after = {key: look for key, look in {**self.by_session, **found}.items() if key in known}
        if after != self.by_session:
            self.by_session = after
            self._draw()

    def _skip_looks(self, _error: Exception) -> None:
        self._is_looking = False


def _look(engine: Engine, ids: Sequence[str]) -> Mapping[str, GitLook]:
    found = {}
    for session_id in ids:
        try:
            found[session_id] = read_changes(engine.changes.status(session_id, max_age_s=_BUSY_S))
        except RunnerError as error:
            found[session_id] = GitLook(reason=error.message)
    return found


def _id(work: LiveStatus) -> str:
    return work.session.session_id


def _age(work: LiveStatus) -> float:
    return _BUSY_S if work.busy else _IDLE_S
