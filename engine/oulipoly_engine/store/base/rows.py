"""Rows of tables as the fields of our records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oulipoly_engine.clock import from_text

_TIMES = ("_at", "_until")  # what columns with a time end with


def name_values(columns: Sequence[Any], values: Sequence[Any]) -> dict[str, Any]:
    """Return the values of a row by the names of their columns, times as such. columns: fields of a model."""
    named = zip((column.column_name for column in columns), values, strict=True)
    return {name: from_text(value) if value and name.endswith(_TIMES) else value for name, value in named}
