"""Settings of an extension, held to its `config_schema`: the part of JSON Schema that settings need. Pure.

`properties` with `type`, `enum` and `default`, and `required`; all else of a schema is for editors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def fill_settings(schema: Mapping[str, Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return values with the defaults of what is missing. Raises ValueError, naming the key, for what does not fit."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    settings = {name: rule["default"] for name, rule in properties.items() if "default" in rule}
    settings.update(values)
    missing = [name for name in schema.get("required") or () if name not in settings]
    if missing:
        raise ValueError(f"the setting `{missing[0]}` is missing")
    for name, value in values.items():
        _check(name, value, properties.get(name) or {})
    return settings


def _check(name: str, value: object, rule: Mapping[str, Any]) -> None:
    kind = rule.get("type")
    types = _KINDS.get(kind, ()) if isinstance(kind, str) else ()
    is_number_for_bool = isinstance(value, bool) and bool not in types
    if types and (is_number_for_bool or not isinstance(value, types)):
        raise ValueError(f"the setting `{name}` is not of the type {kind}")
    choices = rule.get("enum")
    if choices and value not in choices:
        raise ValueError(f"the setting `{name}` is none of {', '.join(map(str, choices))}")
