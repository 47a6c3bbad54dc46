"""What app.toml and the themes say, as values, and the words that they may say it with. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.records import Record, field

PROGRESS = ("auto", "always", "off")
PRESETS = ("default", "vim", "emacs")
THEME_COLOURS = (
    "primary",
    "secondary",
    "warning",
    "error",
    "success",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
)


class AppSettings(Record):
    """app.toml."""

    theme: str | None = None  # None: the app's own choice
    preset: str = "default"
    footer: str = "full"
    motion: str = "full"
    read_only: bool = False
    escape_leaves: bool = False  # Escape pressed twice in haste leads out of a terminal
    keys: Mapping[str, str] = field(default_factory=dict)  # id of a binding -> keys by comma, or "none"
    progress: str = "auto"  # whether the outer terminal is told that work is under way
    status: Mapping[str, str] = field(default_factory=dict)  # name -> template of a status line
    views: tuple[SavedView, ...] = ()  # of the list of sessions, in the file's order


class ThemeFile(Record):
    """A user's own theme."""

    name: str
    dark: bool
    colours: Mapping[str, str]  # by the names of THEME_COLOURS
