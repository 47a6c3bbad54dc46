"""The header and the footer."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from oulipoly_tui.view.frame.footer import Hint, line
from oulipoly_tui.view.transcript.spans import Line
from oulipoly_tui.widgets.lines import Lines


class Bar(Lines):
    """One line across the screen."""

    DEFAULT_CSS = "Bar { height: 1; overflow: hidden; background: $bar; }"

    def show(self, content: Line) -> None:
        """Show a line."""
        self.show_lines((content,))


class JobBar(Bar):
    """Work under way; a click asks what of it to stop."""

    async def on_click(self) -> None:
        """Stop it."""
        await self.app.run_action("app.press('frame.stop')")


class HintBar(Bar):
    """The footer; a click on a hint is as good as its key."""

    class Pressed(Message):
        """A hint was clicked."""

        def __init__(self, identity: str) -> None:
            self.identity = identity
            super().__init__()

    def show_hints(self, hints: Sequence[Hint]) -> None:
        """Show the keys that work now."""
        self.hints = tuple(hints)
        self.show(line(hints))

    hints: tuple[Hint, ...] = ()

    def on_click(self, event: events.Click) -> None:
        """Press what was clicked."""
        for hint in self.hints:
            if hint.start <= event.x < hint.end:
                self.post_message(self.Pressed(hint.id))
