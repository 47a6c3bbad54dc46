"""A careful look into what a CLI wrote: a value of another type than the one that is wanted counts as none. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Any  # what JSON holds: foreign, and looked at field by field


def mapping(value: Json, *names: str) -> dict[str, Json]:
    """Return the object below `names`, or the value itself; empty where that is something else."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def listing(value: Json) -> list[Json]:
    """Return an array, empty where it is something else."""
    return value if isinstance(value, list) else []


def text_of(value: Json) -> str:
    """Return a text, empty where it is something else."""
    return value if isinstance(value, str) else ""


def number(value: Json) -> float | None:
    """Return a number, or None where it is something else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def count(value: Json) -> int:
    """Return a whole number, 0 where it is something else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def without_halves(text: str) -> str:
    """Return a text that can be written as UTF-8: a person's argument may hold half a character."""
    return text.encode("utf-8", "replace").decode("utf-8")


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


def finite_number(value: Json, name: str) -> float | None:
    """Return a field as a finite number, or None."""
    found = number(value.get(name)) if isinstance(value, Mapping) else None
    try:
        return float(found) if found is not None and abs(found) < float("inf") else None
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
