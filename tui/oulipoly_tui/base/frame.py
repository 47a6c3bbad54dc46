"""The frame: header, area of panes, footer, and which pane has the keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget

from oulipoly_tui.actions.action import FRAME
from oulipoly_tui.base.pane import Pane, bindings
from oulipoly_tui.base.table import PaneEntry
from oulipoly_tui.view.frame.layout import Present
from oulipoly_tui.widgets.area import Area
from oulipoly_tui.widgets.bars import Bar, HintBar

if TYPE_CHECKING:
    from oulipoly_engine.events import Event
    from oulipoly_engine.facade.snapshot import Snapshot


class Frame(Screen[None], inherit_bindings=False):
    """The one screen that is always there; questions lie over it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(FRAME),
        Binding("ctrl+c", "screen.copy_text", "copy", show=False),
    ]

    def __init__(
        self, entries: Sequence[PaneEntry], saved: Mapping[str, object], take_unbound: Callable[[str, str], bool]
    ) -> None:
        """take_unbound: gets a key that nobody wants, and the pane's id; returns whether anything comes of it."""
        super().__init__(id="frame")
        self._take_unbound = take_unbound
        self.entries = {entry.id: entry for entry in entries}
        self._saved = saved
        last = saved.get("pane")
        starts = {entry.id for entry in entries if entry.column != "detail"}
        first = next((str(name) for name in (last, saved.get("list")) if name in starts), entries[0].id)
        self._first_pane = first
        present = [Present(one.id, one.column, one.wanted_width, one.least_width) for one in entries]
        # Never in a terminal or a message line: what is typed by habit must not go to an agent. They are beside it.
        self.area = Area(present, first, zoomed=saved.get("zoomed") is True)
        if isinstance(last, str) and last in self.entries and last not in starts:
            self.area.detail = last
        self._panes: dict[str, Pane] = {}
        self._mounted: dict[str, asyncio.Event] = {}
        self._begun: list[Pane] = []  # those that are laid out, so that they can draw
        self._snapshot: Snapshot | None = None

    def compose(self) -> ComposeResult:
        """Lay out the frame with the first pane alone; the others come when they are looked at."""
        yield Bar(id="header")
        with self.area:
            yield self._make(self.area.focused_pane)
        yield HintBar(id="footer")

    def on_mount(self) -> None:
        """Give the keys to the first pane."""
        self.call_after_refresh(self._begin, self.current)
        self.current.focus_inside()

    @property
    def current(self) -> Pane:
        """Return the pane that has the keys."""
        return self._panes[self.area.focused_pane]

    @property
    def panes(self) -> tuple[Pane, ...]:
        """Return the panes that have been looked at so far."""
        return tuple(self._panes.values())

    def find(self, pane: str) -> Pane | None:
        """Return a pane that has been looked at."""
        return self._panes.get(pane)

    def on_resize(self) -> None:
        """Bring in the panes that now have room; before the first data they would only delay it."""
        if self._snapshot is not None:
            self.call_after_refresh(self.mount_visible)

    async def mount_visible(self) -> None:
        """Make the panes that have a place and are not there yet."""
        for identity in self.area.visible_ids():
            await self._ensure(identity)
        self.area.show_placed()

    async def add_hidden(self, identity: str) -> None:
        """Make a pane that nobody has looked at, for what it has to tell."""
        await self._ensure(identity)
        self.area.show_placed()

    async def turn_to(self, identity: str, *, zoomed: bool | None = None) -> Any:  # noqa: ANN401 - of its own class
        """Give the keys to a pane, and return it; None: there is none."""
        if identity not in self.entries:
            return None
        await self._ensure(identity)
        if identity not in self._panes:
            return None
        self.area.turn_to(identity, zoomed=zoomed)
        await self.mount_visible()
        self.current.focus_inside()
        return self._panes[identity]

    async def turn_to_number(self, number: int) -> None:
        """Give the keys to the pane of a number."""
        for entry in self.entries.values():
            if entry.number == number:
                await self.turn_to(entry.id)

    def reason_against_number(self, number: int) -> str | None:
        """Say why nothing can be gone to by a number; None: there is such a pane."""
        has_it = any(entry.number == number for entry in self.entries.values())
        return None if has_it else f"there is no pane {number}"

    async def step(self, by: int) -> None:
        """Give the keys to the next visible pane."""
        shown = self.area.visible_ids() if len(self.area.visible_ids()) > 1 else tuple(self.entries)
        place = shown.index(self.area.focused_pane) if self.area.focused_pane in shown else 0
        await self.turn_to(shown[(place + by) % len(shown)])

    async def zoom(self) -> None:
        """Give the pane the whole area, or take it back. The keys stay with the part of it that has them."""
        self.area.turn_to(self.area.focused_pane, zoomed=not self.area.zoomed)
        await self.mount_visible()

    async def go_back(self) -> None:
        """Go back by one level: inside the pane, else from its zoom."""
        if not self.current.leave() and self.area.zoomed:
            await self.zoom()

    def take(self, snapshot: Snapshot) -> None:
        """Let every pane draw a new snapshot."""
        is_first = self._snapshot is None
        self._snapshot = snapshot
        if self.area.is_alone != snapshot.is_empty:
            self.area.is_alone = snapshot.is_empty
            self.call_later(self._fit_to_emptiness, is_first=is_first)
        for pane in self._begun:
            pane.take(snapshot)
        if is_first:
            self.call_after_refresh(self.mount_visible)

    async def _fit_to_emptiness(self, *, is_first: bool) -> None:
        """Show the pane that says that nothing is configured, unless the user has gone elsewhere before we knew."""
        has_gone = is_first and self.area.focused_pane != self._first_pane
        home = next(iter(self.entries))
        await self.turn_to(home if self.area.is_alone and not has_gone else self.area.focused_pane)

    def take_event(self, event: Event) -> None:
        """Let every pane take an event."""
        for pane in self._begun:
            pane.take_event(event)

    def state(self) -> dict[str, object]:
        """Return what shall be the same at the next start."""
        before = self._saved.get("panes")
        states = dict(before) if isinstance(before, dict) else {}
        states |= {str(pane.id): dict(pane.state()) for pane in self._begun}  # a newer one knows nothing of before yet
        placed = {"pane": self.area.focused_pane, "list": self.area.listed, "zoomed": self.area.zoomed}
        return {**placed, "panes": states}

    def on_screen_resume(self) -> None:
        """Tell the panes that nothing lies over them any more."""
        for pane in self._begun:
            pane.uncovered()

    def on_key(self, event: events.Key) -> None:
        """Hand on a key that nobody has wanted."""
        if self._take_unbound(event.key, self.area.focused_pane):
            event.stop()

    def watch_focused(self, focused: Widget | None) -> None:
        """Draw the borders for which pane has the keys."""
        with_keys = _find_pane(focused)
        for pane in self._panes.values():
            pane.show_keys_are_here(pane is with_keys)

    def on_descendant_focus(self) -> None:
        """Follow the mouse: the pane that was clicked has the keys."""
        pane = _find_pane(self.focused)
        if pane is not None and pane.id is not None and pane.id != self.area.focused_pane:
            self.area.turn_to(pane.id)

    async def _ensure(self, identity: str) -> None:
        if identity in self._panes:
            if (mounting := self._mounted.get(identity)) is not None:
                await mounting.wait()  # somebody else may be about it
            return
        if not self.area.is_attached:  # the app is ending
            return
        mounted = self._mounted[identity] = asyncio.Event()
        order = list(self.entries)
        later = [one for one in order[order.index(identity) + 1 :] if one in self._panes]
        try:
            pane = self._make(identity)
            await self.area.mount(pane, before=self._panes[later[0]] if later else None)
        finally:
            mounted.set()
        self.call_after_refresh(self._begin, pane)  # not sooner: a refresh on the way would find it without its parts

    def _make(self, identity: str) -> Pane:
        entry = self.entries[identity]
        pane: Pane = getattr(import_module(entry.module), entry.class_name)(id=identity)
        pane.border_title = f"{entry.number} {entry.title}"
        self._panes[identity] = pane
        return pane

    def _begin(self, pane: Pane) -> None:
        """Give a new pane what it missed."""
        if not pane.is_attached:
            return
        self._begun.append(pane)
        saved = self._saved.get("panes")
        state = saved.get(pane.id) if isinstance(saved, dict) else None
        if isinstance(state, dict):
            pane.restore(state)
        if self._snapshot is not None:
            pane.take(self._snapshot)


def _find_pane(widget: Widget | None) -> Pane | None:
    """Return the pane that a widget is, or lies in."""
    if widget is None:
        return None
    return next((node for node in widget.ancestors_with_self if isinstance(node, Pane)), None)
