"""The REPL pane: terminals in tabs, those of earlier apps among them. Their programs live in hosts of their own."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from oulipoly_engine.terminal import wire
from oulipoly_engine.terminal.client import HostUnreachable
from oulipoly_tui import clipboard
from oulipoly_tui.hand_over import hand_over
from oulipoly_tui.panes.pane import Pane, bindings
from oulipoly_tui.terminal_link import TerminalLink
from oulipoly_tui.view.chords import shown
from oulipoly_tui.view.repl import EMPTY, Tab, tab_line
from oulipoly_tui.view.spans import cells
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.tab_line import TabLine
from oulipoly_tui.widgets.terminal_view import LEAVE, TerminalView

if TYPE_CHECKING:
    from oulipoly_engine.engine import Snapshot
    from oulipoly_engine.engine_terminals import OpenedTerminal, Terminal

_NEEDS_TAB = frozenset(("enter", "copy", "find", "hand_over", "close", "kill", "new", "next", "previous"))


@dataclass(slots=True)
class _Open:
    """One terminal with a tab."""

    terminal: Terminal
    tab: Tab
    view: TerminalView
    link: TerminalLink | None = None
    may_copy: bool = False  # the user has let its program write the clipboard


class ReplPane(Pane):
    """Terminals in tabs."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("repl")

    def __init__(self, id: str = "repl") -> None:
        super().__init__(id=id)
        self._opened: dict[str, _Open] = {}
        self._chosen: str | None = None
        self._put_away: set[str] = set()  # put away by the user: not shown again by themselves
        self._did_look = False

    def compose(self) -> ComposeResult:
        """Lay out tabs above the terminal."""
        yield TabLine(id="repl-tabs")
        yield Container(id="repl-body")
        yield Lines(EMPTY, id="repl-empty")

    def on_mount(self) -> None:
        """Show that there is none yet."""
        self._draw()

    def on_unmount(self) -> None:
        """Part from the hosts; they live on."""
        for one in self._opened.values():
            if one.link is not None:
                one.link.close()

    def take(self, snapshot: Snapshot) -> None:
        """Look for terminals of earlier apps, the first time."""
        if not self._did_look:
            self._did_look = True
            self._look(quietly=True)

    def begin(self, model: str, account: str | None = None, session: str | None = None) -> None:
        """Open a terminal for a model; the account that was chosen, and why, is told."""
        app: Any = self.app
        size = self.query_one("#repl-body").size
        wanted = (max(20, size.width or 80), max(5, size.height or 24))
        hosts = app.engine.terminals
        if session is None:
            app.work("REPL", partial(hosts.begin, model, account, wanted), self._begun)
        else:
            app.work("REPL", partial(hosts.resume, session, account, wanted), self._begun)

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing now."""
        if action in _NEEDS_TAB and self._current is None:
            return "no terminal is open: choose a model under Pools and press r"
        current = self._current
        if action == "enter" and current is not None and current.tab.is_ended:
            return "its program has ended: close it with x, or begin anew with r"
        if action == "new" and current is not None and not current.terminal.model:
            return "this terminal belongs to no model"
        if action in ("next", "previous") and len(self._opened) < 2:
            return "there is one terminal alone"
        return None

    def focus_inside(self) -> None:
        """Give the keys to the terminal that is shown, or to the tabs."""
        current = self._current
        if current is not None and not current.tab.is_ended and not self._is_read_only:
            current.view.focus()
        else:
            self.query_one("#repl-tabs").focus()

    def action_enter(self) -> None:
        """Give the keys to the terminal."""
        if self._current is not None:
            self._current.view.focus()

    def action_next(self) -> None:
        """Show the next terminal."""
        self._step(1)

    def action_previous(self) -> None:
        """Show the terminal before."""
        self._step(-1)

    def action_new(self) -> None:
        """Open another terminal for the same model."""
        if self._current is not None and self._current.terminal.model:
            self.begin(self._current.terminal.model)

    def action_copy(self) -> None:
        """Begin copy mode."""
        if self._current is not None:
            self._current.view.begin_copying()
            self._current.view.focus()

    def action_find(self) -> None:
        """Ask for a text and search it."""
        self._ask_search()

    def action_close(self) -> None:
        """Put the terminal away; one that has ended is let go."""
        if self._current is not None:
            self._put_away.add(self._current.terminal.id)
            self._drop(self._current)

    def action_kill(self) -> None:
        """End the program, after a question."""
        current = self._current
        if current is None:
            return
        if current.tab.is_ended:
            self.action_close()
            return
        from oulipoly_tui.screens.question import Confirm  # noqa: PLC0415 - only when there is something to ask

        app: Any = self.app
        identity = current.terminal.id

        def answer(yes: bool | None) -> None:
            if yes:
                app.work("end terminal", partial(app.engine.terminals.kill, identity), lambda _: None)

        app.push_screen(Confirm("End this program?", f"{current.tab.label}, with all that it does", "end it"), answer)

    def action_look(self) -> None:
        """Look for terminals without a tab."""
        self._put_away.clear()
        self._look(quietly=False)

    def action_hand_over(self) -> None:
        """Give the whole screen to the terminal until the user leaves it."""
        current = self._current
        if current is None:
            return
        app: Any = self.app
        with app.suspend():
            said = hand_over(app.engine.terminals.socket(current.terminal), current.terminal, self._leave_chord)
        app.refresh()
        if said:
            app.say(said, severity="warning")

    # What the hosts say ----------------------------------------------------------------------------------------------
    def _begun(self, found: OpenedTerminal) -> None:
        app: Any = self.app
        self._open(found.terminal, is_chosen=True)
        if self.query_one("#repl-tabs").has_focus:  # the user came here for it, and has not gone elsewhere since
            self.call_after_refresh(self.focus_inside)
        if found.said:
            app.say(found.said)

    def _look(self, *, quietly: bool) -> None:
        app: Any = self.app
        if app.engine is not None:
            app.work("terminals", app.engine.terminals.list, partial(self._found, quietly=quietly))

    def _found(self, found: tuple[Terminal, ...], *, quietly: bool) -> None:
        new = [one for one in found if one.id not in self._opened and one.id not in self._put_away]
        for terminal in new:
            self._open(terminal, is_chosen=self._chosen is None)
        app: Any = self.app
        if new and quietly:
            app.say(f"{len(new)} terminal{'s' * (len(new) != 1)} of an earlier app: pane 5")
        elif not new and not quietly:
            app.say("no terminal runs without a tab")

    def _open(self, terminal: Terminal, *, is_chosen: bool) -> None:
        identity = terminal.id
        view = TerminalView(partial(self._send, identity), leave=self._leave_chord, id=f"repl-view-{identity}")
        label = terminal.title or (f"{terminal.model}@{terminal.account}" if terminal.model else terminal.label)
        opened = _Open(terminal, Tab(identity, label), view)
        app: Any = self.app
        try:
            opened.link = TerminalLink(
                app.engine.terminals.socket(terminal), partial(self._take, identity), partial(self._gone, identity)
            )
        except HostUnreachable as error:
            app.say(error.message, severity="warning")
            return
        self._opened[identity] = opened
        view.display = False
        self.query_one("#repl-body").mount(view)
        if is_chosen:
            self._choose(identity)
        self._draw()

    def _send(self, identity: str, message: wire.Message) -> None:
        opened = self._opened.get(identity)
        is_typing = isinstance(message, wire.Typed | wire.Pressed | wire.Pasted | wire.Pointed)
        if opened is None or opened.link is None or (is_typing and (self._is_read_only or opened.tab.is_ended)):
            return
        opened.link.send(message)

    def _take(self, identity: str, message: wire.Message) -> None:
        opened = self._opened.get(identity)
        if opened is None:
            return
        app: Any = self.app
        match message:
            case wire.Exited():
                opened.tab = replace(opened.tab, is_ended=True, code=message.code)
                if opened.link is not None:
                    opened.link.send(wire.EndSeen())
                self._leave_if_inside(opened)
            case wire.Happened():
                self._happened(opened, message)
            case wire.Said():
                app.say(f"{opened.tab.label}: {message.text}", severity="warning")
            case _:
                pass
        opened.view.take(message)
        if not isinstance(message, wire.Picture):
            self._draw()

    def _happened(self, opened: _Open, message: wire.Happened) -> None:
        is_seen = opened.terminal.id == self._chosen and self.display
        tab = opened.tab
        if message.title:
            tab = replace(tab, label=message.title)
        if not is_seen:
            tab = replace(tab, has_bell=tab.has_bell or message.bells > 0, is_active=tab.is_active or message.active)
        if message.bells and not is_seen:
            self.app.bell()
        opened.tab = tab

    def _gone(self, identity: str, text: str) -> None:
        opened = self._opened.get(identity)
        if opened is None:
            return
        opened.link = None
        if not opened.tab.is_ended:
            opened.tab = replace(opened.tab, is_ended=True)
            app: Any = self.app
            app.say(f"{opened.tab.label}: {text}", severity="error")
        self._leave_if_inside(opened)
        self._draw()

    # What the terminals ask for --------------------------------------------------------------------------------------
    def on_terminal_view_left(self) -> None:
        """Give the keys to the tabs."""
        self.query_one("#repl-tabs").focus()

    @on(TerminalView.ModeChanged)
    def _mode_changed(self) -> None:
        self._draw()

    @on(TerminalView.SearchAsked)
    def _ask_search(self) -> None:
        current = self._current
        if current is None:
            return
        from oulipoly_tui.screens.question import Question  # noqa: PLC0415 - only when there is something to ask

        def answer(text: str | None) -> None:
            if text:
                current.view.search(text)
                current.view.focus()

        self.app.push_screen(Question("Search", "The whole text of this terminal, any case", ""), answer)

    @on(TerminalView.Copied)
    def _copied(self, message: TerminalView.Copied) -> None:
        opened = next((one for one in self._opened.values() if one.view is message._sender), None)
        if not message.by_child or opened is None or opened.may_copy:
            self._to_clipboard(message.text)
            return
        from oulipoly_tui.screens.question import Confirm  # noqa: PLC0415 - only when there is something to ask

        def answer(yes: bool | None) -> None:
            if yes:
                opened.may_copy = True
                self._to_clipboard(message.text)

        text = f"{opened.tab.label} wants to put {len(message.text)} characters on your clipboard, now and later"
        self.app.push_screen(Confirm("Allow the clipboard?", text, "allow"), answer)

    @on(TerminalView.LinkChosen)
    def _link_chosen(self, message: TerminalView.LinkChosen) -> None:
        self._to_clipboard(message.address)

    @on(TabLine.Clicked)
    def _tab_clicked(self, message: TabLine.Clicked) -> None:
        x = 0
        tabs = [one.tab for one in self._opened.values()]
        for tab, (text, _) in zip(tabs, tab_line(tabs, self._chosen, 1 << 20), strict=False):
            x += cells(text)
            if message.column < x:
                self._choose(tab.id)
                return

    # Small parts -----------------------------------------------------------------------------------------------------
    @property
    def _current(self) -> _Open | None:
        return None if self._chosen is None else self._opened.get(self._chosen)

    @property
    def _is_read_only(self) -> bool:
        app: Any = self.app
        return bool(app.options.read_only)

    @property
    def _leave_chord(self) -> str:
        app: Any = self.app
        return str(getattr(app.options, "leave_chord", LEAVE))

    def _step(self, step: int) -> None:
        names = list(self._opened)
        if names:
            place = names.index(self._chosen) if self._chosen in names else 0
            self._choose(names[(place + step) % len(names)])

    def _choose(self, identity: str) -> None:
        had_keys = self._current is not None and self._current.view.has_focus
        self._chosen = identity
        for name, one in self._opened.items():
            one.view.display = name == identity
        opened = self._opened[identity]
        opened.tab = replace(opened.tab, has_bell=False, is_active=False)
        if had_keys:
            opened.view.focus()
        self._draw()

    def _drop(self, opened: _Open) -> None:
        names = list(self._opened)
        place = names.index(opened.terminal.id)
        self._leave_if_inside(opened)
        if opened.link is not None:
            opened.link.close()
        del self._opened[opened.terminal.id]
        opened.view.remove()
        rest = list(self._opened)
        self._chosen = None
        if rest:
            self._choose(rest[min(place, len(rest) - 1)])
        self._draw()

    def _leave_if_inside(self, opened: _Open) -> None:
        if opened.view.has_focus:
            self.query_one("#repl-tabs").focus()

    def _to_clipboard(self, text: str) -> None:
        app: Any = self.app
        found = clipboard.sequence(text, os.environ)
        if found is None:
            app.say("too long for the terminal's clipboard: select less", severity="warning")
        elif app._driver is not None:
            app._driver.write(found)
            app.say(f"copied {len(text)} characters")

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        self.set_class(not self._opened, "-empty")
        tabs = [one.tab for one in self._opened.values()]
        line = self.query_one("#repl-tabs", TabLine)
        line.show_lines((tab_line(tabs, self._chosen, line.size.width),))
        current = self._current
        if current is None:
            self.border_subtitle = ""
            return
        chord = shown(self._leave_chord)
        mode = current.view.copy_mode
        self.border_subtitle = f"{chord} leaves" if mode is None else "copy mode: v select, y copy, / find, esc leave"
