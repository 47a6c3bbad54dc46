"""The sessions that work by themselves in the Sessions pane: read with the list, and git asked about what is seen."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.search.query import Query
from oulipoly_engine.errors import RunnerError
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.view.sessions.sessions import Item, Kind, SessionRows
from oulipoly_tui.view.work.works import GitLook, choose_works, has_folder, read_changes, work_fits
from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.live.standing import LiveStatus

_TICK_S = 0.5
_BUSY_S = 2.0  # between two looks of git at a folder in which an agent works
_IDLE_S = 10.0  # and at one in which nobody does
_MOST = 200  # sessions


class SessionWork:
    """The half of the pane that knows work sessions."""

    app: Any
    display: Any
    is_mounted: Any
    query_one: Callable[..., Any]
    set_interval: Callable[..., Any]
    _draw: Callable[[], None]
    listed: Any
    live_of: Callable[[Any], str | None]
    _rows: SessionRows | None
    _trace: Any

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - the pane's own
        super().__init__(**more)
        self.works: tuple[LiveStatus, ...] = ()
        self.git_looks: Mapping[str, GitLook] = {}  # by session
        self._looked_at: dict[str, float] = {}  # monotonic seconds, by session
        self._is_looking = False
        self._query_of_works = Query()

    @property
    def item(self) -> Item | None:
        """Return what is under the cursor of the list."""
        raise NotImplementedError

    @property
    def work(self) -> LiveStatus | None:
        """Return the session that works by itself under the cursor."""
        item = self.item
        if item is None or item.kind is not Kind.WORK:
            return None
        return next((one for one in self.works if one.session.session_id == item.work_id), None)

    @property
    def live_session_id(self) -> str | None:
        """Return the live session that the row under the cursor is; None: it is not one."""
        work = self.work
        return self.live_of(self.listed) if work is None else work.session.session_id

    @property
    def listed_works(self) -> tuple[LiveStatus, ...]:
        """Return those that the filter finds."""
        query = self._query_of_works
        return self.works if query == Query() else tuple(one for one in self.works if work_fits(one, query))

    def watch_folders(self) -> None:
        """Have git asked about what is seen from now on."""
        self.set_interval(_TICK_S, self._look_at_folders)

    def _look_at_folders(self) -> None:
        """Ask git about the folders of the rows on the screen whose last look is too old; one such work at a time."""
        app = app_of(self)
        if self._is_looking or not self.works or app.engine is None or not self._is_seen():
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
        pane: Any = self
        return bool(self.display) and self._trace is None and is_standing(pane) and self.app.screen is self.app.frame

    def _seen_works(self) -> Sequence[LiveStatus]:
        rows = self.query_one("#sessions-list", VirtualList)
        top, height = rows.scroll_offset.y, rows.size.height
        if self._rows is None or not height:
            return ()
        last = min(len(self._rows), top + height)
        ids = {item.work_id for place in range(top, last) if (item := self._rows.item(place)).kind is Kind.WORK}
        return [one for one in self.works if _id(one) in ids and has_folder(one)]

    def _take_looks(self, found: Mapping[str, GitLook]) -> None:
        self._is_looking = False
        known = {_id(one) for one in self.works}
        after = {key: look for key, look in {**self.git_looks, **found}.items() if key in known}
        if after != self.git_looks:
            self.git_looks = after
            self._draw()

    def _skip_looks(self, _error: Exception) -> None:
        self._is_looking = False


def read_works(engine: Engine) -> tuple[LiveStatus, ...]:
    """Return the work sessions that are listed."""
    return choose_works(engine.work.list(_MOST))


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
