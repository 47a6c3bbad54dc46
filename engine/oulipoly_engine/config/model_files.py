"""models/*.toml: the pools. Each file is read on its own, so that a broken one stops nobody else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oulipoly_engine.config import schema
from oulipoly_engine.config.problem import Fault, Level, Loaded
from oulipoly_engine.config.schema import InputTable, MemberTable, ModelTable
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.accounts import inputs
from oulipoly_engine.core.accounts.accounts import Account, Model, PoolMember, codex_overlap
from oulipoly_engine.core.accounts.inputs import InputSpec, InputType
from oulipoly_engine.errors import InputInvalid

# What an account's entry holds today and a model's file held in older configurations.
OLD_ENTRY_KEYS = ("command", "resume", "session_capture", "session_storage", "resume_acceptance", "prompt_mode")
OLD_TOP_KEYS = (*OLD_ENTRY_KEYS, "args", "interactive_args")


def names(folder: Path) -> tuple[str, ...]:
    """Return the names of the models in a folder, sorted; a missing folder has none."""
    try:
        return tuple(sorted(path.stem for path in folder.glob("*.toml") if is_name(path.stem) and path.is_file()))
    except OSError:
        return ()


def is_name(name: str) -> bool:
    """Return whether a name can be a file in a folder of ours and nowhere else."""
    return bool(name) and not name.startswith(".") and not any(mark in name for mark in "/\\\0")


def read(path: Path) -> Loaded[Model | None]:
    """Read one model's file, None when it has an error, and all problems of the file."""
    file = toml_file.read(path)
    if file.failure is not None:
        return Loaded(None, (file.failure,))
    if old := tuple(old_keys(file.data)):
        return Loaded(None, file.problems(old))
    if missing := tuple(_no_members(path.stem, file.data)):
        return Loaded(None, file.problems(missing))
    table, faults = schema.check(schema.ModelTable, file.data)
    if table is None:
        return Loaded(None, file.problems(faults))
    model = _model(path, table)
    return Loaded(model, file.problems((*faults, *_input_warnings(model.inputs))))


def overlaps(model: Model, accounts: Mapping[str, Account]) -> Iterator[Fault]:
    """Find arguments that the account `codex` and its pool entry both have."""
    for member in model.members:
        account = accounts.get(member.account)
        if account is None:
            continue
        pairs = (
            ("args", account.args, member.args),
            ("interactive_args", account.interactive_args or (), member.interactive_args or ()),
        )
        for key, account_args, model_args in pairs:
            if (token := codex_overlap(member.account, account_args, model_args)) is not None:
                message = f"{token!r} is already in `{key}` of the account 'codex', and Codex refuses it twice"
                yield Fault(("providers", member.index, key), message, "remove it from one of the two")


def input_specs(raw: Sequence[Mapping[str, Any]]) -> tuple[tuple[InputSpec, ...], tuple[Fault, ...]]:
    """Check plain `[[inputs]]` tables and return their specs and every fault."""
    specs: list[InputSpec] = []
    faults: list[Fault] = []
    for place, entry in enumerate(raw):
        table, found = schema.check(schema.InputTable, entry, ("inputs", place))
        faults += found
        if table is not None:
            specs.append(_spec(table))
    return tuple(specs), tuple(faults)


def old_keys(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Find old per-provider configuration: one fault for the file, at its first old key."""
    found: list[tuple[tuple[str | int, ...], str]] = [((key,), key) for key in OLD_TOP_KEYS if key in data]
    members = data.get("providers")
    for place, entry in enumerate(members if isinstance(members, list) else ()):
        if isinstance(entry, dict):
            found += [(("providers", place, key), key) for key in OLD_ENTRY_KEYS if key in entry]
    if found:
        keys = ", ".join(f"`{key}`" for key in dict.fromkeys(key for _, key in found))
        message = f"this is old per-provider config: {keys} now belong to the accounts in providers.toml"
        yield Fault(found[0][0], message, "run `agents migrate-config`")


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
        yield from _bound_warnings(place, spec)
        if spec.default is not None:
            try:
                inputs.check(spec, (spec.default,) if isinstance(spec.default, str) else spec.default)
            except InputInvalid as error:
                message = f"the default breaks the input's own rule: {error.message}"
                yield Fault(("inputs", place, "default"), message, "correct the default or the rule", Level.WARNING)


def _bound_warnings(place: int, spec: InputSpec) -> Iterator[Fault]:
    if spec.minimum is not None and spec.maximum is not None and spec.minimum > spec.maximum:
        yield Fault(("inputs", place, "min"), "`min` is above `max`, so no value fits", "swap them", Level.WARNING)
    if spec.min_items is not None and spec.max_items is not None and spec.min_items > spec.max_items:
        message = "`min_items` is above `max_items`, so no list fits"
        yield Fault(("inputs", place, "min_items"), message, "swap them", Level.WARNING)
