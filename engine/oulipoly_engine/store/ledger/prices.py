"""What a price list says of the models that were called, read out of it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oulipoly_engine.core.ledger.prices import Rate
from oulipoly_engine.store.base.compiled import insertion
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.models.ledger import PriceRow


def find_rates(store: Store, price_list: str) -> dict[str, tuple[Rate, ...]]:
    """Return the rates of every model that this list was asked for; none for one that it does not know."""
    found: dict[str, tuple[Rate, ...]] = {}
    row = PriceRow
    rows = store.rows(
        row.select(
            row.model,
            row.input,
            row.output,
            row.cache_read,
            row.cache_write,
            row.cache_write_1h,
            row.from_ms,
            row.above_input,
        ).where(row.list == price_list)
    )
    for model, fresh, told, read, written, kept, from_ms, above in rows:
        rates = () if fresh is None else (Rate(fresh, told, read, written, kept, from_ms, above),)
        found[model] = found.get(model, ()) + rates
    return found


_INSERTION = insertion(*PriceRow._meta.sorted_fields)


def keep(store: Store, price_list: str, found: Mapping[str, Sequence[Rate]]) -> None:
    """Keep what a list says of some models, in place of what any list said."""
    rows: list[tuple[object, ...]] = [
        (
            model,
            rate.from_ms,
            rate.above_input,
            rate.input,
            rate.output,
            rate.cache_read,
            rate.cache_write,
            rate.cache_write_1h,
            price_list,
        )
        for model, rates in found.items()
        for rate in rates
    ]
    rows += [(model, 0, 0, None, None, None, None, None, price_list) for model, rates in found.items() if not rates]
    with store.write():
        store.run(PriceRow.delete().where(PriceRow.model.in_(each_of(tuple(found)))))
        store.execute_many(_INSERTION, rows)
