"""What every pane is: it gets values, sends wishes, and says why a key of its does not work now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from oulipoly_tui.keymap import TABLE
from oulipoly_tui.messages import Wish

if TYPE_CHECKING:
    from oulipoly_engine.engine import Snapshot
    from oulipoly_engine.events import Event
    from oulipoly_tui.view.attention import Attention


def bindings(where: str) -> list[BindingType]:
    """Return the bindings of a pane from the table of keys."""
    return [
        Binding(row.keys, f"app.press('{row.id}')", row.label, show=False, tooltip=row.tooltip, id=row.id)
        for row in TABLE
        if row.where == where
    ]


class Pane(Widget, can_focus=False):
    """The base of all panes. `id` is that of the table of panes."""

    DEFAULT_CSS = """
    Pane { border: round $panel; border-title-color: $foreground-muted; }
    Pane:focus-within { border: round $accent; border-title-color: $text-accent; border-title-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = []

    def take(self, snapshot: Snapshot) -> None:
        """Draw a new snapshot. Called in the app's thread, so it must be quick."""

    def happened(self, event: Event) -> None:
        """Take an event of the engine. Called in the app's thread."""

    def obstacle(self, action: str) -> str | None:
        """Say why an action of ours does nothing now, as a sentence; None: it works. The footer hides the others."""
        return None

    def state(self) -> Mapping[str, object]:
        """Return what shall be as it was at the next start, as JSON values."""
        return {}

    def restore(self, state: Mapping[str, object]) -> None:
        """Take what `state` returned, from a file that anybody may have edited."""

    def leave(self) -> bool:
        """Go back by one level inside the pane (close a filter, a log); return whether there was one."""
        return False

    def reason_to_stay(self) -> str | None:
        """Say what quitting the app would end; None: nothing."""
        return None

    def attention(self) -> tuple[Attention, ...]:
        """Return what wants the user in here, beside what the snapshot tells: a terminal that rings, for one."""
        return ()

    def show(self, key: str) -> bool:
        """Put the cursor on what an Attention's key names; return whether there is such a thing."""
        return False

    def focus_inside(self) -> None:
        """Give the focus to the part that takes keys."""
        for widget in self.query("*"):
            if widget.focusable:
                widget.focus()
                return

    def wish(self, name: str, *arguments: str) -> None:
        """Ask the app for a command of the table."""
        self.post_message(Wish(name, *arguments))
