"""What would be done, shown whole, and the question whether to do it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.markup import escape
from textual.widgets import Button

from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_tui.screens.box import Box, ScrollScreen
from oulipoly_tui.screens.question import Pause
from oulipoly_tui.view.frame.hints import link
from oulipoly_tui.view.transcript.spans import Line, cut, wrap_lines
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.standing import is_standing

_TITLE = 100  # characters
_BUTTON = 20  # characters, so that both buttons are in sight
_HEAD = 8  # rows
_SHARE = 0.92  # of the screen's height
_AROUND = 5  # rows of the box besides its texts: edges and buttons
PAUSE_S = 0.4  # without a key, before one is heard where the question came up by itself


class Review(ScrollScreen[bool]):
    """Its answer is whether it shall be done; the default is no, but where it can be undone."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n,q", "answer(False)", "cancel"),
        Binding("y", "answer(True)", "yes"),
        Binding("left,h", "app.focus_previous", show=False),
        Binding("right,l", "app.focus_next", show=False),
    ]
    DEFAULT_CSS = """
    Review Lines { scrollbar-gutter: stable; }
    Review #review-head { border-bottom: solid $panel; }
    """

    def __init__(  # noqa: PLR0913, RUF100 - what it shows, and how it is asked
        self,
        title: str,
        head: Sequence[Line],
        body: Sequence[Line],
        *,
        yes: str,
        no: str = "No",
        note: str = "",
        can_do: bool = True,
        waits: bool = False,
        can_undo: bool = False,
    ) -> None:
        """Take what is shown. yes, no: the words of the buttons; note: the end of the lower edge.

        can_undo: what is done can be taken back, so that enter does it.
        waits: it comes up by itself, so nothing that is typed on, held down or pasted may answer it.
        """
        super().__init__()
        self._title = title
        self._head = head
        self._body = body
        self._words = (cut(visible_line(yes), _BUTTON), cut(visible_line(no), _BUTTON))
        self._note = note
        self._can_do = can_do
        self._enter_does = can_do and can_undo
        self._pause = Pause(PAUSE_S if waits else 0.0)

    def compose(self) -> ComposeResult:
        """Lay out what it comes to, all of it, the two answers."""
        yes, no = self._words
        with Box() as box:
            leave = link("esc: cancel", "screen.answer(False)")
            key = "enter" if self._enter_does else "y"
            does = f"{link(f'{key}: OK', 'screen.answer(True)')} · " if self._can_do else ""
            box.border_subtitle = f"{does}{leave}{self._note}"
            yield Lines(id="review-head")
            yield Lines(id="review-body")
            with Horizontal(classes="buttons"):
                yield Button(escape(f"{no} (n)"), id="no")
                yield Button(escape(f"{yes} (y)"), id="yes", disabled=not self._can_do)

    def on_mount(self) -> None:
        """Make no the answer of a careless enter, unless it can be undone."""
        self.query_one("#review-head").display = bool(self._head)
        chosen = self.query_one("#yes" if self._enter_does else "#no", Button)
        chosen.variant = "primary"
        chosen.focus()

    def on_screen_resume(self) -> None:
        """Begin to wait for a pause only when the question can be seen."""
        self._pause.begin()

    def on_resize(self) -> None:
        """Wrap to the width."""
        self.call_after_refresh(self._fit)

    def on_key(self, event: events.Key) -> None:
        """Let nothing that is typed on or held down answer; escape, which answers no, is heard at once."""
        if event.key != "escape" and not self._pause.is_over():
            event.stop()
            event.prevent_default()

    def on_paste(self) -> None:
        """Wait on: what follows a paste may be its end."""
        self._pause.begin()

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001, RUF100 - Textual passes an action's arguments by place
        """Answer; a yes to nothing is a no."""
        self.dismiss(yes and self._can_do)

    @property
    def scrolled(self) -> Lines:
        """Return what would be done; what it comes to stays in sight."""
        return self.query_one("#review-body", Lines)

    @on(Button.Pressed)
    def _handle_press(self, event: Button.Pressed) -> None:
        self.action_answer(event.button.id == "yes")

    def _fit(self) -> None:
        if not is_standing(self):
            return
        head, shown = self.query_one("#review-head", Lines), self.query_one("#review-body", Lines)
        width = max(20, shown.scrollable_content_region.width)
        above, lines = wrap_lines(self._head, width), wrap_lines(self._body, width)
        taken = min(_HEAD, len(above)) + 1 if above else 0
        room = max(1, int(self.size.height * _SHARE) - _AROUND - taken)
        head.styles.height, shown.styles.height = taken, min(room, len(lines))
        head.show_lines(above)
        shown.show_lines(lines)
        more = f" · {len(lines)} lines" if len(lines) > room else ""  # who agrees shall know that there is more
        self.query_one(Box).border_title = Content(visible_line(self._title)[:_TITLE] + more)
