"""models/*.toml: the pools. Each file is read on its own, so that a broken one stops nobody else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oulipoly_engine.config.base.legacy import old_keys
from oulipoly_engine.config.base.problem import Fault, Level, Loaded
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.config.schema.models import InputTable, MemberTable, ModelTable
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.accounts import inputs
from oulipoly_engine.core.accounts.accounts import InputSpec, InputType, Model, PoolMember
from oulipoly_engine.errors import InputInvalid


def parse(path: Path, raw: bytes | None) -> Loaded[Model | None]:
    """Return the model of a file, None when it has an error, and all problems of the file."""
    file = toml_file.read(path, raw)
    if file.failure is not None:
        return Loaded(None, (file.failure,))
    if old := tuple(old_keys(file.data)):
        return Loaded(None, file.problems(old))
    if missing := tuple(_no_members(path.stem, file.data)):
        return Loaded(None, file.problems(missing))
    table, faults = check(ModelTable, file.data)
    if table is None:
        return Loaded(None, file.problems(faults))
    model = _model(path, table)
    return Loaded(model, file.problems((*faults, *_input_warnings(model.inputs))))


def input_specs(raw: Sequence[Mapping[str, Any]]) -> tuple[tuple[InputSpec, ...], tuple[Fault, ...]]:
    """Check plain `[[inputs]]` tables and return their specs and every fault."""
    specs: list[InputSpec] = []
    faults: list[Fault] = []
    for place, entry in enumerate(raw):
        table, found = check(InputTable, entry, ("inputs", place))
        faults += found
        if table is not None:
            specs.append(_spec(table))
    return tuple(specs), tuple(faults)


def _no_members(name: str, data: Mapping[str, Any]) -> Iterator[Fault]:
    members = data.get("providers")
    fix = 'add [[providers]] with `name = "ACCOUNT"`'
    if members is None:
        yield Fault((), f"the model {name!r} has no [[providers]]", fix)
        return
    if members == []:
        yield Fault(("providers",), f"the list of [[providers]] of the model {name!r} is empty", fix)
        return
    for place, entry in enumerate(members if isinstance(members, list) else ()):
        if isinstance(entry, dict) and "name" not in entry:
            message = f"entry {place + 1} of the model {name!r} has no `name`"
            yield Fault(("providers", place), message, 'add `name = "ACCOUNT"`')


def _model(path: Path, table: ModelTable) -> Model:
    members = tuple(_member(index, entry) for index, entry in enumerate(table.providers))
    return Model(path.stem, members, tuple(_spec(entry) for entry in table.inputs), path, table.sticky)


def _member(index: int, table: MemberTable) -> PoolMember:
    interactive = None if table.interactive_args is None else tuple(table.interactive_args)
    return PoolMember(index, table.name, tuple(table.args), interactive)


def _spec(table: InputTable) -> InputSpec:
    kind = InputType(table.type)
    return InputSpec(
        name=table.name,
        type=kind,
        flag=table.flag,
        required=table.required,
        default_input=table.default_input,
        default=_default(table.default, InputType(table.item_type) if kind is InputType.ARRAY else kind),
        description=table.description,
        options=tuple(table.options or ()),
        minimum=table.min,
        maximum=table.max,
        item_type=InputType(table.item_type),
        min_items=table.min_items,
        max_items=table.max_items,
    )


def _default(value: Any, kind: InputType) -> str | tuple[str, ...] | None:  # noqa: ANN401 - any TOML scalar or list
    if isinstance(value, list):
        return tuple(_text(item, kind) for item in value)
    return None if value is None else _text(value, kind)


def _text(value: object, kind: InputType) -> str:
    """Write a default as a user would type it: true, 8, 0.5; 8.0 becomes 8 where a whole number is wanted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and kind is InputType.INTEGER and math.isfinite(value) and value.is_integer():
        return str(int(value))
    return str(value)


def _input_warnings(specs: Sequence[InputSpec]) -> Iterator[Fault]:
    seen: set[str] = set()
    for place, spec in enumerate(specs):
        if spec.name in seen:
            message = f"a second input is called {spec.name!r}, and only the first is looked at"
            yield Fault(("inputs", place, "name"), message, "rename or remove it", Level.WARNING)
        seen.add(spec.name)
        yield from _check_bounds(place, spec)
        if spec.default is not None:
            try:
                inputs.check(spec, (spec.default,) if isinstance(spec.default, str) else spec.default)
            except InputInvalid as error:
                message = f"the default breaks the input's own rule: {error.message}"
                yield Fault(("inputs", place, "default"), message, "correct the default or the rule", Level.WARNING)


def _check_bounds(place: int, spec: InputSpec) -> Iterator[Fault]:
    if spec.minimum is not None and spec.maximum is not None and spec.minimum > spec.maximum:
        yield Fault(("inputs", place, "min"), "`min` is above `max`, so no value fits", "swap them", Level.WARNING)
    if spec.min_items is not None and spec.max_items is not None and spec.min_items > spec.max_items:
        message = "`min_items` is above `max_items`, so no list fits"
        yield Fault(("inputs", place, "min_items"), message, "swap them", Level.WARNING)
