"""`agents terminal -- CMD…` on a terminal: the command in a bare pane, with one line that says how to get out."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, ClassVar

from textual import constants
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.facade.base.own_process import outer_prefixes
from oulipoly_engine.terminal.protocol import messages
from oulipoly_tui.base.gc_tuning import let_strips_go
from oulipoly_tui.driver import copying, driver, signals
from oulipoly_tui.driver.screen_text import CleanApp
from oulipoly_tui.driver.terminal_link import TerminalLink
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.terminal.clipboard_leave import ClipboardLeave
from oulipoly_tui.view.frame.chords import detour, format_chord, from_tmux
from oulipoly_tui.view.terminal.repl import COPYING
from oulipoly_tui.widgets.terminal_view import LEAVE, TerminalView

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from oulipoly_engine.facade.terminals.terminals import Terminal

_LAST_PICTURE_S = 2.0  # for the host to send what an ended program left, once we have told our size
_ESCAPE_S = 0.025  # a sequence comes whole within it; Textual's own 100 ms would show in vim at every Escape


class BareTerminal(CleanApp[int], inherit_bindings=False):
    """One terminal and nothing else. Its result is the program's exit code; None: left, and the program runs on."""

    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; }
    #line { height: 1; background: $panel; color: $foreground; }
    ModalScreen { align: center middle; background: $background 60%; }
    .dialog { width: 90%; max-width: 110; height: auto; border: round $accent; background: $surface; padding: 0 1; }
    .dialog .buttons { height: 3; align-horizontal: right; }
    """

    def __init__(self, socket: Path, terminal: Terminal, leave: str = LEAVE) -> None:
        super().__init__(driver_class=driver.choose())
        let_strips_go()
        constants.ESCAPE_DELAY = _ESCAPE_S  # type: ignore[misc] # read at every Escape; the variable ESCDELAY would be its children's too
        self._socket, self._terminal, self._leave = socket, terminal, leave
        self._title = terminal.label
        self._link: TerminalLink | None = None
        self._copy_leave: ClipboardLeave | None = None
        self._has_picture = False
        self._is_leaving = False  # the widgets go one by one, while the host may still have something to say
        self._exited: messages.Exited | None = None  # told before the first picture: the program died while we started
        self.farewell = ""  # what happened, in a sentence, when it was no plain end
        self.last_lines: tuple[str, ...] = ()  # what the program left on its screen, to stay where we were shown

    def compose(self) -> ComposeResult:
        """Lay out the terminal above its line."""
        yield TerminalView(self._send, leave=(self._leave,))
        yield Static(id="line", markup=False)

    def on_mount(self) -> None:
        """Connect before the terminal tells its size."""
        signals.give_the_terminal_back(self)
        self._link = TerminalLink(self._socket, self._take, self._exit_with)
        self._say()
        self._view.focus()
        self.run_worker(self._check_chord())

    async def _check_chord(self) -> None:
        """Offer another chord, and say so, where something outside takes ours."""
        prefixes = await asyncio.to_thread(outer_prefixes, os.environ) if os.environ.get("TMUX") else ()
        found = detour(self._leave, os.environ, tuple(map(from_tmux, prefixes)))
        if found is not None and not self._is_leaving:
            own, (self._leave, text) = self._leave, found
            self._view.leave_chords = (own, self._leave)
            self._say(text)

    def on_unmount(self) -> None:
        """Part from the host."""
        if self._link is not None:
            self._link.close()

    def on_click(self) -> None:
        """Leave by the mouse too: a click on the line."""
        if self.query_one("#line").mouse_hover:
            self.on_terminal_view_left()

    def on_terminal_view_left(self) -> None:
        """Leave; the program runs on."""
        self.farewell = self._way_back
        self.exit()

    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """End; what the host says from here on is not drawn any more. return_code: other than 0 for a signal."""
        self._is_leaving = True
        if return_code and not self.farewell:
            self.farewell = self._way_back
        super().exit(result, return_code, message)

    def on_terminal_view_copied(self, message: TerminalView.Copied) -> None:
        """Hand a text to the outer terminal's clipboard; what the program wants there is asked for first."""
        if not message.by_child:
            self._copy(message.text)
            return
        if self._copy_leave is None:
            self._copy_leave = ClipboardLeave(message.view, self._copy, self._refuse_clipboard)
        self._copy_leave.want(message.text, "The program")

    def _refuse_clipboard(self) -> None:
        self._say("the clipboard stays closed to the program while it is shown here")

    def on_terminal_view_link_chosen(self, message: TerminalView.LinkChosen) -> None:
        """Hand a link's address to the clipboard."""
        self._copy(visible_line(message.address))

    def on_terminal_view_search_asked(self) -> None:
        """Ask for a text and search it."""
        search = self._view.search
        text = "The whole text of this terminal, any case"
        dialogs.ask(self, "Search", text, lambda wanted: search(wanted) if wanted else None)

    def on_terminal_view_mode_changed(self) -> None:
        """Show copy mode in the line."""
        self._say()

    @property
    def _way_back(self) -> str:
        from oulipoly_demo import world  # noqa: PLC0415 - only for a farewell

        return f"left {self._terminal.id}: `agents {world.way_in()}terminal attach {self._terminal.id}` brings it back"

    @property
    def _view(self) -> TerminalView:
        return self.screen_stack[0].query_one(TerminalView)

    def _copy(self, text: str) -> None:
        is_copied = copying.send(self, text)
        self._say(f"copied {len(text)} characters" if is_copied else "too long for the terminal's clipboard")

    def _send(self, message: messages.Message) -> None:
        if self._link is not None:
            self._link.send(message)

    def _take(self, message: messages.Message) -> None:
        if self._is_leaving:
            return
        match message:
            case messages.Exited() if self._has_picture:
                self._end(message)
            case messages.Exited():
                self._exited = message
                self.set_timer(_LAST_PICTURE_S, lambda: self._end(message))
            case messages.SideEffectReport():
                if message.bells:
                    self.bell()
                if message.title:
                    self._title = message.title
                    self._say()
                if message.notices:
                    self._say(message.notices[-1])
            case messages.HostNotice():
                self._say(message.text)
            case messages.SizeReport() if (message.columns, message.rows) != self._view.size:
                self._say(f"{message.columns}x{message.rows}, as the window of {message.decided_by} wants it")
            case _:
                pass
        self._view.take(message)
        if isinstance(message, messages.Picture):
            self._has_picture = True
            if self._exited is not None:
                self._end(self._exited)

    def _end(self, exited: messages.Exited) -> None:
        if self._is_leaving:
            return
        self._send(messages.EndReceipt())
        self.last_lines = self._view.last_lines()
        if exited.signal is not None:
            self.farewell = f"{self._terminal.id} ended: killed by signal {exited.signal}"
        self.exit(exited.code)

    def _exit_with(self, text: str) -> None:
        if not self._is_leaving:
            self.farewell = text
            self.exit(1)

    def _say(self, text: str | None = None) -> None:
        view = self._view
        status = text or (self._title if view.copy_mode is None else COPYING)
        self.screen_stack[0].query_one("#line", Static).update(f" {format_chord(self._leave)} leaves · {status}")
