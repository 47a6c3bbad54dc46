"""Commands of the frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_tui import theming
from oulipoly_tui.actions.registry import Argument, Command

if TYPE_CHECKING:
    from pathlib import Path

    from oulipoly_engine.facade.configuration import SetUp
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.app import AgentsApp


def accounts(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the accounts' names."""
    return tuple(view.name for view in snapshot.accounts)


def models(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the models' names."""
    return tuple(view.model.name for view in snapshot.pools)


def _theme(app: AgentsApp, arguments: list[str]) -> str | None:
    chosen = theming.choose(arguments[0], app.available_themes)
    if theming.label(chosen) != arguments[0] and chosen != arguments[0]:
        return f"there is no theme {arguments[0]!r}"
    app.theme = chosen
    return None


def _quit(app: AgentsApp, _arguments: list[str]) -> None:
    app.action_leave()


def _demo(app: AgentsApp, _arguments: list[str]) -> None:
    app.exit("demo")


def _set_up(app: AgentsApp, _arguments: list[str]) -> None:
    def arrived(found: SetUp) -> None:
        from oulipoly_tui.screens.setup import FirstSetUp  # noqa: PLC0415 - only when it is opened

        app.push_screen(FirstSetUp(found))

    if app.engine is not None:
        app.work("set-up", app.engine.configuration.first_set_up, arrived)


def _take_set_up_back(app: AgentsApp, _arguments: list[str]) -> str | None:
    found, engine = app.set_up, app.engine
    if found is None or engine is None:
        return "nothing was set up since this app was started: delete the files themselves"

    def gone(kept: tuple[Path, ...]) -> None:
        app.set_up = None
        stays = f", but {', '.join(map(str, kept))} was changed since and stays" if kept else ""
        app.say(f"the set-up is taken back{stays}", severity="warning" if kept else "information")
        app.take_snapshot()

    app.work("set-up", lambda: engine.configuration.take_set_up_back(found), gone)
    return None


def _screenshot(app: AgentsApp, arguments: list[str]) -> None:
    app.say(f"saved {app.save_screenshot(arguments[0] if arguments else None)}")


COMMANDS = (
    Command(
        "theme",
        "change the colours",
        _theme,
        (Argument("name", lambda _: (*map(theming.label, theming.ORDER),)),),
        needs_engine=False,
    ),
    Command("demo", "leave this world for the demo's, with made-up accounts", _demo, needs_engine=False),
    Command("setup", "set up the CLIs of this machine; shows everything before it is written", _set_up, writes=True),
    Command("setup undo", "delete what the set-up has written", _take_set_up_back, writes=True),
    Command("screenshot", "save what is on the screen as SVG", _screenshot, (Argument("file", is_optional=True),)),
    Command("quit", "leave the app", _quit, needs_engine=False),
)
