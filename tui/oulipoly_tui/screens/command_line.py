"""The line for commands with arguments: what vi and k9s have behind the colon."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.orders import line
from oulipoly_tui.screens.box import ListScreen
from oulipoly_tui.view.transcript.spans import Row
from oulipoly_tui.widgets.lines import VirtualList

if TYPE_CHECKING:
    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.keys.keymap import Keymap

_MOST = 12


def ask(app: AppInterface, value: str = "", wrong: str = "") -> None:
    """Let a command be typed and run it; one that is refused comes back as it was typed, with what is wrong."""

    def on_typed(text: str | None) -> None:
        if text is None:
            return
        reason = line.run(app, *line.split(text, app.keys.own))
        if reason is not None:
            ask(app, text, reason)

    app.push_screen(CommandLine(value, wrong), on_typed)


class _Box(Vertical):
    """What is typed, what it may become, and what was wrong with it; its height changes with every key."""

    def on_resize(self) -> None:
        """Keep the toasts above: one that was said lately would cover what is wrong now."""
        for rack in self.screen.query("ToastRack"):
            rack.styles.margin = (0, 0, self.outer_size.height, 0)


class CommandLine(ListScreen[str | None]):
    """Asks for a command; tab or down takes what is offered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "close", priority=True),
        Binding("tab", "take", "complete", priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    CommandLine { align: center bottom; }
    CommandLine > _Box { height: auto; max-height: 17; background: $surface; border-top: solid $accent; }
    CommandLine Static { height: auto; padding: 0 1; color: $text-warning; }
    CommandLine VirtualList { height: auto; max-height: 12; }
    CommandLine Input { padding: 0 1; }
    """

    def __init__(self, value: str = "", wrong: str = "") -> None:
        super().__init__()
        self._value = value
        self._wrong = wrong  # with the value, as it was typed before

    def compose(self) -> ComposeResult:
        """Lay out the line, what it may become above it."""
        with _Box():
            if self._wrong:
                yield Static(f"✗ {self._wrong}", markup=False)
            yield VirtualList()
            yield Input(self._value, placeholder="command …", select_on_focus=False, compact=True)

    def on_mount(self) -> None:
        """Begin to type."""
        self.query_one(Input).focus()
        self._offer()

    def action_take(self) -> None:
        """Take the offer under the cursor."""
        chosen = self.rows.cursor_key
        if chosen is not None:
            typed = self.query_one(Input)
            typed.replace(chosen, 0, len(typed.value))

    @on(Input.Changed)
    def _offer(self) -> None:
        app = app_of(self)
        found = line.completions(self.query_one(Input).value, app.snapshot, app.keys.own)[:_MOST]
        offers = self.rows
        offers.styles.height = len(found)
        offers.show_rows([Row(one, ((one, ""), (_summary(one, app.keys), "dim"))) for one in found])

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        self.dismiss(event.value if event.value.strip() else None)

    @on(VirtualList.Chosen)
    def _handle_choice(self, event: VirtualList.Chosen) -> None:
        self.action_take()
        self.query_one(Input).focus()


def _summary(text: str, keys: Keymap) -> str:
    found = line.summary(text, keys.own)
    return f"  {found}" if found else ""
