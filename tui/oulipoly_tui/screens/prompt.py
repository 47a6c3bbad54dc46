"""The prompt box of a one-shot."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, TextArea

from oulipoly_tui.view.frame.hints import BACK, link


class Prompt(ModalScreen[str | None]):
    """Asks for a prompt of any length; enter makes a new line, the button or ctrl+s sends."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel", priority=True),
        Binding("ctrl+s,ctrl+enter,f2", "send", "send", priority=True),
    ]
    DEFAULT_CSS = "Prompt TextArea { height: 8; border: tall $panel; }"

    def __init__(self, model: str, account: str | None) -> None:
        super().__init__()
        self._model = model
        self._account = account

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical(classes="dialog") as box:
            box.border_title = Content(f"prompt {self._model} → {self._account or 'nobody can serve now'}")
            box.border_subtitle = f"{link('ctrl+s or F2: send', 'screen.send')} · {BACK}"
            yield TextArea(tab_behavior="focus")
            with Horizontal(classes="buttons"):
                yield Button("Send", variant="primary")

    def action_send(self) -> None:
        """Send it, or say that there is nothing to send."""
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss(text)
            return
        app: Any = self.app
        app.say("Type a prompt first")

    @on(Button.Pressed)
    def _handle_press(self) -> None:
        self.action_send()
