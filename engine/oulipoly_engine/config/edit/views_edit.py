"""Saved views in app.toml: kept and forgotten with every comment where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oulipoly_engine.config import app_file
from oulipoly_engine.config.edit.write_files import edit_lines, write
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.config.toml.toml_file import TomlFile
from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.errors import ConfigInvalid, RequestRefused, UsageInvalid
from oulipoly_engine.paths import Paths

_LONGEST_NAME, _LONGEST_FILTER = 60, 4_000  # characters


def save(paths: Paths, view: SavedView) -> bool:
    """Write a view under its name; return whether one of that name was replaced.

    Raises UsageInvalid for a name that cannot be typed, ConfigInvalid where the file cannot be changed.
    """
    if not view.name.strip() or not view.name.isprintable() or len(view.name) > _LONGEST_NAME:
        message = f"{view.name[:_LONGEST_NAME]!r} is not a name for a view: 1 to {_LONGEST_NAME} signs on one line"
        raise UsageInvalid(message)
    if len(view.filter) > _LONGEST_FILTER:
        raise UsageInvalid(f"a view's filter may have {_LONGEST_FILTER} characters, not {len(view.filter)}")
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - 60 ms, only a change needs it

    file, document = _read_document(app_file.path_of(paths))
    values = {"filter": view.filter, "group": view.group, "sort": str(view.sort), "reversed": view.is_reversed}
    was_there = view.name in document.get("views", {})
    try:
        if was_there:
            for key, value in values.items():
                toml_edit.set_value(document["views"][view.name], key, value)
        elif document.get("views"):
            toml_edit.add_table(document["views"], view.name, values)
        else:
            toml_edit.remove(document, "views")
            toml_edit.add_table(document, "views", {view.name: values})
    except ValueError as error:  # tables in braces take no others
        raise ConfigInvalid(f"{file.path} cannot be edited here: {error}; write its views as `[views.NAME]`") from error
    _write_document(file, document)
    return was_there


def delete(paths: Paths, name: str) -> SavedView:
    """Take a view away and return it. Raises RequestRefused where there is none, ConfigInvalid as `save`."""
    found = next((one for one in app_file.read(paths).value.views if one.name == name), None)
    if found is None:
        raise RequestRefused(f"there is no saved view {name!r}")
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - as in `save`

    file, document = _read_document(app_file.path_of(paths))
    toml_edit.remove(document["views"], name)
    if not document["views"]:
        toml_edit.remove(document, "views")
    _write_document(file, document)
    return found


def _read_document(path: Path) -> tuple[TomlFile, Any]:
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - as in `save`

    file = toml_file.read(path)
    if file.failure is not None:
        raise ConfigInvalid(f"{file.failure.message}: {file.failure.fix}")
    if not isinstance(file.data.get("views", {}), dict):
        raise ConfigInvalid(f"`views` in {path} is not a table: change it to `[views.NAME]` first")
    return file, toml_edit.parse(file.text)


def _write_document(file: TomlFile, document: Any) -> None:  # noqa: ANN401 - tomlkit's
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - as in `save`

    try:
        after = toml_edit.render(document)
    except ValueError as error:
        raise ConfigInvalid(f"{file.path} cannot be edited here: {error}; edit it by hand") from error
    write([edit_lines(file.path, file.text if file.exists else None, after)])
