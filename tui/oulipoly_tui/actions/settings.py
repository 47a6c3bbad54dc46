"""The command that opens the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_tui.actions.registry import Command

if TYPE_CHECKING:
    from oulipoly_tui.app import AgentsApp


def _settings(app: AgentsApp, _arguments: list[str]) -> None:
    from oulipoly_tui.screens.settings import SettingsScreen  # noqa: PLC0415 - only when it is opened

    assert app.engine is not None  # noqa: S101 - the command needs an engine
    app.push_screen(SettingsScreen(app.engine.configuration.settings))


COMMANDS = (
    Command("settings", "show and change settings: the app's, the accounts', the models', the keys", _settings),
)
