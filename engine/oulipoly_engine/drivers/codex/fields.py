"""Foreign JSON, read field by field: what has another type than expected counts as absent. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Any


def mapping(value: Json, *names: str) -> Mapping[str, Json]:
    """Return the object below `names`, or an empty one."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def text(value: Json, *names: str) -> str:
    """Return the first of the fields that is a text with something in it, or an empty one."""
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(found, str) and found:
            return found
    return ""


def whole_number(value: Json, *names: str) -> int | None:
    """Return the first of the fields that is an integer, or None."""
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return None


def number(value: Json, name: str) -> float | None:
    """Return a field as a finite number, or None."""
    found = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        return float(found) if abs(found) < float("inf") else None
    except OverflowError:
        return None


def objects(value: Json, *names: str) -> list[Mapping[str, Json]]:
    """Return the objects of the first of the fields that is a list."""
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(found, list):
            return [one for one in found if isinstance(one, Mapping)]
    return []


def texts(value: Json, *names: str) -> tuple[str, ...]:
    """Return the texts of the first of the fields that is a list."""
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(found, list):
            return tuple(one for one in found if isinstance(one, str))
    return ()


def is_set(value: Json, name: str) -> bool:
    """Tell whether a field is true."""
    return isinstance(value, Mapping) and value.get(name) is True
