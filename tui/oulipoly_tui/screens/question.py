"""Questions: yes or no, a short text, a long one."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from oulipoly_tui.view.frame.hints import BACK, link


class Pause:
    """Whether somebody who types has paused since a question came up: until then no key is meant for it."""

    def __init__(self, length_s: float) -> None:
        self._length_s = length_s
        self.begin()

    def begin(self) -> None:
        """Wait for a pause from now on."""
        self._typed_at = monotonic()

    def is_over(self) -> bool:
        """Return whether there was a pause before the key that came now; if not, wait for one from now on."""
        if monotonic() - self._typed_at >= self._length_s:
            return True
        self.begin()
        return False


class Confirm(ModalScreen[bool]):
    """Asks yes or no; the default is no, but where what is done can be taken back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n", "answer(False)", "cancel"),
        Binding("y", "answer(True)", "yes"),
        Binding("left,h", "app.focus_previous", show=False),
        Binding("right,l", "app.focus_next", show=False),
    ]

    def __init__(self, title: str, text: str, deed: str, *, can_undo: bool = False) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._deed = deed
        self._enter_does = can_undo

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            key = "enter" if self._enter_does else "y"
            does, leave = link(f"{key}: OK", "screen.answer(True)"), link("esc: cancel", "screen.answer(False)")
            box.border_subtitle = f"{does} · {leave}"
            yield Static(self._text, markup=False, id="text")
            with Horizontal(classes="buttons"):
                yield Button("No (n)", id="no")
                yield Button(f"Yes, {self._deed} (y)", id="yes")

    def on_mount(self) -> None:
        """Make no the answer of a careless enter, unless it can be undone."""
        chosen = self.query_one("#yes" if self._enter_does else "#no", Button)
        chosen.variant = "primary"
        chosen.focus()

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001, RUF100 - Textual passes an action's arguments by place
        """Answer."""
        self.dismiss(yes)

    @on(Button.Pressed)
    def _handle_press(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")


class Question(ModalScreen[str | None]):
    """Asks for a short text; nothing is answered with escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "cancel")]

    def __init__(
        self, title: str, text: str, value: str = "", refuse: Callable[[str], str | None] | None = None
    ) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._value = value
        self._refuse = refuse  # says what is wrong with an answer

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = f"{link('enter: OK', 'screen.submit')} · {BACK}"
            yield Static(self._text, markup=False, id="text")
            yield Input(self._value)

    @on(Input.Submitted)
    def action_submit(self) -> None:
        """Answer, or say what is wrong with it."""
        value = self.query_one(Input).value
        wrong = None if self._refuse is None else self._refuse(value)
        if wrong is not None:
            self.query_one("#text", Static).update(wrong)
            return
        self.dismiss(value)
