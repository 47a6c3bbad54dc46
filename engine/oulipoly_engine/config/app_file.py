"""app.toml and themes/*.toml: how the full-screen app looks and which keys it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.config import schema, toml_file
from oulipoly_engine.config.problem import Fault, KeyPath, Level, Loaded, Problem, shown
from oulipoly_engine.config.table import Key, Reader, Refused, Table, boolean, one_of, optional, text
from oulipoly_engine.core.sessions.saved_view import GROUPINGS, SavedView
from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record, field, replace

_READ_ONLY = re.compile(r"^\s*read_only\s*=(?!\s*false\b)", re.MULTILINE)
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


def _texts(example: str) -> Reader[Mapping[str, str]]:
    """Return a reader of a table of texts."""

    def read(value: object, at: KeyPath) -> Mapping[str, str]:
        if isinstance(value, dict) and all(isinstance(one, str) for one in value.values()):
            return dict(value)
        message = f"it must be a table of texts, `{example}`, not {shown(value)}"
        raise Refused(Fault(at, message, "change it"))

    return read


def _tables(value: object, at: KeyPath) -> Mapping[str, object]:
    """Take a table of tables; each is looked at alone, so that a slip in one costs that one and not the file."""
    if isinstance(value, dict) and all(isinstance(one, dict) for one in value.values()):
        return dict(value)
    message = f"it must be tables with names, `[views.mine]`, not {shown(value)}"
    raise Refused(Fault(at, message, "change it"))


class AppTable(Table):
    """The file."""

    theme = optional(text)
    preset = Key(one_of(*PRESETS), "default")
    footer = Key(one_of("full", "compact", "off"), "full")
    motion = Key(one_of("full", "reduced"), "full")
    read_only = Key(boolean, False)
    escape_leaves = Key(boolean, False)
    keys: Key[Mapping[str, str]] = Key(_texts('"pools.drain" = "ctrl+d"'), {})
    progress = Key(one_of(*PROGRESS), "auto")
    status: Key[Mapping[str, str]] = Key(_texts('tmux = "{worst}"'), {})
    views: Key[Mapping[str, object]] = Key(_tables, {})


class ViewTable(Table):
    """`[views.NAME]`."""

    filter = Key(text, "")
    group = Key(one_of(*GROUPINGS), GROUPINGS[0])
    sort = Key(one_of(*map(str, Sort)), str(Sort.USED))
    reversed = Key(boolean, False)


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
    """Read app.toml; what is wrong in it counts as not written, and every problem is a warning: the app must open.

    But for `read_only`: who has written that, however badly, does not want anything to be changed.
    """
    path = path_of(paths)
    file = toml_file.read(path)
    if file.failure is not None:
        settings = AppSettings(read_only=_wants_read_only(path))
        return Loaded(settings, (replace(file.failure, level=Level.WARNING),))
    table, faults = schema.check(AppTable, file.data)
    problems = tuple(replace(problem, level=Level.WARNING) for problem in file.problems(faults))
    wrong = {fault.path[0] for fault in faults if fault.path and fault.level is Level.ERROR}
    if table is None:
        table, _ = schema.check(AppTable, {key: value for key, value in file.data.items() if key not in wrong})
    if table is None:
        return Loaded(AppSettings(read_only="read_only" in wrong), problems)
    views, faults = _views(table.views)
    problems += tuple(replace(problem, level=Level.WARNING) for problem in file.problems(faults))
    return Loaded(
        AppSettings(
            table.theme,
            table.preset,
            table.footer,
            table.motion,
            table.read_only or "read_only" in wrong,
            table.escape_leaves,
            table.keys,
            table.progress,
            table.status,
            views,
        ),
        problems,
    )


def _wants_read_only(path: Path) -> bool:
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return False
    return _READ_ONLY.search(text) is not None


def _views(tables: Mapping[str, object]) -> tuple[tuple[SavedView, ...], tuple[Fault, ...]]:
    """Return the views that can be used, and what is wrong with the others."""
    found: list[SavedView] = []
    faults: list[Fault] = []
    for name, raw in tables.items():
        table, wrong = schema.check(ViewTable, raw, ("views", name))
        faults += wrong
        if table is not None:
            found.append(SavedView(name, table.filter, table.group, Sort(table.sort), table.reversed))
    return tuple(found), tuple(faults)


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
