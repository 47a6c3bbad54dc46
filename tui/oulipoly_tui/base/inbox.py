"""What is asked, by live sessions and others: looked for when the state changes, counted in the header, told once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.checks.alerts import Alert, of_request
from oulipoly_tui.keys import keymap

if TYPE_CHECKING:
    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_engine.facade.engine import Engine

_LOOK_S = 2.0  # between two looks without any event: a host may die, whose requests nobody can answer then
_AT_ONCE_S = 0.3  # between two looks because of events
_OUTSIDE = 120  # columns of a terminal's own notification
PANE = "live"


class Requests:
    """Knows the open requests."""

    def __init__(self, app: Any) -> None:  # noqa: ANN401 - AppInterface, which names us
        self._app = app
        self.open: Sequence[LiveRequest] = ()
        self.names: Mapping[str, str] = {}  # of sessions, by their ids
        self._told: set[str] = set()
        self._is_reading = self._is_dirty = False
        self._read_at = float("-inf")

    def look(self) -> None:
        """Look for what changed a moment ago, and whether those that ask still live."""
        passed = monotonic() - self._read_at
        if self._is_dirty or passed == float("inf") or (self.open and passed > _LOOK_S):
            self._read()

    def look_soon(self) -> None:
        """Look because something has changed."""
        self._is_dirty = True
        if monotonic() - self._read_at > _AT_ONCE_S:
            self._read()

    def attention(self) -> tuple[Alert, ...]:
        """Return each open request as what wants the user."""
        return tuple(of_request(request, self.names.get(request.session_id, "")) for request in self.open)

    def _read(self) -> None:
        engine = self._app.engine
        if engine is None or self._is_reading:
            return
        self._is_reading, self._is_dirty = True, False
        self._read_at = monotonic()
        self._app.work("requests", lambda: _read_requests(engine), self._take, self._skip)

    def _skip(self, _error: Exception) -> None:
        self._is_reading = False

    def _take(self, found: tuple[Sequence[LiveRequest], Mapping[str, str]]) -> None:
        self._is_reading = False
        before = self.open
        self.open, self.names = found
        if self.open != before:
            self._app.show_keys()
            self._app.alerts.show_troubles()
            self._tell()

    def _tell(self) -> None:
        """Say what is new, unless it is seen anyway; outside where the terminal is not looked at."""
        alerts = self.attention()
        new = [alert for alert in alerts if alert.cause not in self._told]
        self._told = {alert.cause for alert in alerts}
        app = self._app
        pane: Any = app.frame.find(PANE)
        shown = (
            None if pane is None or app.frame.current is not pane or pane.session is None else pane.session.session_id
        )
        own = self._of_own_set_up()
        unseen = [alert for alert in new if alert.subject != shown and alert.cause not in own]
        row = app.keys.find("frame.inbox")
        key = "" if row is None else f" · {keymap.format_first_key(row.keys)}: inbox"
        if unseen:
            more = f" and {len(unseen) - 1} more" if len(unseen) > 1 else ""
            app.say(f"{unseen[0].text}{more}{key}", severity="warning", is_listed=True)
        if new and not app.app_focus:
            app.alerts.notices.tell("agents", new[0].text[:_OUTSIDE])

    def _of_own_set_up(self) -> set[str]:
        """Return the requests of a set-up that runs in this app: its own screen asks, and says so while hidden."""
        if not self._app.has_set_up:
            return set()
        return {request.request_id for request in self.open if request.origin == "setup"}


def _read_requests(engine: Engine) -> tuple[Sequence[LiveRequest], Mapping[str, str]]:
    found = engine.live.requests()
    if not found:
        return (), {}
    from oulipoly_tui.view.live.lists import name_of  # noqa: PLC0415 - only where something is asked

    return found, {one.session.session_id: name_of(one) for one in engine.live.list_sessions()}
