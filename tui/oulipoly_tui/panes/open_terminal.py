"""One terminal with a tab: what its host says becomes what the tab says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oulipoly_engine.terminal import wire
from oulipoly_tui.view.repl import Tab

if TYPE_CHECKING:
    from oulipoly_engine.engine_terminals import Terminal
    from oulipoly_tui.terminal_link import TerminalLink
    from oulipoly_tui.widgets.terminal_view import TerminalView

_TYPED = (wire.Typed, wire.Pressed, wire.Pasted, wire.Pointed)


@dataclass(slots=True)
class OpenTerminal:
    """One terminal with a tab."""

    terminal: Terminal
    tab: Tab
    view: TerminalView
    link: TerminalLink | None = None
    may_copy: bool = False  # the user has let its program write the clipboard
    size_note: str = ""  # whose window decides the size, where it is not ours

    @property
    def id(self) -> str:
        """Return the terminal's id."""
        return self.terminal.id

    def send(self, message: wire.Message, *, may_type: bool) -> None:
        """Send what the widget wants sent; what would be typed into nothing, or must not be, is dropped."""
        if self.link is not None and ((may_type and not self.tab.is_ended) or not isinstance(message, _TYPED)):
            self.link.send(message)

    def happened(self, message: wire.Happened, *, is_seen: bool) -> None:
        """Take a title, a bell, activity."""
        if message.title:
            self.tab = replace(self.tab, label=message.title)
        if not is_seen:
            has_bell, is_active = self.tab.has_bell or message.bells > 0, self.tab.is_active or message.active
            self.tab = replace(self.tab, has_bell=has_bell, is_active=is_active)

    def described(self, message: wire.State, *, is_seen: bool) -> None:
        """Take what happened before we came."""
        self.happened(wire.Happened(title=message.title or None, bells=message.unseen_bells), is_seen=is_seen)

    def sized(self, message: wire.SizeSet) -> None:
        """Take whose window decides the size."""
        is_ours = (message.columns, message.rows) == tuple(self.view.size)
        self.size_note = "" if is_ours else f"{message.columns}x{message.rows}, as {message.decided_by} wants it"

    def ended(self, code: int | None, *, is_seen: bool) -> None:
        """Take the program's end, which rings where nobody looks. None: its host has gone, the code is not known."""
        self.tab = replace(self.tab, is_ended=True, code=code, has_bell=not is_seen)

    def seen(self) -> None:
        """Take the marks away: somebody looks at it."""
        self.tab = replace(self.tab, has_bell=False, is_active=False)


def label_of(terminal: Terminal) -> str:
    """Return what a tab says before its program has given itself a title."""
    return terminal.title or (f"{terminal.model}@{terminal.account}" if terminal.account else terminal.label)
