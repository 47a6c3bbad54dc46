"""What every pane is: it gets values, sends wishes, and says why a key of its does not work now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widget import Widget

from oulipoly_tui.actions.action import Action, own
from oulipoly_tui.base.messages import KeysChanged, MenuWanted, Wish
from oulipoly_tui.keys.keymap import TABLE
from oulipoly_tui.widgets.lines import VirtualList

if TYPE_CHECKING:
    from oulipoly_engine.core.checks.alerts import Alert
    from oulipoly_engine.core.commands.command import Command
    from oulipoly_engine.core.commands.needs import Need
    from oulipoly_engine.events import Event
    from oulipoly_engine.facade.snapshot import Snapshot

_FIELD_KEYS = (
    Action("field.submit", own("done", "take what is typed"), keys="enter", weight=9),
    Action("field.leave", own("cancel", "forget what is typed"), keys="escape", weight=9),
)
_RIGHT = 3  # the mouse's right button
_REST_S = 0.1  # the cursor rests so long before the footer follows it


def bindings(where: str) -> list[BindingType]:
    """Return the bindings of a pane, or of the frame, from the registry of actions."""
    return [
        Binding(row.keys, f"app.press('{row.id}')", row.label, show=False, tooltip=row.description, id=row.id)
        for row in TABLE
        if row.where == where
    ]


class Pane(Widget, can_focus=False):
    """The base of all panes. `id` is that of the table of panes."""

    DEFAULT_CSS = """
    Pane { border: round $panel; border-title-color: $foreground-muted; border-subtitle-color: $foreground-muted; }
    Pane.-keys { border: round $accent; border-title-color: $text-accent; border-title-style: bold; }
    Pane.-keys { border-subtitle-color: $text-accent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = []
    parts: tuple[object, ...] = ()  # that it is composed of, and whose methods its keys call too
    _keys_timer: Timer | None = None

    def show_keys_are_here(self, are_here: bool) -> None:
        """Draw our border for whether a part of ours has the keys.

        `:focus-within` would have all that lies in both panes styled anew at each turn from one to the other.
        """
        if self.has_class("-keys") != are_here:
            self.set_class(are_here, "-keys", update=False)
            self.app.stylesheet.apply(self)

    def has_action(self, name: str) -> bool:
        """Tell whether an action has a method of its own; one that has none runs its line."""
        return any(hasattr(part, f"action_{name}") for part in (self, *self.parts))

    def arguments_for(self, action: Action) -> tuple[str, ...]:
        """Return what an action's line needs, of the row under the cursor."""
        values = self.row_values()
        return tuple(values[each.name] for each in action.arguments if not each.is_optional and each.name in values)

    def find_action(self, name: str) -> Callable[..., object]:
        """Return what an action does: the method `action_NAME` of the pane, or of one of its parts.

        Raises AttributeError where there is none.
        """
        method = f"action_{name}"
        owner = next((part for part in (self, *self.parts) if hasattr(part, method)), self)
        action: Callable[..., object] = getattr(owner, method)
        return action

    def take(self, snapshot: Snapshot) -> None:
        """Draw a new snapshot. Called in the app's thread, so it must be quick."""

    def take_event(self, event: Event) -> None:
        """Take an event of the engine. Called in the app's thread."""

    def reason_against(self, action: Action) -> str | None:
        """Say why an action of ours does nothing now, as a sentence; None: it works. The footer hides the others."""
        lacking = self.find_lacking(action.does)
        return self.obstacle(action.method) if lacking is None else lacking.value

    def find_lacking(self, command: Command) -> Need | None:
        """Return what a command needs and is not there now; None: there is all of it."""
        return next((need for need in command.all_needs if self.lacks(need)), None)

    def lacks(self, need: Need) -> bool:
        """Return whether what some commands need is not there now."""
        return False

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing now though there is all that its command needs; None: it works."""
        return None

    @property
    def live_session_id(self) -> str | None:
        """Return the live session that is shown, or under the cursor; None: no such."""
        return None

    def row_values(self) -> Mapping[str, str]:
        """Return what the row under the cursor has for the user's own commands, by the names of placeholders."""
        return {}

    @property
    def session_in_front(self) -> str:
        """Return the session that is shown, or under the cursor; empty: there is none."""
        return self.live_session_id or self.row_values().get("session", "")

    def named_actions(self) -> Collection[str]:
        """Return the actions, by id, whose keys our own text names now: a narrow footer drops them last."""
        return ()

    def inner_keys(self) -> tuple[Action, ...] | None:
        """Return what the footer shows while a part of ours takes every key, a terminal for one; None: our own keys.

        Each has one key, which a click on it presses, or none: then a click does what its row of the table says.
        """
        focused = self.screen.focused
        is_typed_into = focused is not None and focused.__class__.__name__ == "Input" and self in focused.ancestors
        return _FIELD_KEYS if is_typed_into else None

    def state(self) -> Mapping[str, object]:
        """Return what shall be as it was at the next start, as JSON values."""
        return {}

    def restore(self, state: Mapping[str, object]) -> None:
        """Take what `state` returned, from a file that anybody may have edited."""

    def uncovered(self) -> None:
        """Take note that a screen which lay over us is gone."""

    def leave(self) -> bool:
        """Go back by one level inside the pane (close a filter, a log); return whether there was one."""
        return False

    def reason_to_stay(self) -> str | None:
        """Say what quitting the app would end, or leave alone; None: nothing."""
        return None

    def runs_on(self) -> tuple[str, ...]:
        """Return what goes on without the app, each as `id label`; asked after the app's end too."""
        return ()

    def attention(self) -> tuple[Alert, ...]:
        """Return what wants the user in here, beside what the snapshot tells: a terminal that rings, for one."""
        return ()

    def under_way(self) -> tuple[int, ...]:
        """Return how far the programs in here say that they are, in percent; 0: they tell no figure."""
        return ()

    def show(self, key: str) -> bool:
        """Put the cursor on what an alert is about; return whether there is such a thing."""
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

    @on(events.Resize)
    @on(VirtualList.Highlighted)
    def show_keys_soon(self) -> None:
        """Let the footer show what works now, once the cursor rests: another row, another size can do other things."""
        if self._keys_timer is not None:
            self._keys_timer.stop()
        self._keys_timer = self.set_timer(_REST_S, self._show_keys)

    @on(events.Click)
    def _offer_menu(self, event: events.Click) -> None:
        """Offer what can be done with a row that the right button was pressed on; a terminal uses it itself."""
        from textual.widgets import Input  # noqa: PLC0415 - loaded when a pane has one

        if event.button != _RIGHT:
            return
        clicked, _ = self.screen.get_widget_at(*event.screen_offset)
        if not clicked.focusable or isinstance(clicked, Input):
            return
        if self.inner_keys() is None:
            event.stop()
            self.post_message(MenuWanted(self.id or ""))

    def _show_keys(self) -> None:
        self.post_message(KeysChanged(self.id or ""))
