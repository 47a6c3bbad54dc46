"""app.toml and themes/*.toml: how the full-screen app looks and which keys it takes; it opens whatever they say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oulipoly_engine.config.base.app_settings import AppSettings, CustomCommand, ThemeFile
from oulipoly_engine.config.base.problem import Fault, Level, Loaded, Problem
from oulipoly_engine.config.parse import settings_keys
from oulipoly_engine.config.schema.app import AppTable, CommandTable, ThemeTable, ViewTable
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.config.toml import json_file, toml_file
from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.records import replace
from oulipoly_engine.regular_files import read_regular

_READ_ONLY = re.compile(r"^\s*read_only\s*=(?!\s*false\b)", re.MULTILINE)


def parse(path: Path, raw: bytes | None) -> Loaded[AppSettings]:
    """Return app.toml's settings; what is wrong in it counts as not written, and every problem is a warning.

    But for `read_only`: who has written that, however badly, does not want anything to be changed.
    """
    file = toml_file.read(path, raw)
    if file.failure is not None:
        settings = AppSettings(read_only=_wants_read_only(path, raw))
        return Loaded(settings, _as_warnings([file.failure]))
    table, faults = check(AppTable, file.data)
    problems = _as_warnings(file.problems(faults))
    wrong = {fault.path[0] for fault in faults if fault.path and fault.level is Level.ERROR}
    if table is None:
        table, _ = check(AppTable, {key: value for key, value in file.data.items() if key not in wrong})
    if table is None:
        return Loaded(AppSettings(read_only="read_only" in wrong), problems)
    views, faults = _views(table.views)
    commands, wrong_commands = _commands(table.commands)
    values = {**vars(table), "views": views, "commands": commands}
    values["read_only"] = table.read_only or "read_only" in wrong
    settings = settings_keys.from_file(AppSettings, values)
    return Loaded(settings, (*problems, *_as_warnings(file.problems((*faults, *wrong_commands)))))


def parse_theme(path: Path, raw: bytes | None) -> Loaded[ThemeFile | None]:
    """Return the theme of a file, TOML or JSON by its name, None where it has an error; every problem is a warning."""
    file = json_file.read(path, raw)
    if file.failure is not None:
        return Loaded(None, _as_warnings([file.failure]))
    data = file.data
    if "colors" in data:
        data = _read_colours(data)
    elif path.suffix == ".json":
        data = {key: value for key, value in data.items() if key not in _SAID_ELSEWHERE}
    table, faults = check(ThemeTable, data)
    problems = _as_warnings(file.problems(faults))
    if table is None:
        return Loaded(None, problems)
    colours = {name: value for name, value in table if name != "dark" and value is not None}
    return Loaded(ThemeFile(path.stem, table.dark, colours), problems)


_SAID_ELSEWHERE = ("name", "$schema")  # by the file's own name, and for editors

# Keys of ours by those that themes of pi and oxi have. Source: pi's theme-schema.json, seen 2026-11.
_COLOURS = {
    "accent": "primary",
    "borderAccent": "accent",
    "text": "foreground",
    "success": "success",
    "warning": "warning",
    "error": "error",
}


def _read_colours(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a theme of pi or oxi: `colors`, which may name those of `vars`; what is not ours is left."""
    colours = data["colors"]
    variables = data.get("vars")
    if not isinstance(colours, Mapping):
        return {"primary": colours}
    known = variables if isinstance(variables, Mapping) else {}
    values = {ours: known.get(colours[key], colours[key]) for key, ours in _COLOURS.items() if colours.get(key)}
    return {key: value for key, value in values.items() if isinstance(value, str)}


def _as_warnings(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(replace(problem, level=Level.WARNING) for problem in problems)


def _wants_read_only(path: Path, raw: bytes | None) -> bool:
    try:
        known = read_regular(path) if raw is None else raw
    except OSError:
        return False
    return _READ_ONLY.search(known.decode("utf-8", "replace")) is not None


def _commands(tables: Sequence[object]) -> tuple[tuple[CustomCommand, ...], tuple[Fault, ...]]:
    """Return the commands that can be used, and what is wrong with the others."""
    found: list[CustomCommand] = []
    faults: list[Fault] = []
    for place, raw in enumerate(tables):
        table, wrong = check(CommandTable, raw, ("commands", place))
        faults += wrong
        if table is not None:
            panes = tuple(table.panes)
            found.append(CustomCommand(table.name, table.words, table.key, panes, table.run, table.confirm, place))
    return tuple(found), tuple(faults)


def _views(tables: Mapping[str, object]) -> tuple[tuple[SavedView, ...], tuple[Fault, ...]]:
    """Return the views that can be used, and what is wrong with the others."""
    found: list[SavedView] = []
    faults: list[Fault] = []
    for name, raw in tables.items():
        table, wrong = check(ViewTable, raw, ("views", name))
        faults += wrong
        if table is not None:
            found.append(SavedView(name, table.filter, table.group, Sort(table.sort), table.reversed))
    return tuple(found), tuple(faults)
