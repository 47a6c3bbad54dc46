"""Backups of accounts, their scripts and their pools, without secrets; and bringing them in beside what is there.

A backup is one TOML document, `[accounts.NAME]`, `[scripts.NAME]` and `[pools.NAME]`, whose tables are those of
providers.toml, sessions.toml and the models' files. A value with a secret in it is left out, and said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.config import load
from oulipoly_engine.config.base import mask
from oulipoly_engine.config.base.problem import Level
from oulipoly_engine.config.edit.account_edit import append_tables, read_file
from oulipoly_engine.config.edit.write_files import FileChange
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.accounts.clis import account_files
from oulipoly_engine.core.text.control_characters import escape_toml
from oulipoly_engine.core.text.redact import redact_argv
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record

_HEAD = "# Accounts and pools of agent-runner, without logins and without secrets. `agents account import` reads it.\n"
_ASSIGNMENT = re.compile(r"[A-Z_][A-Z0-9_]*=")  # of a variable, as env(1) takes it
_KINDS = ("accounts", "scripts", "pools")


class Backup(Record):
    """A backup's text, and what is not in it."""

    text: str
    left_out: tuple[str, ...] = ()  # places of secrets: `work.environment.API_KEY`


class Import(Record):
    """What a backup would bring in."""

    accounts: tuple[str, ...]  # that are new here
    pools: tuple[str, ...]
    clashes: tuple[str, ...]  # "the account work", "the pool claude": here they say something else
    files: tuple[FileChange, ...]


def export(paths: Paths, models: Path) -> Backup:
    """Return a backup of everything that is configured. Raises ConfigInvalid for broken files."""
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - 60 ms, only a change needs it

    left_out: list[str] = []
    pools = {name: read_file(models / f"{name}.toml").data for name in load.list_models(paths, models)}
    kinds = zip(_KINDS, (read_file(paths.providers).data, read_file(paths.sessions).data, pools), strict=True)
    document = {kind: {name: _clean(table, name, left_out) for name, table in found.items()} for kind, found in kinds}
    return Backup(_HEAD + escape_toml(toml_edit.render_new(document)), tuple(left_out))


def plan_import(text: str, source: Path, paths: Paths, models: Path) -> Import:
    """Return what a backup would bring in; what is here already stays as it is. Raises ConfigInvalid."""
    told = _read(text, source)
    _check_members(told, source, paths)
    new = _find_new(told, paths, models)
    clashes = (
        *(f"the account {name}" for name in _differ(told["accounts"], read_file(paths.providers).data)),
        *(f"the pool {name}" for name in _differ(told["pools"], _pools(told, models))),
    )
    files = (
        _append(paths.providers, {name: told["accounts"][name] for name in new["accounts"]}),
        _append(paths.sessions, {name: told["scripts"][name] for name in new["scripts"]}),
        *(_new_pool(models / f"{name}.toml", told["pools"][name]) for name in new["pools"]),
    )
    return Import(new["accounts"], new["pools"], clashes, tuple(change for change in files if change is not None))


def _read(text: str, source: Path) -> dict[str, dict[str, Any]]:
    file = toml_file.parse(source, text)
    if file.failure is not None:
        raise ConfigInvalid(file.failure.text)
    told = {kind: file.data.get(kind, {}) for kind in _KINDS}
    wrong = [kind for kind, found in told.items() if not _is_tables(found)]
    if wrong or not set(file.data) <= set(_KINDS):
        message = f"{source} is not a backup of accounts: it must have the tables accounts, scripts and pools alone"
        raise ConfigInvalid(message)
    _check(told, source)
    return told


def _is_tables(found: object) -> bool:
    return isinstance(found, dict) and all(isinstance(table, dict) for table in found.values())


def _check(told: Mapping[str, Mapping[str, Any]], source: Path) -> None:
    """Refuse what the files themselves would be refused for. Raises ConfigInvalid."""
    from oulipoly_engine.config.edit.rules import AccountTable, ModelTable  # noqa: PLC0415 - pydantic, 100 ms
    from oulipoly_engine.config.parse.accounts import name_faults  # noqa: PLC0415 - as above
    from oulipoly_engine.config.schema.faults import check  # noqa: PLC0415 - as above

    for kind, rule in (("accounts", AccountTable), ("pools", ModelTable)):
        for name, table in told[kind].items():
            faults = (*name_faults(name), *check(rule, table, (name,))[1])
            errors = [fault for fault in faults if fault.level is Level.ERROR]
            if errors or name.startswith("."):
                reason = f"{errors[0].message}; {errors[0].fix}" if errors else "its name begins with a dot"
                raise ConfigInvalid(f"{source}, [{kind}.{name}]: {reason}")


def _check_members(told: Mapping[str, Mapping[str, Any]], source: Path, paths: Paths) -> None:
    """Refuse pools with accounts that nobody would know. Raises ConfigInvalid."""
    known = {*told["accounts"], *read_file(paths.providers).data}
    for pool, table in told["pools"].items():
        for member in table.get("providers", ()):
            name = member.get("name")
            if name is not None and name not in known:
                raise ConfigInvalid(
                    f"{source}, [pools.{pool}]: it names the account {name[:40]!r}, which is neither in the backup nor "
                    "here: add it, or take it out of the pool"
                )


def _find_new(told: Mapping[str, Mapping[str, Any]], paths: Paths, models: Path) -> dict[str, tuple[str, ...]]:
    accounts = tuple(name for name in told["accounts"] if name not in read_file(paths.providers).data)
    scripts = tuple(name for name in accounts if name in told["scripts"] and name not in read_file(paths.sessions).data)
    pools = tuple(name for name in told["pools"] if not (models / f"{name}.toml").exists())
    return {"accounts": accounts, "scripts": scripts, "pools": pools}


def _pools(told: Mapping[str, Mapping[str, Any]], models: Path) -> dict[str, Any]:
    places = {name: models / f"{name}.toml" for name in told["pools"]}
    return {name: dict(read_file(place).data) for name, place in places.items() if place.exists()}


def _differ(told: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is here in other words; secrets, which no backup has, are no difference."""
    for name, table in told.items():
        if name in here and _clean(here[name], name, []) != table:
            yield name


def _append(path: Path, tables: Mapping[str, Any]) -> FileChange | None:
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - as above

    return append_tables(path, account_files.HEAD, [toml_edit.render_new({name: it}) for name, it in tables.items()])


def _new_pool(path: Path, table: Mapping[str, Any]) -> FileChange:
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - as above

    return FileChange(path, None, toml_edit.render_new(table))


def _clean(value: Any, place: str, left_out: list[str]) -> Any:  # noqa: ANN401 - any TOML value
    """Return a value without the secrets in it; those of tables in a list, a pool's accounts, included."""
    if isinstance(value, list):
        return [_clean(item, f"{place}.{number}", left_out) for number, item in enumerate(value, 1)]
    if not isinstance(value, Mapping):
        return value
    kept = {}
    for key, item in value.items():
        inner = f"{place}.{key}"
        if _has_secret(key, item):
            left_out.append(inner)
        else:
            kept[key] = _clean(item, inner, left_out)
    return kept


def _has_secret(key: str, value: object) -> bool:
    """Tell whether a text has a secret by its key or its look, or a list by its words."""
    if isinstance(value, str):
        return mask.variables({key: value})[key] != value
    words = [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
    assigned = dict(word.split("=", 1) for word in words if _ASSIGNMENT.match(word))
    return redact_argv(words) != tuple(words) or mask.variables(assigned) != assigned
