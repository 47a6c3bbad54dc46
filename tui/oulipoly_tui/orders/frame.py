"""Commands of the frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_tui import theming
from oulipoly_tui.commands import Argument, Command

if TYPE_CHECKING:
    from oulipoly_engine.engine import Snapshot
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
    Command("screenshot", "save what is on the screen as SVG", _screenshot, (Argument("file", is_optional=True),)),
    Command("quit", "leave the app", _quit, needs_engine=False),
)
