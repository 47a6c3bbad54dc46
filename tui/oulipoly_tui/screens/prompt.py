"""A text of any length: the prompt of a one-shot, a message that waits."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, TextArea

from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.view.frame.hints import BACK, link


class Prompt(ModalScreen[str | None]):
    """Asks for a text of any length; enter makes a new line, the button or ctrl+s is the answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel", priority=True),
        Binding("ctrl+s,ctrl+enter,f2", "send", "send", priority=True),
    ]
    DEFAULT_CSS = "Prompt TextArea { height: 8; border: tall $panel; }"

    def __init__(self, title: str, value: str = "", deed: str = "send") -> None:
        """deed: what the answer does, a verb."""
        super().__init__()
        self._title, self._value, self._deed = title, value, deed

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = f"{link(f'ctrl+s or F2: {self._deed}', 'screen.send')} · {BACK}"
            yield TextArea(self._value, tab_behavior="focus")
            with Horizontal(classes="buttons"):
                yield Button(self._deed.capitalize(), variant="primary")

    def on_mount(self) -> None:
        """Write on behind what is there."""
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    def action_send(self) -> None:
        """Answer with it, or say that there is nothing."""
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss(text)
            return
        app = app_of(self)
        app.say("Type something first")

    @on(Button.Pressed)
    def _handle_press(self) -> None:
        self.action_send()
