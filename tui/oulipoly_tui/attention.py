"""What wants the user: told once, counted in the header, gone through with a key; told outside where nobody looks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from oulipoly_tui.driver.notices import Notices
from oulipoly_tui.driver.progress import UNKNOWN, Progress, together
from oulipoly_tui.jobs import Jobs
from oulipoly_tui.keys import keymap
from oulipoly_tui.toasts import Toasts, toast_room
from oulipoly_tui.view import words
from oulipoly_tui.view.frame.attention import (
    INBOX,
    PROBLEMS,
    alert_text,
    alerts_text,
    collect_attention,
    find_next,
    is_told_as_seen,
    key_of,
    pane_of,
)
from oulipoly_tui.view.frame.header import worst_window
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.checks.alerts import Alert
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.screens.reading import Reading
    from oulipoly_tui.view.frame.problems import Problem

_LONG_S = 2.0  # work that takes longer is told outside

_OUTSIDE = 150  # columns of a terminal's own notification


class Alerts:
    """Knows what wants the user, and tells it."""

    def __init__(self, app: AppInterface, toasts: Toasts, jobs: Jobs) -> None:
        self._app = app
        self._toasts = toasts
        self._jobs = jobs
        self._last: Alert | None = None  # that was gone to
        self._is_asking = False
        self._raised_now: list[Any] = []  # alerts that nobody has been told of yet
        self._list: Reading | None = None  # of problems, while it is open
        self._told: set[tuple[str, str, str]] = set()  # what of the last snapshot a line has said
        self.notices = Notices(self._write, os.environ)
        self.progress = Progress(self._write, os.environ)

    def list_attention(self) -> tuple[Alert, ...]:
        """Return everything that wants the user now."""
        of_panes = (
            *self._app.requests.attention(),
            *(one for pane in self._app.frame.panes for one in pane.attention()),
        )
        return collect_attention(self._app.snapshot, of_panes)

    def troubles(self) -> tuple[Problem, ...]:
        """Return everything that is wrong, for the problems list."""
        from oulipoly_tui.view.frame.problems import of_app  # noqa: PLC0415 - the list is rarely opened

        return of_app(self._app.snapshot, self._toasts.failures, self._app.keys, self.list_attention())

    async def go_on(self) -> None:
        """Go to the next thing that wants the user, and say what it is."""
        found = find_next(self.list_attention(), self._last)
        self._last = found
        if found is None:
            return
        pane = pane_of(found)
        if pane == PROBLEMS:
            self.list_problems()
            return
        if pane == INBOX:
            self._app.order("inbox")
            return
        await self._app.frame.turn_to(pane)
        self._app.call_after_refresh(self._show, found)

    def look(self) -> None:
        """Tell the outer terminal whether anything long is under way: our work, a one-shot, a terminal's program."""
        app = self._app
        works = [UNKNOWN for _ in self._jobs.since(_LONG_S)]
        shots = [UNKNOWN] * (0 if app.engine is None else len(app.engine.background.running))
        told = [percent for pane in app.frame.panes for percent in pane.under_way()]
        mode = "off" if app.options.reduced_motion else app.options.progress
        self.progress.tell(together((*works, *shots, *told)), mode)

    def close(self) -> None:
        """Give the outer terminal back as it was."""
        self.progress.close()
        self.notices.close()

    def raise_alerts(self) -> None:
        """Have what nobody has been told of yet become events, one question at a time."""
        engine = self._app.engine
        if engine is not None and not self._is_asking:
            self._is_asking = True
            self._app.work("alerts", engine.quota.raise_alerts, self._finish_asking, failed=self._finish_asking)

    def alert(self, event: Any) -> None:  # noqa: ANN401 - AlertRaised, known by its name alone so far
        """Tell an alert; those that one question brought are told together, once its answer is complete."""
        self._raised_now.append(event)
        if not self._is_asking:
            self._tell_alerts()

    def list_problems(self) -> None:
        """Show what is wrong; what is found later joins the list while it is open."""
        from oulipoly_tui.screens.doctor import Problems  # noqa: PLC0415 - only when it is opened
        from oulipoly_tui.view.frame.problems import problem_lines  # noqa: PLC0415 - only when it is opened

        self._list = Problems("Problems", problem_lines(self.troubles()))
        self._app.push_screen(self._list, self._forget_list)

    def take(self, snapshot: Snapshot) -> None:
        """Bring the open list of problems up to date, and the window's title; say what has come.

        The title: worst window, how much wants the user.
        """
        self._tell_new(snapshot)
        self.show_troubles()
        worst = worst_window(snapshot)
        told = "" if worst is None else f" · {worst[0]} {worst[1].name} {words.percent(worst[1].used)}"
        count = len(self.list_attention())
        self.notices.entitle(f"agents{told}" + (f" · ! {count}" if count else ""))

    def show_troubles(self) -> None:
        """Bring the list of problems up to date, where it is open."""
        if self._list is not None and is_standing(self._list):
            from oulipoly_tui.view.frame.problems import problem_lines  # noqa: PLC0415 - loaded by now

            self._list.show_content(problem_lines(self.troubles()))

    def _forget_list(self, _result: None) -> None:
        self._list = None

    def _finish_asking(self, _result: object) -> None:
        self._is_asking = False
        self._tell_alerts()

    def _tell_new(self, snapshot: Snapshot) -> None:
        """Say in one line which file has become broken, which login is over, which disk is nearly full."""
        alerts = [alert for alert in snapshot.alerts if is_told_as_seen(alert)]
        new = [alert for alert in alerts if alert.identity not in self._told]
        self._told = {alert.identity for alert in alerts}
        if not new:
            return
        from oulipoly_tui.view.frame.problems import format_new_problem  # noqa: PLC0415 - problems rarely come

        room, row = toast_room(self._app.size.width), self._app.keys.find("frame.problems")
        key = None if row is None else keymap.format_first_key(row.keys)
        severity = "error" if new[0].since is not None or new[0].is_error else "warning"
        self._app.say(format_new_problem(new[0], snapshot.at, room, key), severity=severity)
        if not self._app.app_focus:
            self.notices.tell("agents", format_new_problem(new[0], snapshot.at, _OUTSIDE))

    def _tell_alerts(self) -> None:
        """Tell in one line here what is new, and outside where the terminal is not looked at."""
        new, self._raised_now = self._raised_now, []
        if not new:
            return
        row = self._app.keys.find("frame.attention")
        key = None if row is None else keymap.format_first_key(row.keys)
        text = alerts_text(new, key, toast_room(self._app.size.width))
        self._app.say(text, severity="warning", is_listed=True)
        if not self._app.app_focus:
            self.notices.tell("agents", alerts_text(new, None, _OUTSIDE))

    def _show(self, alert: Alert) -> None:
        pane = self._app.frame.find(pane_of(alert))
        if pane is not None:
            pane.show(key_of(alert))
        self._app.say(alert_text(alert, self._app.now()))

    def _write(self, text: str) -> None:
        driver = self._app._driver
        if driver is not None:
            driver.write(text)
            driver.flush()
