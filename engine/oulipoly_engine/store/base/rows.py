"""Rows of tables as the fields of our records, and the other way round."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.records import Record, asdict

_TIMES = ("_at", "_until")  # what columns with a time end with


def name_values(columns: Sequence[Any], values: Sequence[Any]) -> dict[str, Any]:
    """Return the values of a row by the names of a record's fields, times as such. columns: fields of a model."""
    named = zip((column.name for column in columns), values, strict=True)
    return {name: from_text(value) if value and name.endswith(_TIMES) else value for name, value in named}


def column_values(record: Record) -> dict[str, Any]:
    """Return a record's fields as columns hold them: times as text, mappings as JSON."""
    return {name: _to_column(value) for name, value in asdict(record).items()}


def _to_column(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    if isinstance(value, datetime):
        return to_text(value)
    return json.dumps(dict(value), ensure_ascii=False) if isinstance(value, Mapping) else value
