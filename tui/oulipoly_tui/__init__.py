"""The full-screen app. Imports the engine; the engine never imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oulipoly_engine.facade.configuration import AppSettings, Fault, ThemeFile

_NONE = "--no-extensions"
APP_OPTIONS = ("--linear", "--read-only", "--no-anim")  # the headless command knows them too, to say what they exclude


def split_settings(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command line without what `--set` and `--no-extensions` give at its beginning, and that."""
    own = [*arguments]
    settings: list[str] = []
    while own and (own[0].startswith("--set=") or own[0] == _NONE or (own[0] == "--set" and len(own) > 1)):
        word = own.pop(0)
        if word == _NONE:
            settings.append("extensions_enabled=false")
        else:
            settings.append(own.pop(0) if word == "--set" else word.partition("=")[2])
    return own, settings


def find_app_faults(settings: AppSettings, themes: Sequence[ThemeFile]) -> Iterable[tuple[str, Fault]]:
    """Return what is wrong in app.toml and the themes beyond their form; for `Surroundings.find_app_faults`."""
    from oulipoly_tui.base import own_files  # noqa: PLC0415 - the table of actions, only when files are checked

    return own_files.find_faults(settings, themes)
