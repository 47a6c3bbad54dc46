"""Jump mode: a letter on everything that takes keys; typing it goes there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Label

LETTERS = "asdfghjklqwertyuiopzxcvbnm"  # the nearest to the fingers first


class Jump(ModalScreen[Widget | None]):
    """Shows the letters; its result is what was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+o", "dismiss", "close")]
    DEFAULT_CSS = """
    Jump { background: $background 30%; align: left top; }
    Jump > Label { position: absolute; width: auto; height: 1; background: $accent; color: $background; }
    Jump > Label { text-style: bold reverse; }
    """

    def __init__(self, targets: Sequence[Widget]) -> None:
        super().__init__()
        self._targets = dict(zip(LETTERS, targets, strict=False))
        self._size_then: Size | None = None

    def compose(self) -> ComposeResult:
        """Put a letter on each."""
        for letter, target in self._targets.items():
            label = Label(f" {letter} ", markup=False, id=letter)
            label.styles.offset = target.region.offset
            yield label

    def on_key(self, event: events.Key) -> None:
        """Go where the letter stands; any other key goes back."""
        if event.key not in ("escape", "ctrl+o"):
            event.stop()
            self.dismiss(self._targets.get(event.character or ""))

    def on_click(self, event: events.Click) -> None:
        """Go where the clicked letter stands; a click elsewhere goes back."""
        letter = event.widget.id if isinstance(event.widget, Label) else None
        self.dismiss(self._targets.get(letter or ""))

    def on_resize(self, event: events.Resize) -> None:
        """Close when everything moves."""
        before, self._size_then = self._size_then, event.size
        if before is not None and before != event.size:
            self.dismiss(None)
