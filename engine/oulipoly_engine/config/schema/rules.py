"""What the schema says of single keys: import it deferred, it brings pydantic (100 ms). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from oulipoly_engine.config.base.layers import Standing
from oulipoly_engine.config.schema.fields import (
    OPTION,
    AlsoNamed,
    InProject,
    NameOf,
    OneOf,
    Table,
    find_nested_table,
)
from oulipoly_engine.records import Record

Kind = Literal["switch", "choice", "number", "list", "text"]  # how a value is changed
TRUTH = ("true", "false")


class Rule(Record):
    """What the schema says of one key."""

    name: str
    description: str  # one sentence
    default: object  # None: there is none
    kind: Kind
    choices: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # a sentence for each choice; empty: they speak for themselves
    names: str = ""  # what its value names: "accounts", "models", "themes"
    in_project: Standing = "never"  # whether a project's folder may have it
    variables: tuple[str, ...] = ()  # of other programs, that name it too
    keys: tuple[str, ...] = ()  # of other programs, that `config get` and `config set` take for it
    option: str = ""  # of `agents`, that stands above the file for one start; empty: the file alone says it


def list_rules(table: type[Table], *, with_tables: bool = False) -> Iterator[Rule]:
    """Return the keys of a table. with_tables: also those that hold tables, of ours or of the user's own names."""
    for name, field in table.model_fields.items():
        has_tables = find_nested_table(table, name) is not None or "dict[" in str(field.annotation)
        if with_tables or not has_tables:
            yield _rule(name, field)


def _rule(name: str, field: FieldInfo) -> Rule:
    words = next((mark for mark in field.metadata if isinstance(mark, OneOf)), None)
    names = next((mark.what for mark in field.metadata if isinstance(mark, NameOf)), "")
    choices = tuple(map(str, field.examples or ())) if words is None else words.choices
    kind: Kind = "choice" if choices or names else "text"
    if kind == "text" and not _has(field.annotation, str):
        kinds: tuple[tuple[type, Kind], ...] = ((list, "list"), (bool, "switch"), (int, "number"), (float, "number"))
        kind = next((kind for shape, kind in kinds if _has(field.annotation, shape)), "text")
    choices = TRUTH if kind == "switch" else choices
    default, notes = _default(field.get_default()), () if words is None else words.notes
    extra = field.json_schema_extra
    option = str(extra.get(OPTION, "")) if isinstance(extra, dict) else ""
    project = next((mark for mark in field.metadata if isinstance(mark, InProject)), None)
    in_project: Standing = "never" if project is None else project.standing
    marks = [mark for mark in field.metadata if isinstance(mark, AlsoNamed)]
    return Rule(
        name=name,
        description=field.description or "",
        default=default,
        kind=kind,
        choices=choices,
        notes=notes,
        names=names,
        in_project=in_project,
        variables=tuple(mark.variable for mark in marks),
        keys=tuple(mark.key for mark in marks if mark.key),
        option=option,
    )


def _has(annotation: object, kind: type) -> bool:
    """Tell whether a value may be of a kind, what its items are left aside."""
    origin = get_origin(annotation)
    if annotation is kind or origin is kind:
        return True
    return origin not in (list, dict) and any(_has(part, kind) for part in get_args(annotation))


def _default(value: object) -> object:
    if isinstance(value, list):
        return value or None
    return value if isinstance(value, (str, int, float, bool)) else None
