"""One terminal with a tab: what its host says becomes what the tab says."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.records import Record, replace
from oulipoly_engine.terminal.protocol import messages
from oulipoly_tui.view.terminal.repl import Tab

if TYPE_CHECKING:
    from oulipoly_engine.facade.terminals.terminals import Terminal
    from oulipoly_tui.driver.terminal_link import TerminalLink
    from oulipoly_tui.screens.terminal.clipboard_leave import ClipboardLeave
    from oulipoly_tui.widgets.terminal_view import TerminalView

_OURS = f"{sys.executable} -m oulipoly_tui "  # how commands of ours are started
_TYPED = (messages.TextInput, messages.KeyInput, messages.PasteInput, messages.MouseInput)


class OpenTerminal(Record, frozen=False):
    """One terminal with a tab."""

    terminal: Terminal
    tab: Tab
    view: TerminalView
    link: TerminalLink | None = None
    leave: ClipboardLeave | None = None  # its program's, to write the clipboard; None until it first wants to
    progress: int | None = None  # percent that its program tells; 0: it tells none, None: nothing is under way
    is_drawn: bool = True  # False: its emulator has failed for good, and only the whole screen shows it
    is_entered: bool = False  # the user has begun it here, or gone into it
    size_note: str = ""  # whose window decides the size, where it is not ours

    @property
    def id(self) -> str:
        """Return the terminal's id."""
        return self.terminal.id

    @property
    def may_take_keys(self) -> bool:
        """Tell whether whoever comes to the pane goes into it."""
        return self.is_entered and self.is_drawn and not self.tab.is_ended

    def send(self, message: messages.Message, *, may_type: bool) -> None:
        """Send what the widget wants sent; what would be typed into nothing, or must not be, is dropped."""
        if isinstance(message, messages.Attach) and not may_type:
            message = messages.Attach(message.columns, message.rows, message.focus, only_reads=True)
        if self.link is not None and ((may_type and not self.tab.is_ended) or not isinstance(message, _TYPED)):
            self.link.send(message)

    def take_report(self, message: messages.SideEffectReport, *, is_seen: bool) -> None:
        """Take a title, a bell, activity."""
        if message.title:
            self.tab = replace(self.tab, label=message.title)
        if message.progress is not None:
            self.progress = message.progress if message.progress >= 0 else None
        if not is_seen:
            has_bell, is_active = self.tab.has_bell or message.bells > 0, self.tab.is_active or message.active
            self.tab = replace(self.tab, has_bell=has_bell, is_active=is_active)

    def take_state(self, message: messages.State, *, is_seen: bool) -> None:
        """Take what happened before we came, and whether the terminal is drawn at all."""
        self.is_drawn = message.emulator != messages.NO_EMULATOR
        before = messages.SideEffectReport(
            title=message.title or None, bells=message.unseen_bells, progress=message.progress
        )
        self.take_report(before, is_seen=is_seen)

    def take_size(self, message: messages.SizeReport) -> None:
        """Take whose window decides the size."""
        is_ours = (message.columns, message.rows) == tuple(self.view.size)
        self.size_note = "" if is_ours else f"{message.columns}x{message.rows}, as {message.decided_by} wants it"

    def take_exit(self, code: int | None, *, is_seen: bool) -> None:
        """Take the program's end, which rings where nobody looks. None: its host has gone, the code is not known."""
        self.tab = replace(self.tab, is_ended=True, code=code, has_bell=not is_seen)
        self.progress = None

    def clear_marks(self) -> None:
        """Take the marks away: somebody looks at it."""
        self.tab = replace(self.tab, has_bell=False, is_active=False)


def label_of(terminal: Terminal, session: str | None = None) -> str:
    """Return what a tab says before its program has given itself a title.

    session: what its session is called, where that is known. One that was found, and not started by us, has no
    model that we know of: its CLI stands for it.
    """
    if terminal.title:
        return terminal.title
    if not terminal.account:
        label = terminal.label
        return f"agents {label.removeprefix(_OURS)}" if label.startswith(_OURS) else label
    if terminal.model and terminal.model != UNKNOWN_MODEL:
        return f"{terminal.model}@{terminal.account}"
    return f"{session or program_of(terminal.label)}@{terminal.account}"


def title_in(app: Any, session_id: str | None) -> str | None:  # noqa: ANN401 - AgentsApp, whose import would be a cycle
    """Return what the list of sessions calls a session; None where it is not known there."""
    pane = app.frame.find("sessions")
    if session_id is None or pane is None or pane.reading.board is None:
        return None
    parts = ((line.session, part) for line in pane.reading.board.rows for part in line.session.parts)
    return next((line.title for line, part in parts if part.session_id == session_id), None)


def program_of(command: str) -> str:
    """Return the program of a command line, without what `env` sets for it."""
    words = command.split()
    while words and (words[0] == "env" or "=" in words[0]):
        words.pop(0)
    return words[0].rpartition("/")[2] if words else command
