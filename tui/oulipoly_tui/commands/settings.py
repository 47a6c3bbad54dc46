"""The command that opens the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oulipoly_tui.app_interface import AppInterface


def open_settings(app: AppInterface, _arguments: list[str]) -> None:
    """Show the settings."""
    from oulipoly_tui.screens.settings import SettingsScreen  # noqa: PLC0415 - only when it is opened

    assert app.engine is not None  # noqa: S101 - the command needs an engine
    app.push_screen(SettingsScreen(app.engine.configuration.settings))
