"""The REPL pane: terminals in tabs, those of earlier apps among them. Their programs live in hosts of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import constants, on
from textual.binding import BindingType

from oulipoly_engine.core.checks.alerts import Alert
from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.errors import Interrupted
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.base.pane import bindings
from oulipoly_tui.panes.terminal.open_terminal import OpenTerminal, title_in
from oulipoly_tui.panes.terminal.tabs import TerminalTabs
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.terminal.clipboard_leave import ClipboardLeave
from oulipoly_tui.single.fullscreen import hand_over
from oulipoly_tui.view import row_values
from oulipoly_tui.view.terminal.repl import inside, tab_at
from oulipoly_tui.widgets.tab_line import TabLine
from oulipoly_tui.widgets.terminal_view import TerminalView

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.actions.action import Action

_ESCAPE_S = 0.025  # a sequence comes whole within it; Textual's own 100 ms would show in vim at every Escape


class ReplPane(TerminalTabs):
    """Terminals in tabs."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("repl")

    def on_mount(self) -> None:
        """Take Escape at once."""
        constants.ESCAPE_DELAY = _ESCAPE_S  # type: ignore[misc] # Textual reads it at every Escape

    def on_resize(self) -> None:
        """Fit the tabs, or what stands in the terminal's place."""
        self.call_after_refresh(self._draw)

    def on_unmount(self) -> None:
        """Part from the hosts; they live on."""
        for item in self._terminals.values():
            if item.link is not None:
                item.link.close()

    def take(self, snapshot: Snapshot) -> None:
        """Look for terminals of earlier apps, and for who eats our chord, the first time."""
        app = app_of(self)
        if not self._did_look and app.engine is not None:
            self._did_look = True
            app.work("outer terminal", app.engine.terminals.outer_prefixes, self._check_chord)
            self._look(quietly=True)

    def state(self) -> Mapping[str, object]:
        """Return which terminal is shown."""
        return {"terminal": self._chosen}

    def restore(self, state: Mapping[str, object]) -> None:
        """Show the same terminal as the last time, if it lives."""
        last = state.get("terminal")
        self._last = last if isinstance(last, str) else None

    def begin(self, model: str, account: str | None = None, session: str | None = None) -> None:
        """Open a terminal for a model, or for a session; the account that was chosen, and why, is told."""
        app = app_of(self)
        existing = next(
            (item for item in self._terminals.values() if session and item.terminal.session_id == session), None
        )
        if existing is not None and not existing.tab.is_ended:
            existing.is_entered = True
            self._choose(existing.id)
            self.focus_inside()
            app.say(f"That session is open already, in the tab of {existing.tab.label}")
            return
        hosts, size = engine_of(app).new_terminals, self._room()
        start = partial(hosts.begin, model) if session is None else partial(hosts.resume, session)
        self._start(f"REPL of {model}" if model else "REPL", partial(start, account, size))

    def fork(self, session: str) -> None:
        """Open a terminal for a new session that begins with the past of another one."""
        app = app_of(self)
        self._start("REPL of a fork", partial(engine_of(app).new_terminals.fork, session, self._room()))

    def run_program(
        self, argv: tuple[str, ...], folder: Path | None = None, ended: Callable[[], object] | None = None
    ) -> None:
        """Run any command in a tab. folder: where; None: ours. ended: called when it has ended, or could not begin."""
        app = app_of(self)
        self._start(argv[0], partial(engine_of(app).new_terminals.run, argv, self._room(), folder), ended)

    def row_values(self) -> Mapping[str, str]:
        """Return what the chosen terminal has for the user's own commands."""
        if self._current is None:
            return {}
        one = self._current.terminal
        return row_values.of_terminal(one, title_in(self.app, one.session_id))

    def attention(self) -> tuple[Alert, ...]:
        """Return the terminals that ring or have ended since they were last seen."""
        waiting = [item.tab for item in self._terminals.values() if item.tab.has_bell]
        words = {True: "has ended", False: "rings"}
        return tuple(Alert("terminal", f"{tab.label} {words[tab.is_ended]}", subject=tab.id) for tab in waiting)

    def reason_to_stay(self) -> str | None:
        """Say how many terminals live: nothing of them is lost, but who quits may have taken them for ended."""
        count = len(self.runs_on())
        if not count or self._is_read_only:
            return None
        return f"{count} terminals run on without the app" if count > 1 else "a terminal runs on without the app"

    def runs_on(self) -> tuple[str, ...]:
        """Return the terminals whose programs live."""
        return tuple(f"{item.id} {item.tab.label}" for item in self._terminals.values() if not item.tab.is_ended)

    def under_way(self) -> tuple[int, ...]:
        """Return how far the programs say that they are."""
        return tuple(item.progress for item in self._terminals.values() if item.progress is not None)

    def show(self, key: str) -> bool:
        """Show a terminal by its id; return whether there is such a one."""
        if key not in self._terminals:
            return False
        self._choose(key)
        return True

    def lacks(self, need: Need) -> bool:
        """Return whether no terminal is open."""
        return need is Need.TERMINAL and self._current is None

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing now."""
        current = self._current
        if action == "enter" and current is not None and current.tab.is_ended:
            return "its program has ended: close it with x, or begin anew with r"
        if action == "enter" and current is not None and not current.is_drawn:
            return "nothing can be drawn here: f gives the program the whole screen"
        if action == "kill" and current is not None and current.tab.is_ended:
            return "its program has ended: close it with x"
        if action == "new" and current is not None and not current.terminal.account:
            return "this terminal belongs to no model"
        if action in ("next", "previous") and len(self._terminals) < 2:
            return "there is one terminal alone"
        return None

    def inner_keys(self) -> tuple[Action, ...] | None:
        """Return the ways out of the terminal, or of its copy mode, while it takes every key."""
        current = self._current
        if current is None or not current.view.has_focus:
            return None
        return inside(self.leave_chords, is_copying=current.view.copy_mode is not None)

    def leave(self) -> bool:
        """Go from the tabs to the list beside."""
        app = app_of(self)
        if app.frame.area.zoomed:
            return False
        first = next(item.id for item in app.frame.entries.values() if item.column == "list")
        self.call_next(app.frame.turn_to, first)
        return True

    def focus_inside(self) -> None:
        """Give the keys to the terminal that is shown, or to the tabs.

        A terminal of an earlier app gets none before the user goes into it: whoever comes here may not know of it.
        """
        current = self._current
        self._is_waited_for = current is None
        if current is not None and (current.view.has_focus or (current.may_take_keys and not self._is_read_only)):
            current.view.focus()
        else:
            self._tabs.focus()

    def action_enter(self) -> None:
        """Give the keys to the terminal."""
        if self._current is not None:
            self._go_into(self._current)

    def _go_into(self, current: OpenTerminal) -> None:
        """Give the keys to a terminal. It counts as entered at once: the focus itself comes a moment later."""
        current.is_entered = True
        current.view.focus()
        self._draw()

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
            self._go_into(self._current)

    def action_find(self) -> None:
        """Ask for a text and search it."""
        self._ask_search()

    def action_close(self) -> None:
        """Put the terminal away; one that has ended is let go."""
        if self._current is not None:
            self._put_away.add(self._current.id)
            self._drop(self._current)

    def action_kill(self) -> None:
        """End the program, after a question."""
        current = self._current
        if current is None:
            return
        app = app_of(self)
        kill = partial(engine_of(app).terminals.kill, current.id)
        text = f"{current.tab.label}, with all that it does"
        dialogs.confirm(app, "End this program?", text, "end it", lambda: app.work("end terminal", kill))

    def action_look(self) -> None:
        """Look for terminals without a tab."""
        self._put_away.clear()
        self._look(quietly=False)

    def action_hand_over(self) -> None:
        """Give the whole screen to the terminal until the user leaves it."""
        current = self._current
        if current is None:
            return
        app = app_of(self)
        current.view.stand_aside(on=True)  # else the pane's size, the smaller one, would be that of the whole screen
        try:
            with app.suspend():
                socket, chord = engine_of(app).terminals.socket(current.terminal), self.leave_chords[-1]
                problem = hand_over(socket, current.terminal, chord, only_reads=self._is_read_only)
        except Interrupted as interruption:  # no way back into the app: its terminal may have gone away
            app.exit(None, interruption.exit_code)
            return
        current.view.stand_aside(on=False)
        app.refresh()
        if problem:
            app.say(problem, severity="warning")

    def on_descendant_focus(self) -> None:
        """Note that the user has gone into a terminal, by a key or a click."""
        current = self._current
        if current is not None and current.view.has_focus and not current.is_entered:
            current.is_entered = True
            self._draw()

    # What the terminals ask for --------------------------------------------------------------------------------------
    def on_terminal_view_left(self) -> None:
        """Give the keys to the tabs."""
        self.to_tabs()

    @on(TerminalView.ModeChanged)
    def _mode_changed(self) -> None:
        self._draw()
        app = app_of(self)
        app.show_keys()

    @on(TerminalView.SearchAsked)
    def _ask_search(self) -> None:
        current = self._current
        if current is None:
            return

        def answer(text: str) -> None:
            if text:
                current.view.search(text)
                self._go_into(current)

        dialogs.ask(self.app, "Search", "The whole text of this terminal, any case", answer)

    @on(TerminalView.Copied)
    def _handle_copy(self, message: TerminalView.Copied) -> None:
        open_terminal = next((item for item in self._terminals.values() if item.view is message.view), None)
        if not message.by_child:
            self._to_clipboard(message.text)
        elif open_terminal is not None:
            if open_terminal.leave is None:
                open_terminal.leave = ClipboardLeave(
                    open_terminal.view, self._to_clipboard, partial(self._refuse_clipboard, open_terminal)
                )
            open_terminal.leave.want(message.text, open_terminal.tab.label)

    def _refuse_clipboard(self, open_terminal: OpenTerminal) -> None:
        self._say(open_terminal, "the clipboard stays closed to it; x and then R let it ask again")

    @on(TerminalView.LinkChosen)
    def _link_chosen(self, message: TerminalView.LinkChosen) -> None:
        self._to_clipboard(visible_line(message.address))

    @on(TabLine.Clicked)
    def _tab_clicked(self, message: TabLine.Clicked) -> None:
        result = tab_at(self._tab_values, self._chosen, self._tabs.size.width, message.column)
        if result is not None:
            self._choose(result)
