"""The difference that an import would make, turn by turn, before it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.markup import escape
from textual.screen import ModalScreen
from textual.widgets import Button

from oulipoly_tui.view.frame.hints import link
from oulipoly_tui.view.sessions.import_diff import diff_lines, summary
from oulipoly_tui.view.transcript.spans import wrap_lines
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import Plan


class ImportScreen(ModalScreen[bool]):
    """Its answer is whether it shall be done; the default is no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n,q", "answer(False)", "no"),
        Binding("y", "answer(True)", "yes"),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,space,ctrl+d", "scroll(10)", show=False),
        Binding("pageup,ctrl+u", "scroll(-10)", show=False),
        Binding("home,g", "scroll(-1000000)", show=False),
        Binding("end,G", "scroll(1000000)", show=False),
        Binding("left,h", "app.focus_previous", show=False),
        Binding("right,l", "app.focus_next", show=False),
    ]
    DEFAULT_CSS = """
    ImportScreen > Vertical { width: 96%; max-width: 150; height: 92%; border: round $accent; background: $surface; }
    ImportScreen > Vertical { padding: 0 1; }
    ImportScreen #import-summary { height: auto; max-height: 8; border-bottom: solid $panel; }
    ImportScreen #import-diff { height: 1fr; }
    ImportScreen .buttons { height: 3; align-horizontal: right; }
    """

    def __init__(self, plan: Plan, source: str, *, deed: str = "replace") -> None:
        super().__init__()
        self._plan = plan
        self._source = source
        self._deed = deed

    def compose(self) -> ComposeResult:
        """Lay out what it comes to, the entries, the two answers."""
        with Vertical() as box:
            box.border_title = escape(f"{self._deed.capitalize()}: {self._source}"[:100])
            leave = link("esc leaves everything as it is", "screen.answer(False)")
            box.border_subtitle = f"{link('y does it', 'screen.answer(True)')}, {leave}; u takes it back later"
            yield Lines(id="import-summary")
            yield Lines(id="import-diff")
            with Horizontal(classes="buttons"):
                yield Button("No (n)", id="no", variant="primary")
                yield Button(f"Yes, {self._deed} (y)", id="yes", disabled=not self._plan.changes)

    def on_mount(self) -> None:
        """Make no the answer of a careless enter."""
        self.query_one("#no").focus()

    def on_resize(self) -> None:
        """Wrap to the width."""
        self.call_after_refresh(self._fit)

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001, RUF100 - Textual passes an action's arguments by place
        """Answer; a yes to nothing is a no."""
        self.dismiss(yes and bool(self._plan.changes))

    def action_scroll(self, by: int) -> None:
        """Scroll the entries."""
        self.query_one("#import-diff", Lines).scroll_relative(y=by, animate=False)

    @on(Button.Pressed)
    def _handle_press(self, event: Button.Pressed) -> None:
        self.action_answer(event.button.id == "yes")

    def _fit(self) -> None:
        if not is_standing(self):
            return
        head, shown = self.query_one("#import-summary", Lines), self.query_one("#import-diff", Lines)
        width = max(20, shown.scrollable_content_region.width - 1)
        lines = wrap_lines(summary(self._plan), width)
        head.styles.height = min(8, len(lines)) + 1
        head.show_lines(lines)
        shown.show_lines(wrap_lines(diff_lines(self._plan.steps), width))
