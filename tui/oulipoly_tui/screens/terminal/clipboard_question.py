"""The question that a program brings up, while the user may be in the middle of a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.widgets import Static

from oulipoly_tui.screens.question import Confirm, Pause

if TYPE_CHECKING:
    from oulipoly_tui.widgets.terminal_view import TerminalView

QUIET_S = 1.0  # without a key: then whoever types has seen the question
_HINT = "Until you pause for a second, what you type goes on to where it went."


class ClipboardQuestion(Confirm):
    """Asks whether a program may write the clipboard; a word that is being typed answers nothing, and is not lost."""

    def __init__(self, text: str) -> None:
        super().__init__("Allow the clipboard?", f"{text}\n{_HINT}", "allow")
        self._pause = Pause(QUIET_S)

    def on_screen_resume(self) -> None:
        """Begin to wait for a pause only when the question can be seen."""
        self._pause.begin()

    def reword(self, text: str) -> None:
        """Ask about something newer."""
        self._text = f"{text}\n{_HINT}"
        if self.is_mounted:
            self.query_one("#text", Static).update(self._text)

    def on_key(self, event: events.Key) -> None:
        """Hand a key on until there was a pause; escape, which answers no, is heard at once."""
        if event.key != "escape" and self._is_typed_through(event):
            view = self._typed_into
            if view is not None:
                view.on_key(event)

    def on_paste(self, event: events.Paste) -> None:
        """Hand a paste on in the same way."""
        if self._is_typed_through(event):
            view = self._typed_into
            if view is not None:
                view.on_paste(event)

    def _is_typed_through(self, event: events.Key | events.Paste) -> bool:
        if self._pause.is_over():
            return False
        event.stop()
        event.prevent_default()
        return True

    @property
    def _typed_into(self) -> TerminalView | None:
        """Return the terminal that has the keys beneath; None where the user types something else."""
        from oulipoly_tui.widgets.terminal_view import TerminalView  # noqa: PLC0415 - loaded already

        below = (one for one in reversed(self.app.screen_stack) if not isinstance(one, ClipboardQuestion))
        beneath = next((one.focused for one in below), None)
        return beneath if isinstance(beneath, TerminalView) else None
