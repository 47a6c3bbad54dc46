"""prices.toml: what the user says that models cost, before any list."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.config import schema, toml_file
from oulipoly_engine.config.problem import Fault, Level, Loaded
from oulipoly_engine.config.table import Key, Table, from_zero, optional
from oulipoly_engine.core.ledger.prices import Rate
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import replace


class PriceTable(Table):
    """One `[model]`: USD per million tokens."""

    input = Key(from_zero)
    output = Key(from_zero)
    cache_read = optional(from_zero)
    cache_write = optional(from_zero)
    cache_write_1h = optional(from_zero)


def read_prices(paths: Paths) -> Loaded[Mapping[str, Rate]]:
    """Return the rates of the models that the file names; what is wrong with others comes along as warnings."""
    file = toml_file.read(paths.config / "prices.toml")
    if file.failure is not None:
        return Loaded({}, (replace(file.failure, level=Level.WARNING),))
    found: dict[str, Rate] = {}
    faults: list[Fault] = []
    for model, raw in file.data.items():
        table, wrong = schema.check(PriceTable, raw, (model,))
        faults += (replace(fault, level=Level.WARNING) for fault in wrong)
        if table is not None:
            found[model] = Rate(table.input, table.output, table.cache_read, table.cache_write, table.cache_write_1h)
    return Loaded(found, file.problems(faults, in_tables=True))
