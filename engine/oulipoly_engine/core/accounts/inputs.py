"""Typed model inputs: `-i key=value` checked against a model's schema and turned into CLI flags. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from oulipoly_engine.core.accounts.accounts import InputSpec, InputType
from oulipoly_engine.errors import InputInvalid

# ASCII digits only: Python's int() and float() also take full-width digits, "1_000" and " 5 ".
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_BOOLEANS = ("true", "false")  # as TOML and JSON write them
_INTEGER_LIMIT = 2**63  # the contract's integers have 64 bits


def parse_pair(text: str) -> tuple[str, str]:
    """Split `key=value` at the first `=`; the value may be empty.

    Raises InputInvalid when there is no `=` or nothing before it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InputInvalid(f"the input {text!r} is not of the form key=value: write -i NAME=VALUE")
    return key, value


def collect(pairs: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Gather `key=value` texts by key, in order of first appearance; a repeated key collects its values."""
    given: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        key, value = parse_pair(pair)
        given[key] = (*given.get(key, ()), value)
    return given


def resolve(
    specs: Sequence[InputSpec], given: Mapping[str, Sequence[str]], prompt: str | None = None
) -> tuple[str, ...]:
    """Turn the inputs a user gave into CLI arguments: `flag value` pairs, the user's first, then the defaults.

    given: values by input name; a name without a spec passes through as `--name value`.
    prompt: what the default input received, if anything; it travels as the prompt and never as a flag.
    Raises InputInvalid, naming input, value and rule.
    """
    known = {spec.name: spec for spec in reversed(specs)}  # the first of two equal names counts
    for name, values in given.items():
        if name in known:
            check(known[name], values)
    _check_required(specs, given)
    arguments: list[str] = []
    for name, values in given.items():
        flag = (known[name].flag if name in known else None) or f"--{name}"
        arguments += (part for value in values for part in (flag, value))
    for spec in specs:
        if spec.name not in given and not (spec.default_input and prompt is not None):
            arguments += _default_arguments(spec)
    return tuple(arguments)


def check(spec: InputSpec, values: Sequence[str]) -> None:
    """Check values against one spec; texts are taken as they are.

    Raises InputInvalid, naming input, value and rule.
    """
    if spec.type is InputType.ARRAY:
        _check_count(spec, values)
    for value in values:
        _check_value(spec, value)


def _check_required(specs: Sequence[InputSpec], given: Mapping[str, Sequence[str]]) -> None:
    for spec in specs:
        if spec.required and not spec.default_input and spec.name not in given and spec.default is None:
            raise InputInvalid(f"the required input {spec.name!r} is missing: give it with -i {spec.name}=VALUE")


def _default_arguments(spec: InputSpec) -> tuple[str, ...]:
    if spec.flag is None or spec.default is None:
        return ()
    values = (spec.default,) if isinstance(spec.default, str) else spec.default
    return tuple(part for value in values for part in (spec.flag, value))


def _check_count(spec: InputSpec, values: Sequence[str]) -> None:
    shown = ", ".join(repr(value) for value in values)
    if spec.min_items is not None and len(values) < spec.min_items:
        raise _refusal(spec, f"too few items: {len(values)} given ({shown}), at least {spec.min_items} wanted")
    if spec.max_items is not None and len(values) > spec.max_items:
        raise _refusal(spec, f"too many items: {len(values)} given ({shown}), at most {spec.max_items} allowed")


def _check_value(spec: InputSpec, value: str) -> None:
    match spec.item_type if spec.type is InputType.ARRAY else spec.type:
        case InputType.ENUM if spec.options and value not in spec.options:
            raise _refusal(spec, f"{value!r} is not one of its options: {', '.join(spec.options)}")
        case InputType.INTEGER:
            _check_range(spec, value, _integer(spec, value))
        case InputType.NUMBER:
            _check_range(spec, value, _number(spec, value))
        case InputType.BOOLEAN if value not in _BOOLEANS:
            raise _refusal(spec, f"{value!r} is not a boolean: {' or '.join(_BOOLEANS)}")
        case _:
            pass


def _integer(spec: InputSpec, value: str) -> int:
    if _INTEGER.fullmatch(value) and -_INTEGER_LIMIT <= int(value) < _INTEGER_LIMIT:
        return int(value)
    raise _refusal(spec, f"{value!r} is not an integer (a whole number of at most 64 bits)")


def _number(spec: InputSpec, value: str) -> float:
    if _NUMBER.fullmatch(value) and math.isfinite(float(value)):
        return float(value)
    raise _refusal(spec, f"{value!r} is not a number (digits, at most one point, finite)")


def _check_range(spec: InputSpec, value: str, number: float) -> None:
    if spec.minimum is not None and number < spec.minimum:
        raise _refusal(spec, f"{value!r} is below minimum {spec.minimum:.15g}")
    if spec.maximum is not None and number > spec.maximum:
        raise _refusal(spec, f"{value!r} is above maximum {spec.maximum:.15g}")


def _refusal(spec: InputSpec, rule: str) -> InputInvalid:
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, only refused inputs need it

    # Together with the name, by which a secret may be known.
    return InputInvalid(redact(f"input {spec.name!r}: {rule}"))
