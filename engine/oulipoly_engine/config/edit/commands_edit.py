"""The user's own commands in app.toml: each is known by its name, added, changed and removed with comments in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

KEY = "commands"


def list_names(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the commands in a file's data, in its order; of two that have one name, one."""
    return tuple(dict.fromkeys(str(one["name"]) for one in _list_tables(data) if "name" in one))


def list_places(data: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield where each command's table stands, and its name; one without a name is called by its number."""
    for place, one in enumerate(_list_tables(data)):
        if one:
            yield place, str(one.get("name", place + 1))


def find_place(data: Mapping[str, Any], name: str) -> int | None:
    """Return where the first command of a name stands, from 0."""
    tables = _list_tables(data)
    return next((place for place, one in enumerate(tables) if one.get("name") == name), None)


def make_table(data: Mapping[str, Any], name: str, value: object) -> dict[str, object]:
    """Return a command's table after a change. value: the whole table, or a new command line for the one that is there.

    A name in the table is left aside: it is known by the one that it was asked for by.
    """
    if isinstance(value, Mapping):
        return {"name": name, **{key: one for key, one in value.items() if key != "name"}}
    place = find_place(data, name)
    return {"name": name, **({} if place is None else data[KEY][place]), "command": value}


def change(document: Any, data: Mapping[str, Any], name: str, table: Mapping[str, object] | None) -> None:  # noqa: ANN401 - tomlkit's
    """Write a command's table into a document, behind the others where it is new; None removes it."""
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - 60 ms, only a change needs it

    place = find_place(data, name)
    if place is None:
        if table is not None:
            toml_edit.add_entry(document, KEY, table)
    elif table is None:
        toml_edit.remove_entry(document, KEY, place)
    else:
        entry = document[KEY][place]
        for key in [key for key in entry if key not in table]:
            toml_edit.remove(entry, key)
        for key, value in table.items():
            toml_edit.set_value(entry, key, value)


def _list_tables(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tables; what is no table stays in its place as an empty one."""
    found = data.get(KEY)
    return [one if isinstance(one, Mapping) else {} for one in found] if isinstance(found, list) else []
