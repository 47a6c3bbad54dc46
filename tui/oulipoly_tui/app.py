"""The full-screen app: its engine, its jobs, its keys. What is drawn is the frame's and the panes' business.

Everything that blocks runs in a thread by `work` (working.py); the engine is opened in one, after the first frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from oulipoly_engine.records import Record, field
from oulipoly_tui import bridge, keymap, signals, theming
from oulipoly_tui.attention import Watchman
from oulipoly_tui.driver import driver
from oulipoly_tui.driver.typeahead import KeysInTurn
from oulipoly_tui.frame import Frame
from oulipoly_tui.gc_tuning import QuietCollector, let_strips_go
from oulipoly_tui.jobs import Working
from oulipoly_tui.keymap import Keymap
from oulipoly_tui.keys.key import FRAME, Key
from oulipoly_tui.live_settings import Looks
from oulipoly_tui.messages import EventArrived, ReplWanted, SnapshotTaken, Wish, WorkDone
from oulipoly_tui.notices import toast_room
from oulipoly_tui.panes.pane import Pane
from oulipoly_tui.panes.table import PANES, PaneEntry
from oulipoly_tui.standing import is_standing
from oulipoly_tui.view.frame import footer
from oulipoly_tui.view.frame.header import header
from oulipoly_tui.view.transcript.spans import cells, cut
from oulipoly_tui.widgets.bars import HintBar

if TYPE_CHECKING:
    from datetime import datetime

    from oulipoly_engine.facade.configuration import SetUp
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.snapshot import Snapshot

_TICK_S = 1.0
_SNAPSHOT_EVERY = 15  # ticks: windows reset and failures age without anybody's writing
_READ_EVERY = 60  # ticks between two looks for accounts whose reading is too old to show
_REST = " (! tells all)"
_KEPT_FAILURES = 20


class Options(Record):
    """How the app is started."""

    theme: str | None = None
    preset: str = "default"
    own_keys: Mapping[str, str] = field(default_factory=dict)
    footer: str = "full"
    reduced_motion: bool = False
    read_only: bool = False
    reads_quota: bool = True  # read accounts whose reading has become too old to show
    saved: Mapping[str, object] = field(default_factory=dict)  # the layout of the last time
    themes: Sequence[Any] = ()  # the user's own, as Textual's
    leave_chord: str | None = None  # leads out of a terminal, as Textual names it; None: config.toml's attach_leave_key
    escape_leaves: bool = False  # so does Escape pressed twice in haste
    warnings: Sequence[str] = ()  # what is wrong in the app's own files
    progress: str = "auto"  # whether the outer terminal is told of long work: "auto", "always" or "off"


class AgentsApp(KeysInTurn, Working, inherit_bindings=False):
    """The app. Its result says what to do after it: "demo", or nothing."""

    CSS_PATH = "app.tcss"
    TITLE = "agents"
    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = False  # Textual would take ctrl+p for its own; ours is a row of the table of keys

    def __init__(
        self,
        open_engine: Callable[[], Engine],
        now: Callable[[], datetime],
        options: Options | None = None,
        entries: Sequence[PaneEntry] = PANES,
        read_options: Callable[[], Options] | None = None,
    ) -> None:
        super().__init__(driver_class=driver.choose())
        self.options = options or Options()
        self.keys: Keymap = keymap.resolve(self.options.preset, self.options.own_keys, read_only=self.options.read_only)
        self.engine: Engine | None = None
        self.snapshot: Snapshot | None = None
        self.failures: tuple[
            tuple[str, bool], ...
        ] = ()  # (what failed, is it our bug), newest last, for the problems list
        self.set_up: SetUp | None = None  # what this app has written, so that it can be taken back
        self.looks = Looks(self, read_options)
        self._open_engine = open_engine
        self._now = now
        self._frame = Frame(entries, self.options.saved)
        self._ticks = 0
        self._left: dict[str, object] = {}
        self.watchman = Watchman(self)
        self._collector = QuietCollector()
        let_strips_go()
        self._said: dict[str, float] = {}  # toasts that are still shown, and since when
        self._is_taking = self._is_dirty = False
        if self.options.reduced_motion:
            self.animation_level = "none"
        theming.register(self, self.options.themes)
        self.theme = theming.choose(self.options.theme, self.available_themes)
        self.set_keymap(dict(self.keys.changed))

    def get_default_screen(self) -> Screen[None]:
        """Return the frame."""
        return self._frame

    def get_css_variables(self) -> dict[str, str]:
        """Return the theme's variables, with those that are ours alone."""
        return theming.with_bar(super().get_css_variables())

    @property
    def frame(self) -> Frame:
        """Return the frame with its panes."""
        return self._frame

    def on_mount(self) -> None:
        """Show the frame at once; everything else comes after its first paint."""
        self._show_bars()
        self.call_after_refresh(self._begin)
        if not self.is_headless:
            signals.give_the_terminal_back(self)

    def _begin(self) -> None:
        self.work("open", self._open_engine, self._opened)
        self._collector.begin()
        self.looks.warn()
        self.set_interval(_TICK_S, self._tick)

    def _opened(self, engine: Engine) -> None:
        self.engine = engine
        bridge.connect(engine.listeners, self)
        self.take_snapshot()

    def on_work_done(self, message: WorkDone) -> None:
        """Take a result, or say what failed."""
        is_snapshot = message.job.name == "snapshot"
        if is_snapshot:
            self._is_taking = False
        self.take_result(message)
        if is_snapshot and self._is_dirty:
            self.take_snapshot()
        if message.job.title:
            self.show_jobs()
        self.call_after_refresh(self._show_bars)  # what came of it may let other keys work

    def take_snapshot(self) -> None:
        """Ask for a new snapshot; one that is being taken is followed by one more at most."""
        if self.engine is None:
            return
        self._is_dirty = self._is_taking
        if not self._is_taking:
            self._is_taking = True
            self.work("snapshot", self.engine.snapshot, self._took)

    def _took(self, snapshot: Snapshot) -> None:
        is_first = self.snapshot is None
        self.snapshot = snapshot
        self._frame.take(snapshot)
        self._show_bars()
        self.watchman.take(snapshot)
        self.post_message(SnapshotTaken(snapshot))
        if is_first and self.engine is not None:
            self.engine.follow()
            self.work("check", self.engine.configuration.examine, lambda _: self.take_snapshot())
            self.watchman.raise_alerts()
            self._read_old()

    def on_event_arrived(self, message: EventArrived) -> None:
        """Pass an event on, and redraw what it may have changed."""
        self._frame.happened(message.event)
        name = type(message.event).__name__
        if name in ("StateChanged", "ConfigurationChanged", "QuotaRefreshed"):
            self.take_snapshot()
        if name in ("StateChanged", "QuotaRefreshed"):
            self.watchman.raise_alerts()
        if name == "AlertRaised":
            self.watchman.alert(message.event)
        if name == "ConfigurationChanged" and self.engine is not None:
            self.work("check", self.engine.configuration.examine, lambda _: self.take_snapshot())
            self.looks.read()
        self._show_bars()

    def say(self, text: str, *, severity: str = "information") -> None:
        """Show one line for some seconds; what does not fit stands in the problems list, and what is shown stays one.

        severity: "information", "warning" or "error".
        """
        line = " ".join(text.split())
        room = toast_room(self.size.width)
        if cells(line) > room:
            if severity != "information" and (line, False) not in self.failures:
                self.failures = (*self.failures[-_KEPT_FAILURES:], (line, False))
            line = cut(line, room - len(_REST)) + _REST if severity != "information" else cut(line, room)
        now = monotonic()
        if now - self._said.get(line, -self.NOTIFICATION_TIMEOUT) < self.NOTIFICATION_TIMEOUT:
            return  # it is still there
        self._said = {text: at for text, at in self._said.items() if now - at < self.NOTIFICATION_TIMEOUT} | {line: now}
        kind: Any = severity
        self.notify(line, severity=kind, markup=False)

    async def action_press(self, identity: str) -> None:
        """Do what a row of the table of keys says, or say why it does nothing now."""
        row = self.keys.find(identity)
        if row is None:
            return
        owner: Pane | AgentsApp | None = self if row.where == FRAME else self._frame.find(row.where)
        if owner is None:
            return
        reason = owner.obstacle(row.action)
        if reason is not None:
            beneath = self.keys.beneath(row)
            if beneath is not None and self.obstacle(beneath.action) is None:
                await self.action_press(beneath.id)
            else:
                self.say(reason)
            return
        await self.run_action(row.action, default_namespace=owner)
        self._show_bars()

    def obstacle(self, action: str) -> str | None:
        """Say why a key of the frame does nothing now."""
        if action == "stop_work" and not self.stoppable_jobs:
            return "nothing is under way that could be stopped"
        if action.startswith("pane("):
            number = int(action[5:-1])
            if all(entry.number != number for entry in self._frame.entries.values()):
                return f"there is no pane {number}"
        if action == "zoom" and len(self._frame.entries) == 1:
            return "there is one pane alone"
        if action == "problems" and not self.troubles():
            return "nothing is wrong"
        if action == "next_attention" and not self.watchman.wanted():
            return "nothing wants you"
        if action == "refresh_all" and (self.snapshot is None or not self.snapshot.accounts):
            return "no account is configured"
        return None

    def works_now(self) -> tuple[Key, ...]:
        """Return the keys that do something now, the current pane's first."""
        pane = self._frame.current
        rows = (*self.keys.of(pane.id or ""), *self.keys.of(FRAME))
        works = [row for row in rows if (self if row.where == FRAME else pane).obstacle(row.action) is None]
        return keymap.reachable(works)

    def troubles(self) -> tuple[Any, ...]:
        """Return everything that is wrong, for the problems list."""
        from oulipoly_tui.view.frame.problems import of_app  # noqa: PLC0415 - the list is rarely opened

        return of_app(self.snapshot, self.failures, self.keys, self.watchman.wanted())

    def on_wish(self, message: Wish) -> None:
        """Run a command that a pane asked for."""
        self.order(message.name, message.arguments)

    def order(self, name: str, arguments: Sequence[str] = ()) -> None:
        """Run a command of the table in `orders/`; what is wrong with it is said in a line."""
        from oulipoly_tui.actions import registry  # noqa: PLC0415 - the palette's library, 10 ms, not for the first frame

        reason = registry.run(self, name, list(arguments))
        if reason is not None:
            self.say(reason, severity="warning")

    def on_virtual_list_highlighted(self) -> None:
        """Show the keys of the row under the cursor."""
        self._show_bars()

    def on_hint_bar_pressed(self, message: HintBar.Pressed) -> None:
        """Do what was clicked."""
        pane = self._frame.current
        inner = next((row for row in pane.inner_keys() or () if row.id == message.identity), None)
        if inner is None or not inner.keys:
            self.call_next(self.action_press, message.identity)
        else:
            self.simulate_key(inner.keys)

    def on_descendant_focus(self) -> None:
        """Show the keys of what has the focus."""
        self._show_bars()

    def on_resize(self) -> None:
        """Fit the bars."""
        self.call_after_refresh(self._show_bars)

    async def action_pane(self, number: int) -> None:
        """Go to a pane."""
        for entry in self._frame.entries.values():
            if entry.number == number:
                await self._frame.turn_to(entry.id)

    async def action_next_pane(self) -> None:
        """Go to the next pane."""
        await self._frame.step(1)

    async def action_previous_pane(self) -> None:
        """Go to the pane before."""
        await self._frame.step(-1)

    async def action_zoom(self) -> None:
        """Give the pane the whole screen, or take it back."""
        await self._frame.zoom()

    def action_palette(self) -> None:
        """Open the palette."""
        from oulipoly_tui.actions.registry import palette  # noqa: PLC0415 - only when it is opened

        self.push_screen(palette())

    def action_command_line(self) -> None:
        """Open the line for commands with arguments."""
        from oulipoly_tui.screens.command_line import ask  # noqa: PLC0415 - only when it is opened

        ask(self)

    def action_help(self) -> None:
        """Show every key."""
        from oulipoly_tui.screens.help import Help  # noqa: PLC0415 - only when it is opened

        def chosen(identity: str | None) -> None:
            if identity is not None:
                self.call_next(self.action_press, identity)

        works = {row.id for row in self.works_now()}
        self.push_screen(Help(self.keys, self._frame.current.id or "", works), chosen)

    def action_menu(self) -> None:
        """Offer what can be done with the row under the cursor."""
        from oulipoly_tui.screens.menu import offer  # noqa: PLC0415 - only when it is opened

        offer(self)

    def action_problems(self) -> None:
        """List what is wrong."""
        self.watchman.list_problems()

    async def action_next_attention(self) -> None:
        """Go to the next thing that wants the user."""
        await self.watchman.go_on()

    def action_jump(self) -> None:
        """Go where a letter is typed."""
        from oulipoly_tui.screens.jump import Jump  # noqa: PLC0415 - only when it is opened

        targets = [one for one in self._frame.focus_chain if one.region]
        self.push_screen(Jump(targets), lambda one: None if one is None else one.focus())

    def action_refresh_all(self) -> None:
        """Read every account."""
        self.order("refresh")

    def action_settings(self) -> None:
        """Open the settings."""
        self.order("settings")

    def action_next_theme(self) -> None:
        """Change the theme."""
        self.theme = theming.after(self.theme)
        self.say(f"theme {theming.label(self.theme)}")

    async def action_back(self) -> None:
        """Go back by one level."""
        if self._frame.current.leave():
            return
        if self._frame.area.zoomed:
            await self._frame.zoom()

    def action_leave(self) -> None:
        """Quit, and ask first where something would be lost."""
        reasons = [text for pane in self._frame.panes if (text := pane.reason_to_stay()) is not None]
        if not reasons:
            self.exit()
            return
        from oulipoly_tui.screens.question import Confirm  # noqa: PLC0415 - only when there is something to ask

        self.push_screen(Confirm("Quit?", "; ".join(reasons), "quit"), lambda yes: self.exit() if yes else None)

    def on_repl_wanted(self, message: ReplWanted) -> None:
        """Hand a wish for a REPL to the pane that has one."""
        if not self.has_pane("repl"):
            self.say("this version has no terminals yet: run the CLI itself, or send one prompt with p")
            return
        pane: Any = self._frame.find("repl")

        async def hand_over() -> None:
            await self._frame.turn_to("repl")
            repl: Any = pane or self._frame.find("repl")
            repl.begin(message.model, message.account, message.session)

        self.call_next(hand_over)

    def layout_state(self) -> dict[str, object]:
        """Return what shall be the same at the next start; after the end, what it was then."""
        return {**self._frame.state(), "theme": self.theme} if self._frame.is_running else self._left

    def exit(self, result: str | None = None, return_code: int = 0, message: Any | None = None) -> None:  # noqa: ANN401 - whatever Rich can print
        """End the app; its layout is taken while there still is one."""
        try:
            self._left = self.layout_state()
            self.watchman.close()
            self.stop_all_work()
            self._collector.end()
        finally:  # whatever fails: who wants to leave leaves
            super().exit(result, return_code, message)

    def has_pane(self, identity: str) -> bool:
        """Tell whether there is such a pane at all."""
        return identity in self._frame.entries

    def _tick(self) -> None:
        self._ticks += 1
        self._show_header()
        self.show_jobs()
        self.watchman.look()
        self._collector.look(getattr(self._driver, "read_at", 0.0))
        if self._ticks % _SNAPSHOT_EVERY == 0:
            self.take_snapshot()
        if self._ticks % _READ_EVERY == 0:
            self._read_old()

    def _read_old(self) -> None:
        if self.engine is not None and self.options.reads_quota and not self.options.read_only:
            self.work("read old", self.engine.quota.refresh_for_display, title="reading quota", can_stop=True)

    def _show_bars(self) -> None:
        if not is_standing(self._frame):
            return
        self._show_header()
        rows = self._frame.current.inner_keys()
        rows = self.works_now() if rows is None else rows
        self._frame.show_footer(footer.hints(rows, self.size.width, density=self.options.footer))

    def show_keys(self) -> None:
        """Show the keys that work now; for a pane in which that has changed without a key of its own."""
        self._show_bars()

    def show_jobs(self) -> None:
        """Show what its user waits for, once it takes long."""
        jobs = self.shown_jobs
        if not jobs:
            self._frame.show_jobs(())
            return
        from oulipoly_tui.view.frame.jobs import Job, jobs_line  # noqa: PLC0415 - nothing takes long at the start

        now, row = monotonic(), self.keys.find("frame.stop")
        told = [Job(one.title, timedelta(seconds=now - one.since), one.can_stop, one.asked.is_set()) for one in jobs]
        self._frame.show_jobs(jobs_line(told, self.size.width, "" if row is None else keymap.shown(row.keys)))

    def _show_header(self) -> None:
        marks = "read-only" if self.options.read_only else ""
        model = getattr(self._frame.current, "model", None)
        wants = len(self.watchman.wanted())
        line = header(self.snapshot, self._now(), self.size.width, model=model, marks=marks, wants=wants)
        self._frame.show_header(line)

    def say_failure(self, name: str, error: Exception) -> None:
        """Say what failed."""
        is_ours = not hasattr(error, "message")
        text = f"{name} failed: {type(error).__name__}: {error}" if is_ours else str(error.message)  # type: ignore[attr-defined]
        if is_ours:
            self.failures = (*self.failures[-_KEPT_FAILURES:], (text, True))
        self.say(text, severity="error")
