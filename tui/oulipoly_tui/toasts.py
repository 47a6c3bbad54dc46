"""What the app says in one line for some seconds, and what of it stays listed."""

from __future__ import annotations

from datetime import UTC, datetime
from time import monotonic
from typing import Any

from textual.app import App

from oulipoly_engine.core.text.quantities import local
from oulipoly_tui.view.transcript.spans import cells, cut

_REST = " (! tells all)"
_KEPT = 20  # failures
_LINES = 3  # that a text may take; what it says first, and what to do at its end, mostly fit
_LEAST, _EDGES = 20, 12  # columns of a toast's text, and around it


def toast_room(width: int) -> int:
    """Return the columns that a toast's text has in a terminal so wide."""
    return max(_LEAST, width - _EDGES)


class Toasts:
    """Says lines, each once while it is shown."""

    def __init__(self, app: App[Any]) -> None:
        self.failures: tuple[tuple[str, bool], ...] = ()  # (what failed, is it our bug), newest last
        self._app = app
        self._shown: dict[str, float] = {}  # lines that are still shown, and since when, in monotonic seconds

    def say(self, text: str, *, severity: str = "information", is_listed: bool = False) -> None:
        """Show a text on a few lines for some seconds; what does not fit stands in the problems list, once.

        severity: "information", "warning" or "error". is_listed: the list tells it by itself, as long as it is so.
        """
        line = local(" ".join(text.split()), datetime.now(UTC))
        room = toast_room(self._app.size.width) * _LINES
        if cells(line) > room:
            if severity != "information" and not is_listed and (line, False) not in self.failures:
                self.failures = (*self.failures[-_KEPT:], (line, False))
            line = cut(line, room - len(_REST)) + _REST if severity != "information" else cut(line, room)
        now, lasts_s = monotonic(), self._app.NOTIFICATION_TIMEOUT
        if now - self._shown.get(line, -lasts_s) < lasts_s:
            return  # it is still there
        self._shown = {text: at for text, at in self._shown.items() if now - at < lasts_s} | {line: now}
        kind: Any = severity
        self._app.notify(line, severity=kind, markup=False)

    def say_failure(self, name: str, error: Exception) -> None:
        """Say what failed; what is a bug of ours stays listed."""
        message = getattr(error, "message", None)
        text = f"{name} failed: {type(error).__name__}: {error}" if message is None else str(message)
        if message is None:
            self.failures = (*self.failures[-_KEPT:], (text, True))
        self.say(text, severity="error")

    def forget(self) -> None:
        """Let what was said a moment ago be said again."""
        self._shown.clear()
