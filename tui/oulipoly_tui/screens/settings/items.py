"""A setting that is a list: its items are added, changed and taken away one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.frame.hints import link
from oulipoly_tui.view.transcript.spans import Row
from oulipoly_tui.widgets.lines import VirtualList

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import Setting

Refuse = Callable[[Sequence[str]], str | None]  # says what is wrong with items


class Items(ModalScreen[tuple[str, ...]]):
    """Shows the items of a list; its answer is what they are then. Each change is checked at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "done"),
        Binding("a", "add", "add"),
        Binding("x,delete,backspace", "take_away", "take away"),
    ]
    DEFAULT_CSS = """
    Items VirtualList { height: auto; min-height: 1; max-height: 12; }
    Items Static { height: auto; margin-top: 1; color: $text-muted; }
    """

    def __init__(self, setting: Setting, refuse: Refuse) -> None:
        super().__init__()
        self._setting = setting
        self._items = setting.items
        self._refuse = refuse

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._setting.name)
            change = "" if self._setting.choices else f"{link('enter: change', 'screen.change')} · "
            keys = f"{link('a: add', 'screen.add')} · {change}{link('x: remove', 'screen.take_away')}"
            box.border_subtitle = f"{keys} · {link('esc: done', 'screen.close')}"
            yield VirtualList()
            yield Static(self._setting.description, markup=False)

    def on_mount(self) -> None:
        """Give the keys to the list."""
        self._draw()
        self.query_one(VirtualList).focus()

    def action_close(self) -> None:
        """Hand back the items."""
        self.dismiss(self._items)

    def action_add(self) -> None:
        """Ask for one more, behind the others."""
        place = len(self._items)
        if not self._setting.choices:
            self._ask("add", "", lambda text: (*self._items, text))
            return
        left = [one for one in self._setting.choices if one not in self._items]
        if left:
            rows = [Row(one, ((one, ""),)) for one in left]
            dialogs.choose(self.app, "add", rows, lambda item: self._keep((*self._items[:place], item)))
        else:
            self._say("all that there are stand in the list")

    @on(VirtualList.Chosen)
    def action_change(self) -> None:
        """Ask for another text of the item under the cursor."""
        place = self._place()
        if place is not None and not self._setting.choices:
            before, after = self._items[:place], self._items[place + 1 :]
            self._ask("change", self._items[place], lambda text: (*before, text, *after))

    def action_take_away(self) -> None:
        """Take the item under the cursor out of the list."""
        place = self._place()
        if place is not None:
            self._keep((*self._items[:place], *self._items[place + 1 :]))

    def _place(self) -> int | None:
        key = self.query_one(VirtualList).cursor_key
        return None if key is None else int(key)

    def _ask(self, title: str, value: str, make: Callable[[str], tuple[str, ...]]) -> None:
        def refuse(text: str) -> str | None:
            wrong = self._refuse(make(text))
            return None if wrong is None else f"✗ {wrong}"

        text = f"One item of {self._setting.name}, as it is, without quotes."
        dialogs.ask(self.app, title, text, lambda typed: self._keep(make(typed)), value, refuse)

    def _keep(self, items: tuple[str, ...]) -> None:
        wrong = self._refuse(items)
        if wrong is not None:
            self._say(wrong)
            return
        self._items = items
        self._draw()

    def _say(self, text: str) -> None:
        app = app_of(self)
        app.say(text, severity="warning")

    def _draw(self) -> None:
        self.query_one(VirtualList).show_rows(
            [Row(str(place), ((item or '""', ""),)) for place, item in enumerate(self._items)]
        )
