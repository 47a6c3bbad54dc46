"""What wants the user: told once, counted in the header, gone through with a key; told outside where nobody looks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from oulipoly_tui.notices import Notices
from oulipoly_tui.view import words
from oulipoly_tui.view.attention import PROBLEMS, Attention, alert_text, everything, following
from oulipoly_tui.view.header import worst_window

if TYPE_CHECKING:
    from oulipoly_engine.engine import Snapshot
    from oulipoly_tui.app import AgentsApp
    from oulipoly_tui.screens.reading import Reading


class Watchman:
    """Watches for the app."""

    def __init__(self, app: AgentsApp) -> None:
        self._app = app
        self._last: Attention | None = None  # that was gone to
        self._is_asking = False
        self._list: Reading | None = None  # of problems, while it is open
        self.notices = Notices(self._write, os.environ)

    def wanted(self) -> tuple[Attention, ...]:
        """Return everything that wants the user now."""
        of_panes = (one for pane in self._app.frame.panes for one in pane.attention())
        return everything(self._app.snapshot, of_panes)

    async def go_on(self) -> None:
        """Go to the next thing that wants the user, and say what it is."""
        found = following(self.wanted(), self._last)
        self._last = found
        if found is None:
            return
        if found.pane == PROBLEMS:
            self._app.action_problems()
            return
        await self._app.frame.turn_to(found.pane)
        self._app.call_after_refresh(self._show, found)

    def raise_alerts(self) -> None:
        """Have what nobody has been told of yet become events, one question at a time."""
        engine = self._app.engine
        if engine is not None and not self._is_asking:
            self._is_asking = True
            self._app.work("alerts", engine.raise_alerts, self._raised, failed=self._raised)

    def alert(self, event: Any) -> None:  # noqa: ANN401 - AlertRaised, known by its name alone so far
        """Tell an alert: in a line here, and outside where the terminal is not looked at."""
        text = alert_text(event, event.at)
        self._app.say(text, severity="warning")
        if not self._app.app_focus:
            self.notices.tell("agents", text)

    def list_problems(self) -> None:
        """Show what is wrong; what is found later joins the list while it is open."""
        from oulipoly_tui.screens.reading import Reading  # noqa: PLC0415 - only when it is opened
        from oulipoly_tui.view.problems import problem_lines  # noqa: PLC0415 - only when it is opened

        self._list = Reading("Problems", problem_lines(self._app.troubles()))
        self._app.push_screen(self._list, self._closed)

    def take(self, snapshot: Snapshot) -> None:
        """Bring the open list of problems up to date, and the window's title: worst window, how much wants the user."""
        if self._list is not None and self._list.is_mounted:
            from oulipoly_tui.view.problems import problem_lines  # noqa: PLC0415 - loaded by now

            self._list.show_content(problem_lines(self._app.troubles()))
        worst = worst_window(snapshot)
        told = "" if worst is None else f" · {worst[0]} {worst[1].name} {words.percent(worst[1].used)}"
        count = len(self.wanted())
        self.notices.entitle(f"agents{told}" + (f" · ! {count}" if count else ""))

    def _closed(self, _result: None) -> None:
        self._list = None

    def _raised(self, _result: object) -> None:
        self._is_asking = False

    def _show(self, found: Attention) -> None:
        pane = self._app.frame.find(found.pane)
        if pane is not None and found.key:
            pane.show(found.key)
        self._app.say(found.text)

    def _write(self, text: str) -> None:
        driver = self._app._driver
        if driver is not None:
            driver.write(text)
            driver.flush()
