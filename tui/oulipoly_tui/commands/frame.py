"""Commands of the frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.commands import frame_keys
from oulipoly_tui.widgets import theming

if TYPE_CHECKING:
    from oulipoly_tui.base.app_interface import AppInterface


def choose_theme(app: AppInterface, arguments: list[str]) -> str | None:
    """Draw with a theme from now on."""
    chosen = theming.choose(arguments[0], app.available_themes)
    if theming.label(chosen) != arguments[0] and chosen != arguments[0]:
        return f"there is no theme {arguments[0]!r}"
    app.theme = chosen
    return None


def open_settings(app: AppInterface, _arguments: list[str]) -> None:
    """Show the settings."""
    from oulipoly_tui.screens.settings.settings import SettingsScreen  # noqa: PLC0415 - only when it is opened

    app.push_screen(SettingsScreen(engine_of(app).configuration.settings))


def open_doctor(app: AppInterface, _arguments: list[str]) -> None:
    """Look at everything, and show what is wrong."""
    from oulipoly_tui.screens.doctor import DoctorScreen  # noqa: PLC0415 - only when it is opened

    app.push_screen(DoctorScreen())


def open_log(app: AppInterface, _arguments: list[str]) -> None:
    """Show what the app has run."""
    from oulipoly_tui.screens.command_log import CommandLogScreen  # noqa: PLC0415 - only when it is opened

    app.push_screen(CommandLogScreen())


def leave(app: AppInterface, _arguments: list[str]) -> None:
    """Quit, and ask first where something would be lost."""
    frame_keys.leave(app)


def save_screenshot(app: AppInterface, arguments: list[str]) -> None:
    """Save what is on the screen."""
    app.say(f"Saved {app.save_screenshot(arguments[0] if arguments else None)}")
