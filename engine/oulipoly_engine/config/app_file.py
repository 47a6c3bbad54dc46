"""app.toml and themes/*.toml: how the full-screen app looks and which keys it takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.config import snapshot
from oulipoly_engine.config.problem import Loaded, Problem
from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.paths import Paths
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
    views: tuple[SavedView, ...] = ()  # of the list of conversations, in the file's order


class ThemeFile(Record):
    """A user's own theme."""

    name: str
    dark: bool
    colours: Mapping[str, str]  # by the names of THEME_COLOURS


def path_of(paths: Paths) -> Path:
    """Return where the app's settings lie."""
    return paths.config / "app.toml"


def read(paths: Paths) -> Loaded[AppSettings]:
    """Return app.toml's settings; what is wrong in it counts as not written, and every problem is a warning.

    But for `read_only`: who has written that, however badly, does not want anything to be changed.
    """
    path = path_of(paths)

    def parse(raw: bytes | None) -> Loaded[AppSettings]:
        from oulipoly_engine.config.parse import app  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return app.parse(path, raw)

    return snapshot.read(paths, path, "app", Loaded[AppSettings], parse, absent=Loaded(AppSettings()))


def read_themes(paths: Paths) -> Loaded[tuple[ThemeFile, ...]]:
    """Return every theme of the folder `themes`; one with an error is left out, and said as a warning."""
    folder = paths.config / "themes"
    themes: list[ThemeFile] = []
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.toml")) if folder.is_dir() else ():
        loaded = _read_theme(paths, path)
        problems += loaded.problems
        if loaded.value is not None:
            themes.append(loaded.value)
    return Loaded(tuple(themes), tuple(problems))


def _read_theme(paths: Paths, path: Path) -> Loaded[ThemeFile | None]:
    def parse(raw: bytes | None) -> Loaded[ThemeFile | None]:
        from oulipoly_engine.config.parse import app  # noqa: PLC0415 - as in `read`

        return app.parse_theme(path, raw)

    return snapshot.read(paths, path, "theme", Loaded[ThemeFile | None], parse)
