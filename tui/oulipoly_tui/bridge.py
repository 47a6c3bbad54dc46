"""The engine, its events and its snapshots: the only place where its threads meet the app's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.quota.staleness import READING_FLOOR_S
from oulipoly_engine.core.worktrees.retention import describe_gone
from oulipoly_engine.errors import RunnerError
from oulipoly_tui.attention import Alerts
from oulipoly_tui.base.app_interface import AppInterface
from oulipoly_tui.base.messages import EventArrived

if TYPE_CHECKING:
    from datetime import datetime

    from textual.app import App

    from oulipoly_engine.core.worktrees.worktrees import Worktree
    from oulipoly_engine.events import Event, Listeners
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.snapshot import Snapshot

_DAY = timedelta(days=1)


def connect(listeners: Listeners, app: App[Any]) -> None:
    """Post every event to the app from now on. `post_message` may be called by any thread."""

    def post(event: Event) -> None:
        if app.is_running:
            app.post_message(EventArrived(event))

    listeners.subscribe(post)


class EngineBridge:
    """Opens the engine, and keeps what the app shows of it new."""

    def __init__(self, app: AppInterface, open_engine: Callable[[], Engine], alerts: Alerts) -> None:
        self._app = app
        self._open_engine = open_engine
        self._alerts = alerts
        self._is_taking = self._is_dirty = self._is_reading = False
        self._pruned_at: datetime | None = None
        self._read_at: dict[str, float] = {}  # by account, monotonic: when its reading was begun here

    def open(self) -> None:
        """Open the engine in a thread: it takes longer than the first frame."""
        self._app.work("open", self._open_engine, self._take_engine)

    def take_snapshot(self) -> None:
        """Ask for a new snapshot; one that is being taken is followed by one more at most."""
        engine = self._app.engine
        if engine is None:
            return
        self._is_dirty = self._is_taking
        if not self._is_taking:
            self._is_taking = True
            self._app.work("snapshot", engine.snapshot, self._apply_snapshot, self._skip_snapshot)

    def take_event(self, event: Event) -> None:
        """Pass an event on, and take a new snapshot where it may have changed anything in it."""
        self._app.frame.take_event(event)
        name = type(event).__name__
        if name in ("StateChanged", "ConfigurationChanged", "QuotaRefreshed"):
            self.take_snapshot()
        if name in ("StateChanged", "QuotaRefreshed"):
            self._alerts.raise_alerts()
        if name == "AlertRaised":
            self._alerts.alert(event)
        if name == "ConfigurationChanged":
            self._examine()

    def read_due_quota(self) -> None:
        """Read the accounts that are due, unless such a reading is under way.

        Not one more often than the floor allows: a reading that was stopped, or cannot be stored, leaves it due.
        """
        app, engine, snapshot = self._app, self._app.engine, self._app.snapshot
        if engine is None or snapshot is None or self._is_reading or app.options.read_only:
            return
        latest = monotonic() - READING_FLOOR_S
        shown = (view.name for view in snapshot.accounts if view.is_due)
        due = tuple(name for name in shown if self._read_at.get(name, latest) <= latest)
        if due and app.options.reads_quota:
            self._is_reading = True
            self._read_at.update(dict.fromkeys(due, monotonic()))
            read = partial(engine.quota.refresh_for_display, due, snapshot.at)
            app.work("read due", read, self._end_reading, self._end_reading, title="reading quota", can_stop=True)

    def start_waiting(self) -> None:
        """Have those sessions begin that waited until others had ended."""
        app, engine = self._app, self._app.engine
        waits_for_places = app.snapshot is not None and app.snapshot.max_running > 0
        if engine is None or app.options.read_only or not waits_for_places:
            return

        def start() -> tuple[str, ...]:
            with suppress(RunnerError):  # what is wrong with the configuration or the disk is told where it is used
                return engine.work.start_waiting()
            return ()

        def say(started: tuple[str, ...]) -> None:
            if started:
                ids = ", ".join(session_id[:8] for session_id in started)
                app.say(f"Begun, now that there is a place: {ids}")

        app.work("start waiting", start, say)

    def prune_daily(self) -> None:
        """Have those worktrees go that may go by themselves, at the start and each day, and say which did."""
        app, engine = self._app, self._app.engine
        if engine is None or app.options.read_only:
            return
        today = app.now()
        if self._pruned_at is not None and today - self._pruned_at < _DAY:
            return
        self._pruned_at = today

        def prune() -> Sequence[Worktree]:
            with suppress(RunnerError):
                engine.retention.shorten_events()
            with suppress(RunnerError):  # what is wrong with the configuration or the disk is told where it is used
                engine.retention.prune()
                return engine.retention.take_news("app")
            return ()

        def say(gone: Sequence[Worktree]) -> None:
            if gone:
                app.say(describe_gone(gone))

        app.work("prune", prune, say)

    def _take_engine(self, engine: Engine) -> None:
        self._app.engine = engine
        connect(engine.listeners, self._app)
        self.take_snapshot()

    def _apply_snapshot(self, snapshot: Snapshot) -> None:
        app = self._app
        self._is_taking = False
        is_first, app.snapshot = app.snapshot is None, snapshot
        app.frame.take(snapshot)
        app.show_keys()
        self._alerts.take(snapshot)
        if is_first and app.engine is not None:
            app.engine.follow()
            self._examine()
            self._find_terminals()
            self._alerts.raise_alerts()
            self.read_due_quota()
            self.prune_daily()
        self._take_next()

    def _end_reading(self, _result: object) -> None:
        """Take a new snapshot: nobody is to be found due once more by what was known before."""
        self._is_reading = False
        self.take_snapshot()

    def _skip_snapshot(self, _error: Exception) -> None:
        self._is_taking = False
        self._take_next()

    def _take_next(self) -> None:
        if self._is_dirty:
            self.take_snapshot()

    def _find_terminals(self) -> None:
        """Have the pane of the terminals tell of those that live already, also where it has no place yet."""
        app = self._app
        if app.engine is None or not app.has_pane("repl"):
            return

        def take(has_any: bool) -> None:
            if has_any:
                app.call_next(app.frame.add_hidden, "repl")

        app.work("terminals", app.engine.terminals.has_any, take)

    def _examine(self) -> None:
        if self._app.engine is not None:
            self._app.work("check", self._app.engine.configuration.examine, lambda _: self.take_snapshot())
