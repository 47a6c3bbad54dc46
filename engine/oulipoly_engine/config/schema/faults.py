"""Check plain values against a table, and say what pydantic found in the words of our own faults. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from oulipoly_engine.config.base.problem import Fault, KeyPath, Level, describe_value
from oulipoly_engine.config.schema.fields import REFUSED, Table, find_nested_table
from oulipoly_engine.core.text.nearest import nearest

TableT = TypeVar("TableT", bound=Table)

_WANTED = {  # by pydantic's kind of error
    "string_type": "a text in quotes",
    "bool_type": "true or false, without quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list in brackets",
    "dict_type": "a table",
    "model_type": "a table",
}
_WORD = re.compile(r"[\w.-]{1,60}")  # a list's only item, most likely
_KEY = "[key]"  # pydantic's last step to the name of a table's entry, where the name is wrong and not its value


def check(table: type[TableT], raw: object, at: KeyPath = ()) -> tuple[TableT | None, tuple[Fault, ...]]:
    """Check plain values against a table's shape.

    at: where the values stand, put before every fault's path.
    Returns the table, None when there is an error, and every fault found, unknown keys as warnings.
    """
    checked: TableT | None = None
    errors: tuple[Fault, ...] = ()
    try:
        checked = table.model_validate(raw)
    except ValidationError as error:
        errors = tuple(_fault(table, at, details) for details in error.errors(include_url=False))
    return checked, (*errors, *_unknown_keys(table, raw, at))


def _fault(table: type[Table], at: KeyPath, details: ErrorDetails) -> Fault:
    place = _place(details)
    value, context, path = details["input"], details.get("ctx", {}), (*at, *place)
    match details["type"]:
        case kind if kind == REFUSED:
            return Fault((*path, *context["at"]), context["message"], context["fix"])
        case "missing":
            return Fault(path, f"`{path[-1]}` is missing", f"add `{path[-1]}`")
        case "one_of":
            return _not_one_of(path, value, context["choices"])
        case "too_short":
            return Fault(path, f"the list `{path[-1]}` is empty", f"put something into `{path[-1]}`, or remove it")
        case "extra_forbidden":
            return _unknown_key(_owner(table, place), path, Level.ERROR)
        case "float_type" if isinstance(value, int) and not isinstance(value, bool):  # too long for a float
            return _out_of_bounds(path, value, "should be a finite number")
        case "string_pattern_mismatch":
            return _of_other_form(table, place, path, value)
        case kind if kind in _WANTED:
            wanted = _WANTED[kind]
            is_word = kind == "list_type" and isinstance(value, str) and _WORD.fullmatch(value)
            fix = f'write ["{value}"]' if is_word else f"write {wanted}"
            return Fault(path, f"it must be {wanted}, not {describe_value(value)}", fix)
        case _:
            return _out_of_bounds(path, value, details["msg"].removeprefix("Input "))


def _not_one_of(path: KeyPath, value: object, choices: list[str]) -> Fault:
    found = nearest(value, choices) if isinstance(value, str) else ()
    fix = f'write "{found[0]}"' if found else "write one of these in quotes"
    return Fault(path, f"{describe_value(value)} is not one of {', '.join(choices)}", fix)


def _out_of_bounds(path: KeyPath, value: object, wanted: str) -> Fault:
    return Fault(path, f"{describe_value(value)} is wrong: it {wanted}", "correct the value")


def _of_other_form(table: type[Table], place: KeyPath, path: KeyPath, value: object) -> Fault:
    names = [part for part in place if isinstance(part, str)]
    field = _owner(table, tuple(names)).model_fields.get(names[-1]) if names else None
    form = "" if field is None else f": {field.description}"
    return Fault(
        path, f"{describe_value(value)} does not have the form that it must have{form}".rstrip("."), "correct it"
    )


def _place(details: ErrorDetails) -> KeyPath:
    """Return a place as it stands in the file: a wrong name's own, without pydantic's last step to it."""
    location = details["loc"]
    is_name = details["type"] == REFUSED and location[-2:] == (details["input"], _KEY)
    return location[:-1] if is_name else location


def _owner(table: type[Table], place: KeyPath) -> type[Table]:
    """Return the table to which the last key of a place belongs."""
    for part in place[:-1]:
        table = find_nested_table(table, part) or table if isinstance(part, str) else table
    return table


def _unknown_keys(table: type[Table], raw: object, at: KeyPath) -> Iterator[Fault]:
    """Find keys that mean nothing here, in nested tables too; tables that refuse them have said so themselves."""
    if not isinstance(raw, Mapping) or table.model_config.get("extra") == "forbid":
        return
    for name, value in raw.items():
        place = (*at, name)
        nested = find_nested_table(table, name)
        if name not in table.model_fields:
            yield _unknown_key(table, place, Level.WARNING)
        elif nested is not None and isinstance(value, list):
            for position, item in enumerate(value):
                yield from _unknown_keys(nested, item, (*place, position))
        elif nested is not None:
            yield from _unknown_keys(nested, value, place)


def _unknown_key(table: type[Table], at: KeyPath, level: Level) -> Fault:
    key, known = str(at[-1]), table.model_fields
    if key in table.later:
        return Fault(at, f"`{key}` has no effect in this version", "remove it, or leave it", level)
    found = nearest(key, (*known, *table.elsewhere))
    if found and found[0] in table.elsewhere:
        hint = f"did you mean `{found[0]}` of {table.elsewhere[found[0]]}?"
        fix = f"put it into {table.elsewhere[found[0]]} as `{found[0]}`"
        return Fault(at, f"`{key}` is not a known key here ({hint})", fix, level)
    hint = f"did you mean `{found[0]}`?" if found else f"known here are {', '.join(known)}"
    fix = f"rename it to `{found[0]}`" if found else "remove it"
    return Fault(at, f"`{key}` is not a known key ({hint})", fix, level)
