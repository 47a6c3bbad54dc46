"""Asks for a key by having it pressed."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from oulipoly_tui.view.frame.hints import BACK


class KeyPress(ModalScreen[str | None]):
    """Its answer is the next key, by Textual's name; None: Escape, which goes back and can be bound in app.toml."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = f"Press a key · {BACK}"
            yield Static(self._text, markup=False, id="text")

    async def on_event(self, event: events.Event) -> None:
        """Take a key before anything else does: `tab` and `ctrl+c` mean something on every other screen."""
        if isinstance(event, events.Key):
            event.stop()
            self.dismiss(None if event.key == "escape" else event.key)
            return
        await super().on_event(event)
