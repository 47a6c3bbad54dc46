"""The full-screen app: its parts, and what Textual asks of it. What is drawn is the frame's and the panes' business.

Each part is a small class with one purpose. They know each other and `AppInterface`, never this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.screen import Screen

from oulipoly_tui.attention import Alerts
from oulipoly_tui.bars import Bars
from oulipoly_tui.base.app_interface import AppInterface, Options
from oulipoly_tui.base.frame import Frame
from oulipoly_tui.base.gc_tuning import (
    QuietCollector,
    empty_large_caches,
    let_removed_widgets_go,
    let_strips_go,
    share_heap,
)
from oulipoly_tui.base.inbox import Requests
from oulipoly_tui.base.messages import EventArrived, Job, KeysChanged, MenuWanted, ReplWanted, Wish, WorkDone
from oulipoly_tui.base.table import PANES, PaneEntry
from oulipoly_tui.bridge import EngineBridge
from oulipoly_tui.commands import frame_keys
from oulipoly_tui.driver import driver, signals
from oulipoly_tui.driver.typeahead import KeysInTurn
from oulipoly_tui.jobs import Jobs
from oulipoly_tui.key_actions import KeyActions
from oulipoly_tui.live_settings import LiveSettings, resolve_keys
from oulipoly_tui.toasts import Toasts
from oulipoly_tui.widgets import theming
from oulipoly_tui.widgets.bars import HintBar
from oulipoly_tui.widgets.lines import VirtualList

if TYPE_CHECKING:
    from datetime import datetime

    from oulipoly_engine.facade.engine import Engine
    from oulipoly_tui.actions.action import Action
    from oulipoly_tui.keys.keymap import Reach

_TICK_S = 1.0
_SNAPSHOT_EVERY = 15  # ticks: windows reset and failures age without anybody's writing
_READ_EVERY = 5  # ticks between two looks for accounts that are due to be read


class AgentsApp(KeysInTurn, AppInterface, inherit_bindings=False):
    """The app. Its result says what to do after it: "demo", or nothing."""

    CSS_PATH = "app.tcss"
    TITLE = "agents"
    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = False  # Textual would take ctrl+p for its own; ours is an action of the registry

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
        self.keys = resolve_keys(self.options)
        self.now = now
        self._frame = Frame(entries, self.options.saved, lambda key, pane: self.key_actions.take_unbound(key, pane))
        self.toasts = Toasts(self)
        self.jobs = Jobs(self, self.toasts, self._show_jobs)
        self.requests = Requests(self)
        self.exports = {}
        self.alerts = Alerts(self, self.toasts, self.jobs)
        self.bars = Bars(self, self.alerts, self.jobs)
        self.bridge = EngineBridge(self, open_engine, self.alerts)
        self.key_actions = KeyActions(self, self.alerts, self.jobs)
        self.live_settings = LiveSettings(self, read_options)
        self._collector = QuietCollector(share_heap())
        self._ticks = 0
        self._left: dict[str, object] = {}
        self.keep: Callable[[Mapping[str, object]], object] = lambda _: None  # writes a layout down
        let_strips_go()
        let_removed_widgets_go()
        if self.options.reduced_motion:
            self.animation_level = "none"
        theming.register(self, self.options.themes)
        self.theme = theming.choose(self.options.theme, self.available_themes)
        self.set_keymap(dict(self.keys.changed))

    # ---- what panes, screens and commands ask for

    @property
    def frame(self) -> Frame:
        """Return the frame with its panes."""
        return self._frame

    @property
    def busy(self) -> bool:
        """Tell whether any work is under way."""
        return self.jobs.are_under_way

    def say(self, text: str, *, severity: str = "information", is_listed: bool = False) -> None:
        """Show one line for some seconds; see `Toasts.say`."""
        self.toasts.say(text, severity=severity, is_listed=is_listed)

    def work(  # noqa: PLR0913, RUF100 - a call reads as a sentence
        self,
        name: str,
        function: Callable[[], Any],
        act: Callable[[Any], object] | None = None,
        failed: Callable[[Exception], object] | None = None,
        *,
        title: str = "",
        can_stop: bool = False,
    ) -> Job:
        """Run what blocks in a thread of its own; see `Jobs.start`."""
        return self.jobs.start(name, function, act, failed, title=title, can_stop=can_stop)

    def work_newest(self, name: str, begin: Callable[[], object]) -> None:
        """Begin work of a name when no such work is under way, the newest wish alone; see `Jobs.start_newest`."""
        self.jobs.start_newest(name, begin)

    def order(self, name: str, arguments: Sequence[str] = ()) -> None:
        """Run a command by its name; what is wrong with it is said in a line."""
        from oulipoly_tui.orders import line  # noqa: PLC0415 - shlex and difflib, not for the first frame

        reason = line.run(self, name, list(arguments))
        if reason is not None:
            self.say(reason, severity="warning")

    def take_snapshot(self) -> None:
        """Ask for a new snapshot."""
        self.bridge.take_snapshot()

    def has_pane(self, identity: str) -> bool:
        """Tell whether there is such a pane at all."""
        return identity in self._frame.entries

    def works_now(self) -> tuple[Action, ...]:
        """Return what has a key that does something now, the current pane's first."""
        return self.key_actions.works_now()

    def keys_here(self) -> tuple[tuple[Action, ...], Reach]:
        """Return what has a key here, the current pane's first, and what tells which keys each has now."""
        return self.key_actions.keys_here()

    def reason_against(self, action: Action) -> str | None:
        """Say why an action is not possible now, as a sentence; None: it is."""
        return self.key_actions.reason_against(action)

    def show_keys(self) -> None:
        """Show the keys that work now; for a pane in which that has changed without a key of its own."""
        self.bars.show_soon()

    def layout_state(self) -> dict[str, object]:
        """Return what shall be the same at the next start; after the end, what it was then."""
        return {**self._frame.state(), "theme": self.theme} if self._frame.is_running else self._left

    def keep_layout(self) -> None:
        """Write the layout down now: an app that is killed does not come to its end."""
        if self._frame.is_running and not self.options.read_only:
            self.keep(self.layout_state())

    # ---- what Textual asks for

    def get_default_screen(self) -> Screen[None]:
        """Return the frame."""
        return self._frame

    def get_css_variables(self) -> dict[str, str]:
        """Return the theme's variables, with those that are ours alone."""
        return theming.with_own(super().get_css_variables())

    async def action_press(self, identity: str) -> None:
        """Do what an action's key does, or say why it does nothing now."""
        await self.key_actions.press(identity)

    async def action_choose(self, identity: str) -> None:
        """Do what was chosen in the help, or go to where it is done."""
        await self.key_actions.choose(identity)

    def action_menu(self) -> None:
        """Offer what can be done with the row under the cursor."""
        frame_keys.open_menu(self)

    def push_screen(self, *given: Any, **options: Any) -> Any:  # noqa: ANN401 - as Textual has it
        """Open a question, and let the footer show its keys."""
        opened = super().push_screen(*given, **options)
        self.bars.show_soon()
        return opened

    def pop_screen(self) -> AwaitComplete:
        """Close it, and let the footer show the keys of what lay beneath."""
        closed = super().pop_screen()
        self.bars.show_soon()
        return closed

    def say_too_soon(self) -> None:
        """Say that a key did nothing, since a dialog has just closed by itself."""
        self.say("The dialog had just closed by itself: that key did nothing")

    def exit(self, result: str | None = None, return_code: int = 0, message: Any | None = None) -> None:  # noqa: ANN401 - whatever Rich can print
        """End the app; its layout is taken while there still is one."""
        try:
            self._left = self.layout_state()
            self.alerts.close()
            self.jobs.stop_all()
            self._collector.end()
        finally:  # whatever fails: who wants to leave leaves
            super().exit(result, return_code, message)

    def on_mount(self) -> None:
        """Show the frame at once; everything else comes after its first paint."""
        self.bars.show()
        self.call_after_refresh(self._begin)
        if not self.is_headless:
            signals.give_the_terminal_back(self)

    def on_resize(self) -> None:
        """Fit the bars."""
        self.bars.show_soon()

    def on_descendant_focus(self) -> None:
        """Show the keys of what has the focus."""
        self.bars.show_soon()

    @on(VirtualList.Highlighted)
    def _row_changed(self) -> None:
        """Show the keys of the row under the cursor."""
        self.bars.show_soon()

    @on(HintBar.Pressed)
    def _hint_pressed(self, message: HintBar.Pressed) -> None:
        """Do what was clicked."""
        self.key_actions.press_hint(message.identity)

    @on(Wish)
    def _run_wish(self, message: Wish) -> None:
        """Run a command that a pane asked for."""
        self.order(message.name, message.arguments)

    @on(WorkDone)
    def _work_done(self, message: WorkDone) -> None:
        """Take a result, or say what failed."""
        self.jobs.take_result(message)
        if message.job.title:
            self.bars.show_jobs()
        self.bars.show_soon()  # what came of it may let other keys work

    @on(EventArrived)
    def _event_arrived(self, message: EventArrived) -> None:
        """Pass an event on, and redraw what it may have changed."""
        self.bridge.take_event(message.event)
        if type(message.event).__name__ == "ConfigurationChanged":
            self.live_settings.read()
        if type(message.event).__name__ == "StateChanged":
            self.requests.look_soon()
        self.bars.show_soon()

    @on(KeysChanged)
    def _keys_changed(self, message: KeysChanged) -> None:
        """Show the keys that work now, where they are those of the pane that has the keys."""
        if message.pane == self._frame.current.id:
            self.show_keys()

    @on(MenuWanted)
    async def _menu_wanted(self, message: MenuWanted) -> None:
        """Turn to a pane, and offer what can be done with the row under its cursor."""
        await self._frame.turn_to(message.pane)
        self.action_menu()

    @on(ReplWanted)
    def _repl_wanted(self, message: ReplWanted) -> None:
        """Hand a wish for a REPL to the pane that has one."""
        if not self.has_pane("repl"):
            self.say("This version has no terminals yet: run the CLI itself, or send one prompt with p")
            return

        async def hand_over() -> None:
            await self._frame.turn_to("repl")
            repl: Any = self._frame.find("repl")
            repl.begin(message.model, message.account, message.session)

        self.call_next(hand_over)

    def _begin(self) -> None:
        self.bridge.open()
        self._collector.begin()
        self.live_settings.warn()
        self.set_interval(_TICK_S, self._tick)

    def _tick(self) -> None:
        if not self.is_running:  # it ends, and its parts are going
            return
        self._ticks += 1
        self.bars.show_header()
        self.bars.show_jobs()
        self.alerts.look()
        self.requests.look()
        empty_large_caches()
        self._collector.look(getattr(self._driver, "read_at", 0.0))
        if self._ticks % _SNAPSHOT_EVERY == 0:
            self.take_snapshot()
        if self._ticks % _READ_EVERY == 0:
            self.bridge.read_due_quota()
            self.bridge.prune_daily()
            self.bridge.start_waiting()

    def _show_jobs(self) -> None:
        self.bars.show_jobs()
