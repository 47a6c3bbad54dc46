"""app.toml and themes/*.toml: how the full-screen app looks and which keys it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from oulipoly_engine.config import schema, toml_file
from oulipoly_engine.config.problem import Fault, KeyPath, Level, Loaded, Problem, shown
from oulipoly_engine.config.table import Key, Refused, Table, boolean, one_of, optional, text
from oulipoly_engine.paths import Paths

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


@dataclass(frozen=True, slots=True)
class AppSettings:
    """app.toml."""

    theme: str | None = None  # None: the app's own choice
    preset: str = "default"
    footer: str = "full"
    motion: str = "full"
    read_only: bool = False
    escape_leaves: bool = False  # Escape pressed twice in haste leads out of a terminal
    keys: Mapping[str, str] = field(default_factory=dict)  # id of a binding -> keys by comma, or "none"


@dataclass(frozen=True, slots=True)
class ThemeFile:
    """A user's own theme."""

    name: str
    dark: bool
    colours: Mapping[str, str]  # by the names of THEME_COLOURS


def _keys(value: object, at: KeyPath) -> Mapping[str, str]:
    if isinstance(value, dict) and all(isinstance(keys, str) for keys in value.values()):
        return dict(value)
    message = f'it must be a table of texts, `"pools.drain" = "ctrl+d"`, not {shown(value)}'
    raise Refused(Fault(at, message, "change it"))


class AppTable(Table):
    """The file."""

    theme = optional(text)
    preset = Key(one_of(*PRESETS), "default")
    footer = Key(one_of("full", "compact", "off"), "full")
    motion = Key(one_of("full", "reduced"), "full")
    read_only = Key(boolean, False)
    escape_leaves = Key(boolean, False)
    keys: Key[Mapping[str, str]] = Key(_keys, {})


class _ThemeTable(Table):
    dark = Key(boolean, True)
    primary = Key(text)
    secondary = optional(text)
    warning = optional(text)
    error = optional(text)
    success = optional(text)
    accent = optional(text)
    foreground = optional(text)
    background = optional(text)
    surface = optional(text)
    panel = optional(text)


def path_of(paths: Paths) -> Path:
    """Return where the app's settings lie."""
    return paths.config / "app.toml"


def read(paths: Paths) -> Loaded[AppSettings]:
    """Read app.toml; a file with an error counts as empty, whole, and every problem is a warning: the app must open."""
    file = toml_file.read(path_of(paths))
    if file.failure is not None:
        return Loaded(AppSettings(), (replace(file.failure, level=Level.WARNING),))
    table, faults = schema.check(AppTable, file.data)
    problems = tuple(replace(problem, level=Level.WARNING) for problem in file.problems(faults))
    if table is None:
        return Loaded(AppSettings(), problems)
    return Loaded(
        AppSettings(
            table.theme,
            table.preset,
            table.footer,
            table.motion,
            table.read_only,
            table.escape_leaves,
            table.keys,
        ),
        problems,
    )


def read_themes(paths: Paths) -> Loaded[tuple[ThemeFile, ...]]:
    """Read every file in the folder `themes`; one with an error is left out, and said as a warning."""
    folder = paths.config / "themes"
    found: list[ThemeFile] = []
    warnings: list[Problem] = []
    for path in sorted(folder.glob("*.toml")) if folder.is_dir() else ():
        file = toml_file.read(path)
        if file.failure is not None:
            warnings.append(replace(file.failure, level=Level.WARNING))
            continue
        table, faults = schema.check(_ThemeTable, file.data)
        warnings += [replace(problem, level=Level.WARNING) for problem in file.problems(faults)]
        if table is not None:
            colours = {name: value for name in THEME_COLOURS if (value := getattr(table, name)) is not None}
            found.append(ThemeFile(path.stem, table.dark, colours))
    return Loaded(tuple(found), tuple(warnings))
