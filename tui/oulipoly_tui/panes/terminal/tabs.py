"""Tabs of terminals: those that are open, what their hosts say, and the chord that leads out of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from oulipoly_engine.terminal.client.client import HostUnreachable
from oulipoly_engine.terminal.protocol import messages
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.base.pane import Pane
from oulipoly_tui.driver import copying
from oulipoly_tui.driver.terminal_link import TerminalLink
from oulipoly_tui.keys.keymap import format_first_key
from oulipoly_tui.panes.terminal.open_terminal import OpenTerminal, label_of, title_in
from oulipoly_tui.view.frame import chords
from oulipoly_tui.view.terminal.repl import COPYING, EMPTY, Tab, format_opening, tab_line
from oulipoly_tui.view.transcript.spans import wrap_lines
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.standing import is_standing
from oulipoly_tui.widgets.tab_line import TabLine
from oulipoly_tui.widgets.terminal_view import LEAVE, TerminalView

if TYPE_CHECKING:
    from oulipoly_engine.facade.terminals.new_terminals import OpenedTerminal
    from oulipoly_engine.facade.terminals.terminals import Survey, Terminal


class TerminalTabs(Pane):
    """The terminals of a pane, each behind its tab."""

    def __init__(self, id: str = "repl") -> None:
        super().__init__(id=id)
        self._terminals: dict[str, OpenTerminal] = {}
        self._chosen: str | None = None
        self._last: str | None = None  # the terminal that was shown when the last app ended
        self._opening = ""  # whose terminal is being opened
        self._put_away: set[str] = set()  # put away by the user: not shown again by themselves
        self._did_look = False
        self._is_waited_for = False  # the user came here while there was no terminal yet
        self._told_of_end: dict[str, Callable[[], object]] = {}  # by terminal: who waits for its program's end
        self._offered: str | None = None  # a chord that works where the user's own is eaten

    def compose(self) -> ComposeResult:
        """Lay out tabs above the terminal."""
        yield TabLine(id="repl-tabs")
        yield Container(id="repl-body")
        yield Lines(EMPTY, id="repl-empty")

    def to_tabs(self) -> None:
        """Give the keys to the tabs."""
        self._tabs.focus()

    # What the hosts say ----------------------------------------------------------------------------------------------
    def _start(
        self,
        name: str,
        start: Any,  # noqa: ANN401 - a function that returns an OpenedTerminal
        ended: Callable[[], object] | None = None,
    ) -> None:
        app = app_of(self)
        self._opening = name
        self._draw()

        def begin() -> OpenedTerminal | None:
            try:
                return start()  # type: ignore[no-any-return]
            except Exception:
                app.call_from_thread(self._show_failed_start)
                raise

        app.work(name, begin, partial(self._show_start, ended=ended), lambda _: ended and ended())

    def _show_failed_start(self) -> None:
        self._opening = ""
        self._draw()

    def _show_start(self, result: OpenedTerminal, ended: Callable[[], object] | None = None) -> None:
        app = app_of(self)
        self._opening = ""
        if ended is not None:
            self._told_of_end[result.terminal.id] = ended
        self._open(result.terminal, is_chosen=True, is_entered=True)
        self._take_keys()
        if result.said:
            app.say(result.said)

    def _take_keys(self) -> None:
        app = app_of(self)

        def take() -> None:
            if app.frame.current is self and app.screen is app.frame:  # the user has not gone elsewhere since
                self.focus_inside()

        self.call_after_refresh(take)

    def _look(self, *, quietly: bool) -> None:
        app = app_of(self)
        if app.engine is not None:
            app.work("terminals", app.engine.terminals.look, partial(self._show_survey, quietly=quietly))

    def _show_survey(self, survey: Survey, *, quietly: bool) -> None:
        self._tell_lost(survey.lost)
        self._tell_orphaned(survey.orphaned)
        new = [item for item in survey.living if item.id not in self._terminals and item.id not in self._put_away]
        app = app_of(self)
        for terminal in new:
            self._open(terminal, is_chosen=self._chosen is None or terminal.id == self._last)
        self._last = None
        if self._is_waited_for:
            self._take_keys()
        if new and quietly:
            way = self._way_in(from_pane=app.frame.current is self)
            app.say(f"{len(new)} terminal{'s' * (len(new) != 1)} of an earlier app{way and f': {way}'}")
        elif not new and not quietly:
            app.say("No terminal runs without a tab")

    def _way_in(self, *, from_pane: bool = True) -> str:
        """Say which key leads into the terminal, or here from another pane; empty where none does: read-only."""
        app = app_of(self)
        number = app.frame.entries["repl"].number
        action, text = ("repl.enter", "goes in") if from_pane else (f"frame.pane{number}", "goes there")
        row = app.keys.find(action)
        return "" if row is None else f"{format_first_key(row.keys)} {text}"

    def _tell_lost(self, lost: Sequence[Terminal]) -> None:
        """Say what ended while nobody looked: of those with a tab the tab says it."""
        app = app_of(self)
        labels = [label_of(item, title_in(app, item.session_id)) for item in lost if item.id not in self._terminals]
        if labels:
            more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
            app.say(f"{labels[0]}{more} ended: the host of the terminal was killed", severity="warning")

    def _tell_orphaned(self, orphaned: Sequence[Terminal]) -> None:
        app = app_of(self)
        for item in orphaned:
            text = f"runs on as process {item.pid}, but its host was killed: `agents terminal kill {item.id}` ends it"
            app.say(f"{label_of(item, title_in(app, item.session_id))} {text}", severity="warning")

    def _open(self, terminal: Terminal, *, is_chosen: bool, is_entered: bool = False) -> None:
        app = app_of(self)
        identity = terminal.id
        if identity in self._terminals:  # a look at what lives came before the answer to its start
            if is_chosen:
                self._terminals[identity].is_entered = is_entered
                self._choose(identity)
            return
        view = TerminalView(
            partial(self._send, identity),
            leave=self.leave_chords,
            escape_leaves=bool(app.options.escape_leaves),
            id=f"repl-view-{identity}",
        )
        open_terminal = OpenTerminal(
            terminal,
            Tab(identity, label_of(terminal, title_in(app, terminal.session_id))),
            view,
            is_entered=is_entered,
        )
        try:
            open_terminal.link = TerminalLink(
                engine_of(app).terminals.socket(terminal),
                partial(self._take, identity),
                partial(self._lose_host, identity),
            )
        except HostUnreachable as error:
            app.say(error.message, severity="warning")
            return
        self._terminals[identity] = open_terminal
        view.display = False
        self.query_one("#repl-body").mount(view)
        view.attach_hidden(*self._room())
        if is_chosen:
            self._choose(identity)
        self._draw()

    def _send(self, identity: str, message: messages.Message) -> None:
        open_terminal = self._terminals.get(identity)
        if open_terminal is not None:
            open_terminal.send(message, may_type=not self._is_read_only)

    def _take(self, identity: str, message: messages.Message) -> None:
        open_terminal = self._terminals.get(identity)
        if open_terminal is None:
            return
        open_terminal.view.take(message)
        before = (open_terminal.tab, open_terminal.size_note)
        match message:
            case messages.Picture():
                return
            case messages.Exited():
                self._take_exit(open_terminal, message)
            case messages.State():
                open_terminal.take_state(message, is_seen=self._is_seen(open_terminal))
                if not open_terminal.is_drawn:
                    self._leave_if_inside(open_terminal)
            case messages.SideEffectReport():
                self._take_report(open_terminal, message)
            case messages.SizeReport():
                open_terminal.take_size(message)
                open_terminal.view.check_size()
            case messages.HostNotice():
                self._say(open_terminal, message.text, severity="warning")
            case _:
                pass
        if before != (open_terminal.tab, open_terminal.size_note):
            self._draw()

    def _take_exit(self, open_terminal: OpenTerminal, message: messages.Exited) -> None:
        app = app_of(self)
        engine_of(app).command_log.end_terminal(open_terminal.id, message.code)
        open_terminal.take_exit(message.code, is_seen=self._is_seen(open_terminal))
        if open_terminal.link is not None and not self._is_read_only:
            open_terminal.link.send(messages.EndReceipt())
        self._leave_if_inside(open_terminal)
        self._told_of_end.pop(open_terminal.id, lambda: None)()

    def _take_report(self, open_terminal: OpenTerminal, message: messages.SideEffectReport) -> None:
        is_seen = self._is_seen(open_terminal)
        open_terminal.take_report(message, is_seen=is_seen)
        if message.bells and not is_seen:
            self.app.bell()
        if message.notices:
            self._say(open_terminal, message.notices[-1])

    def _is_seen(self, open_terminal: OpenTerminal) -> bool:
        return open_terminal.id == self._chosen and self.display

    def _lose_host(self, identity: str, text: str) -> None:
        open_terminal = self._terminals.get(identity)
        if open_terminal is None:
            return
        open_terminal.link = None
        if not open_terminal.tab.is_ended:
            open_terminal.take_exit(None, is_seen=self._is_seen(open_terminal))
            self._say(open_terminal, text, severity="error")
            self._told_of_end.pop(identity, lambda: None)()
        self._leave_if_inside(open_terminal)
        self._draw()

    def _say(self, open_terminal: OpenTerminal, text: str, *, severity: str = "information") -> None:
        app = app_of(self)
        app.say(f"{open_terminal.tab.label}: {text}", severity=severity)

    # The chord that leads out ----------------------------------------------------------------------------------------
    @property
    def leave_chords(self) -> tuple[str, ...]:
        """Return the chords that lead out: the user's own and, last, the one that is offered where it is eaten."""
        app = app_of(self)
        own = LEAVE if app.engine is None else chords.read_chord(app.engine.terminals.leave_key)
        return (own,) if self._offered is None else (own, self._offered)

    def _check_chord(self, prefixes: Sequence[str]) -> None:
        """Offer another chord, and say so, where something outside takes ours."""
        app = app_of(self)
        prefixes_taken = tuple(map(chords.from_tmux, prefixes))
        result = chords.detour(self.leave_chords[0], os.environ, prefixes_taken)
        if result is None:
            return
        self._offered, text = result
        for item in self._terminals.values():
            item.view.leave_chords = self.leave_chords
        app.say(text, severity="warning")
        self._draw()

    # Small parts -----------------------------------------------------------------------------------------------------
    @property
    def _tabs(self) -> TabLine:
        return self.query_one("#repl-tabs", TabLine)

    @property
    def _tab_values(self) -> list[Tab]:
        return [item.tab for item in self._terminals.values()]

    @property
    def _current(self) -> OpenTerminal | None:
        return None if self._chosen is None else self._terminals.get(self._chosen)

    @property
    def _is_read_only(self) -> bool:
        app = app_of(self)
        return bool(app.options.read_only)

    def _room(self) -> tuple[int, int]:
        """Return the size of a terminal here, before there is any."""
        size = self.query_one("#repl-body").size
        return max(20, size.width or 80), max(5, size.height or 24)

    def _step(self, step: int) -> None:
        names = list(self._terminals)
        if names:
            place = names.index(self._chosen) if self._chosen in names else 0
            self._choose(names[(place + step) % len(names)])

    def _choose(self, identity: str) -> None:
        had_keys = self._current is not None and self._current.view.has_focus
        self._chosen = identity
        for name, item in self._terminals.items():
            item.view.display = name == identity
        open_terminal = self._terminals[identity]
        open_terminal.clear_marks()
        if had_keys:
            self.focus_inside()
        self._draw()

    def _drop(self, open_terminal: OpenTerminal) -> None:
        names = list(self._terminals)
        place = names.index(open_terminal.id)
        self._leave_if_inside(open_terminal)
        if open_terminal.link is not None:
            open_terminal.link.close()
        del self._terminals[open_terminal.id]
        open_terminal.view.remove()
        remaining = list(self._terminals)
        self._chosen = None
        if remaining:
            self._choose(remaining[min(place, len(remaining) - 1)])
        self._draw()

    def _leave_if_inside(self, open_terminal: OpenTerminal) -> None:
        if open_terminal.view.has_focus:
            self.to_tabs()

    def _to_clipboard(self, text: str) -> None:
        app = app_of(self)
        if copying.send(app, text):
            app.say(f"Copied {len(text)} characters")
        else:
            app.say("Too long for the terminal's clipboard: select less", severity="warning")

    def _draw(self) -> None:
        if not is_standing(self):
            return
        self.set_class(not self._terminals, "-empty")
        self.query_one("#repl-empty", Lines).show_lines(wrap_lines(EMPTY, max(20, self.size.width - 6)))
        tabs = tab_line(self._tab_values, self._chosen, self._tabs.size.width)
        self._tabs.show_lines(((*tabs, *format_opening(self._opening)),))
        current = self._current
        title = str(self.border_title or "").partition(" · ")[0]
        if current is None:
            self.border_title, self.border_subtitle = title, ""
            return
        way_out = f"{chords.format_chord(self.leave_chords[-1])} leaves"
        way = way_out if current.is_entered or current.tab.is_ended else self._way_in()
        self.border_title = f"{title} · {way}" if way else title
        self.border_subtitle = Content(current.size_note if current.view.copy_mode is None else COPYING)
