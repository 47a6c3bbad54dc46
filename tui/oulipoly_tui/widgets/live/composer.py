"""The line of a live session that is written on: it grows with its text, remembers what was sent, completes names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

_NEW_LINE = frozenset(("shift+enter", "alt+enter", "ctrl+j"))
_MOST_ROWS = 8


class Composer(TextArea):
    """Takes a message; what its keys mean beyond text is told to the pane."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+d", "delete_right", show=False)]
    DEFAULT_CSS = f"""
    Composer {{ height: auto; max-height: {_MOST_ROWS + 2}; border: tall $panel; padding: 0 1; }}
    Composer:focus {{ border: tall $accent; }}
    """

    class Submitted(Message):
        """Enter, or tab where a turn runs. is_queued: it shall wait for the turn's end."""

        def __init__(self, text: str, *, is_queued: bool = False) -> None:
            self.text = text
            self.is_queued = is_queued
            super().__init__()

    class Edited(Message):
        """What is before the cursor has changed."""

    class CompletionKey(Message):
        """A key for the list of completions."""

        def __init__(self, key: str) -> None:
            self.key = key
            super().__init__()

    class Left(Message):
        """Escape: the keys go back to the conversation."""

    class InterruptWanted(Message):
        """ctrl+c where nothing is selected."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, tab_behavior="focus", show_line_numbers=False, soft_wrap=True, compact=False)
        self.sent: Sequence[str] = ()
        self.is_completing = False
        self.takes_queue = False  # tab queues
        self._at = 0  # steps back in the history; 0: what is being written
        self._draft = ""

    @property
    def before_cursor(self) -> str:
        """Return the text before the cursor."""
        return self.get_text_range((0, 0), self.cursor_location)

    def put(self, text: str) -> None:
        """Put a text in, with the cursor behind it."""
        self.load_text(text)
        self.move_cursor(self.document.end)
        self._at = 0

    def complete(self, length: int, text: str) -> None:
        """Put a text in the place of so many signs before the cursor, all on its line."""
        row, column = self.cursor_location
        self.replace(text, (row, max(0, column - length)), (row, column), maintain_selection_offset=False)

    async def _on_key(self, event: events.Key) -> None:
        if self._take_key(event.key):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def _take_key(self, key: str) -> bool:
        """Do what a key means here; return whether it means anything."""
        if self.is_completing and key in ("up", "down", "tab", "enter", "escape"):
            self.post_message(self.CompletionKey(key))
        elif key in _NEW_LINE:
            self.insert("\n")
        elif key == "enter":
            self._submit(is_queued=False)
        elif key == "tab" and self.takes_queue and self.text.strip():
            self._submit(is_queued=True)
        elif key == "escape":
            self.post_message(self.Left())
        elif key == "ctrl+c" and self.selection.is_empty:
            self.post_message(self.InterruptWanted())
        elif key == "up" and self.cursor_at_first_line and self._at < len(self.sent):
            self._recall(1)
        elif key == "down" and self.cursor_at_last_line and self._at > 0:
            self._recall(-1)
        else:
            return False
        return True

    def press_enter(self) -> None:
        """Send what is written."""
        self._submit(is_queued=False)

    def _submit(self, *, is_queued: bool) -> None:
        if self.text.strip():
            self.post_message(self.Submitted(self.text, is_queued=is_queued))

    def _recall(self, by: int) -> None:
        if self._at == 0:
            self._draft = self.text
        at = self._at + by
        self.put(self._draft if at == 0 else self.sent[-at])
        self._at = at

    def on_text_area_changed(self) -> None:
        """Let the pane look for completions."""
        self.post_message(self.Edited())

    def on_text_area_selection_changed(self) -> None:
        """Look again: the cursor may have left what was being completed."""
        self.post_message(self.Edited())
