"""What is asked and ordered about the configuration's files: what is in them, what is wrong, and changing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.config import app_file
from oulipoly_engine.config.app_file import AppSettings, ThemeFile
from oulipoly_engine.config.problem import Level, Loaded, Problem
from oulipoly_engine.facade.home import Home

if TYPE_CHECKING:
    from oulipoly_engine.paths import Paths
    from oulipoly_engine.service.accounts.configuration import Configured
    from oulipoly_engine.service.accounts.settings import Section, Setting, Settings
    from oulipoly_engine.service.accounts.setup import SetUp

# ruff: noqa: PLC0415 - a checker, an editor and a first set-up: whoever asks for one of them needs none of the others

__all__ = [
    "AppSettings",
    "Configuration",
    "Level",
    "Loaded",
    "Problem",
    "Section",  # these three and SetUp are types alone
    "SetUp",
    "Setting",
    "Settings",
    "ThemeFile",
    "read_app",
    "read_themes",
]


class Configuration:
    """The configuration's files of one user."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def configured(self) -> Configured:
        """Return what the files say; an earlier reading stands in for a broken file."""
        return self._home.configured()

    def examine(self) -> None:
        """Look for what is wrong between the files too, missing programs included; the next snapshot has it."""
        self._home.examine()

    def app(self) -> Loaded[AppSettings]:
        """Return app.toml's settings and what is wrong with them."""
        return read_app(self._home.paths)

    @property
    def settings(self) -> Settings:
        """Return the files setting by setting, to be changed."""
        from oulipoly_engine.service.accounts.settings import Settings

        return Settings(self._home.paths, self._home.models_dir, self._home.read_only)

    def first_set_up(self) -> SetUp:
        """Return what a first configuration for the CLIs of this machine would be; nothing is written."""
        from oulipoly_engine.service.accounts.setup import propose

        return propose(self._home.paths)

    def write_set_up(self, proposed: SetUp) -> None:
        """Write a first configuration; what exists is never changed. Raises RequestRefused or ConfigInvalid."""
        from oulipoly_engine.service.accounts.setup import write_first

        self._home.refuse_if_read_only("write a configuration")
        write_first(self._home.paths, proposed)

    def take_set_up_back(self, written: SetUp) -> tuple[Path, ...]:
        """Delete what was written and is as it was; return what was changed since and stays."""
        from oulipoly_engine.service.accounts.setup import take_back

        self._home.refuse_if_read_only("delete a configuration")
        return take_back(written)


def read_app(paths: Paths) -> Loaded[AppSettings]:
    """Return app.toml's settings and what is wrong with them; for whoever has no engine yet."""
    return app_file.read(paths)


def read_themes(paths: Paths) -> Loaded[tuple[ThemeFile, ...]]:
    """Return the user's own themes and what is wrong with them; for whoever has no engine yet."""
    return app_file.read_themes(paths)
