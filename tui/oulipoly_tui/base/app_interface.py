"""What panes, screens, commands and the app's own parts may ask of the app. Imports none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from oulipoly_engine.records import Record, field
from oulipoly_tui.driver.screen_text import CleanApp

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from oulipoly_engine.facade.configuration import CustomCommand
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.actions.action import Action
    from oulipoly_tui.base.frame import Frame
    from oulipoly_tui.base.inbox import Requests
    from oulipoly_tui.base.messages import Job
    from oulipoly_tui.keys.keymap import Keymap, Reach

SET_UP = "set-up"  # the name of the screen of a set-up with an agent, which runs on while it is not shown


class Options(Record):
    """How the app is started."""

    theme: str | None = None
    preset: str = "default"
    own_keys: Mapping[str, str] = field(default_factory=dict)
    commands: Sequence[CustomCommand] = ()  # the user's own
    footer: str = "full"
    reduced_motion: bool = False
    read_only: bool = False
    reads_quota: bool = True  # read accounts whose reading has become too old to show
    saved: Mapping[str, object] = field(default_factory=dict)  # the layout of the last time
    themes: Sequence[Any] = ()  # the user's own, as Textual's
    escape_leaves: bool = False  # so does Escape pressed twice in haste
    warnings: Sequence[str] = ()  # what is wrong in the app's own files
    progress: str = "auto"  # whether the outer terminal is told of long work: "auto", "always" or "off"


class AppInterface(CleanApp[str]):
    """The app, as what lies below it knows it."""

    options: Options
    keys: Keymap
    now: Callable[[], datetime]
    engine: Engine | None = None  # once it is open
    snapshot: Snapshot | None = None  # the latest
    requests: Requests  # of live sessions
    live_settings: Any  # LiveSettings, which stand on this
    exports: dict[str, Path]  # by chain: where a session was last written without loss, in this run

    @property
    def frame(self) -> Frame:
        """Return the frame with its panes."""
        raise NotImplementedError

    @property
    def has_set_up(self) -> bool:
        """Tell whether a set-up with an agent runs here, or has ended without being closed."""
        return self.is_screen_installed(SET_UP)

    @property
    def has_keys_under_way(self) -> bool:
        """Tell whether a key is being done, or waits for that."""
        raise NotImplementedError

    def say(self, text: str, *, severity: str = "information", is_listed: bool = False) -> None:
        """Show one line for some seconds; see `Toasts.say`."""
        raise NotImplementedError

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
        raise NotImplementedError

    def work_newest(self, name: str, begin: Callable[[], object]) -> None:
        """Begin work of a name when no such work is under way, the newest wish alone; see `Jobs.start_newest`."""
        raise NotImplementedError

    def order(self, name: str, arguments: Sequence[str] = ()) -> None:
        """Run a command by its name; what is wrong with it is said in a line."""
        raise NotImplementedError

    def take_snapshot(self) -> None:
        """Ask for a new snapshot."""
        raise NotImplementedError

    def keep_layout(self) -> None:
        """Write down how the screen is laid out, for the next start."""
        raise NotImplementedError

    def has_pane(self, identity: str) -> bool:
        """Tell whether there is such a pane at all."""
        raise NotImplementedError

    def works_now(self) -> tuple[Action, ...]:
        """Return what has a key that does something now, the current pane's first."""
        raise NotImplementedError

    def keys_here(self) -> tuple[tuple[Action, ...], Reach]:
        """Return what has a key here, the current pane's first, and what tells which keys each has now."""
        raise NotImplementedError

    def reason_against(self, action: Action) -> str | None:
        """Say why an action is not possible now, as a sentence; None: it is."""
        raise NotImplementedError

    def show_keys(self) -> None:
        """Show the keys that work now."""
        raise NotImplementedError

    async def action_choose(self, identity: str) -> None:
        """Do what was chosen in the help, or go to where it is done."""
        raise NotImplementedError

    async def action_press(self, identity: str) -> None:
        """Do what an action's key does, or say why it does nothing now."""
        raise NotImplementedError


class _InApp(Protocol):
    """A pane, a screen, a widget, or a part that one of them is made of."""

    @property
    def app(self) -> object: ...


def app_of(part: _InApp) -> AppInterface:
    """Return the app that a part of ours is in."""
    return cast("AppInterface", part.app)  # ours are in no other; Textual knows it as any app


def engine_of(app: AppInterface) -> Engine:
    """Return the engine of an app that has opened it. Raises RuntimeError before."""
    if app.engine is None:
        raise RuntimeError("asked before the engine was open")  # the `:` line and keys refuse before it comes to this
    return app.engine
