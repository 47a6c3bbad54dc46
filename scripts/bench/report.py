"""A row's answer, the table that people read, and the JSON document that programs read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from measure import Series

from oulipoly_engine.records import Record, field


class Limit(Record):
    """What a figure must keep to."""

    value: float
    is_least: bool = False  # the figure must reach it; else it must stay below

    def holds(self, figure: float) -> bool:
        """Tell whether a figure keeps to the limit."""
        return figure >= self.value if self.is_least else figure <= self.value


class Result(Record):
    """What one row found."""

    meaning: str  # what the figure is, in a few words
    figure: float
    unit: str
    limit: Limit | None = None
    subject: Series | None = None  # in `series_unit`
    beside: Series | None = None  # what it was taken alternately with
    ratios: Series | None = None  # subject by beside, pair by pair
    series_unit: str = "ms"
    facts: Mapping[str, object] = field(default_factory=dict)  # further figures, as JSON values

    @property
    def holds(self) -> bool:
        """Tell whether the row keeps to its limit; one without a limit does."""
        return self.limit is None or self.limit.holds(self.figure)


def lines(results: Mapping[str, Result]) -> list[str]:
    """Return the table, one line a row, and the further figures below it."""
    head = ("row", "figure", "limit", "", "ours min/med", "beside min/med", "ratio min/med", "what the figure is")
    cells = [head, *(_cells(name, result) for name, result in results.items())]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    table = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    facts = [f"{name}: {_facts(result)}" for name, result in results.items() if result.facts]
    return [*table, "", *facts] if facts else table


def document(
    machine: Mapping[str, object], results: Mapping[str, Result], broken: Mapping[str, str], *, quick: bool
) -> dict[str, object]:
    """Return everything that was measured, as one JSON document."""
    rows = {name: _json(result) for name, result in results.items()}
    return {"machine": machine, "quick": quick, "rows": rows, "broken": broken}


def _cells(name: str, result: Result) -> Sequence[str]:
    sign = "" if result.limit is None else (">= " if result.limit.is_least else "<= ")
    return (
        name,
        f"{_number(result.figure)} {result.unit}",
        "" if result.limit is None else f"{sign}{_number(result.limit.value)}",
        "" if result.limit is None else ("ok" if result.holds else "OVER" if not result.limit.is_least else "UNDER"),
        _pair(result.subject, result.series_unit),
        _pair(result.beside, result.series_unit),
        _pair(result.ratios, ""),
        result.meaning,
    )


def _pair(series: Series | None, unit: str) -> str:
    return "" if series is None else f"{_number(series.least)}/{_number(series.median)} {unit}".rstrip()


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _facts(result: Result) -> str:
    shown = ((key, _number(value) if isinstance(value, float) else value) for key, value in result.facts.items())
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in shown)


def _json(result: Result) -> dict[str, object]:
    return {
        "figure": result.figure,
        "unit": result.unit,
        "meaning": result.meaning,
        "limit": None if result.limit is None else result.limit.value,
        "limit_is_least": result.limit is not None and result.limit.is_least,
        "holds": result.holds,
        "series_unit": result.series_unit,
        "subject": _series(result.subject),
        "beside": _series(result.beside),
        "ratios": _series(result.ratios),
        "facts": dict(result.facts),
    }


def _series(series: Series | None) -> dict[str, object] | None:
    if series is None:
        return None
    return {"min": series.least, "median": series.median, "values": list(series.values)}
