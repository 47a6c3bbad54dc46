"""The rules that single settings are under; import it deferred, it brings pydantic (100 ms)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.config.base.problem import Fault, KeyPath, Level
from oulipoly_engine.config.schema.accounts import AccountTable
from oulipoly_engine.config.schema.app import AppTable, CommandTable
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.config.schema.fields import Table
from oulipoly_engine.config.schema.models import MemberTable, ModelTable
from oulipoly_engine.config.schema.rules import TRUTH, Kind, Rule, list_rules
from oulipoly_engine.config.schema.settings import SettingsTable
from oulipoly_engine.config.toml.toml_file import TomlFile
from oulipoly_engine.paths import PROJECT_FOLDER

__all__ = [
    "TRUTH",
    "AccountTable",
    "AppTable",
    "CommandTable",
    "Kind",
    "MemberTable",
    "ModelTable",
    "Rule",
    "SettingsTable",
    "list_rules",
]


def members_rule(key: str) -> Rule:
    """Return what the schema says of a pool's accounts, as a list of their names."""
    return Rule(key, ModelTable.model_fields[key].description or "", None, "list", names="accounts")


def find_slip(file: TomlFile, place: KeyPath) -> str | None:
    """Say what is wrong with the value at a place of a file."""
    own = [fault for fault in _errors(file.path, file.data, place) if fault.path[: len(place)] == place]
    return _first(own)


def find_new_slip(file: TomlFile, place: KeyPath, value: object) -> str | None:
    """Say what a new value would make wrong, there or around it. value: None takes the setting away."""
    faults = _errors(file.path, _with(file.data, place, value), place)
    own = [fault for fault in faults if fault.path[: len(place)] == place]
    if not own:
        known = {fault.message for fault in _errors(file.path, file.data, place)}
        own = [fault for fault in faults if fault.message not in known]
    return _first(own)


def find_command_slip(table: Mapping[str, object]) -> str | None:
    """Say what is wrong with one of the user's own commands, a whole table."""
    return _first([fault for fault in check(CommandTable, table, ())[1] if fault.level is Level.ERROR])


def _errors(path: Path, data: Mapping[str, Any], place: KeyPath) -> list[Fault]:
    table, raw, at = _owner(path, data, place)
    return [fault for fault in check(table, raw, at)[1] if fault.level is Level.ERROR]


def _first(faults: list[Fault]) -> str | None:
    return f"{faults[0].message}; {faults[0].fix}" if faults else None


def _owner(path: Path, data: Mapping[str, Any], place: KeyPath) -> tuple[type[Table], object, KeyPath]:
    """Return the table of rules that a place of a file is under, its values and where they stand."""
    if path.name == "app.toml":
        # Each command is looked at alone: the file's own table knows nothing of what is in them.
        if place[0] == "commands" and len(place) > 1:
            return CommandTable, data["commands"][place[1]], place[:2]
        return AppTable, data, ()
    if isinstance(data.get("providers"), list) or path.parent.name == "models":
        return ModelTable, data, ()
    if path.name == "config.toml":
        return SettingsTable, data, ()
    if path.parent.name == PROJECT_FOLDER:
        return AppTable if place[0] in AppTable.model_fields else SettingsTable, data, ()
    return AccountTable, data.get(str(place[0]), {}), (place[0],)


def _with(data: Mapping[str, Any], path: KeyPath, value: object) -> dict[str, Any]:
    """Return a copy of values with one of them set, or taken away where it is None."""
    changed: dict[str, Any] = copy.deepcopy(dict(data))
    table: Any = changed
    for part in path[:-1]:
        table = table.setdefault(part, {}) if isinstance(table, dict) else table[part]
    if value is None:
        table.pop(path[-1], None)
    else:
        table[path[-1]] = value
    return changed
