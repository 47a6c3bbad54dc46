"""A careful look into what a CLI wrote: a value of another type than the one that is wanted counts as none. Pure."""

from __future__ import annotations

from typing import Any

Json = Any  # what JSON holds: foreign, and looked at field by field


def mapping(value: Json) -> dict[str, Json]:
    """Return an object, empty where it is something else."""
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
