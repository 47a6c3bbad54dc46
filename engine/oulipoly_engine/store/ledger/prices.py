"""What a price list says of the models that were called, read out of it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oulipoly_engine.core.ledger.prices import Rate
from oulipoly_engine.store.base.db import Store


def known(store: Store, price_list: str) -> dict[str, tuple[Rate, ...]]:
    """Return the rates of every model that this list was asked for; none for one that it does not know."""
    found: dict[str, tuple[Rate, ...]] = {}
    for model, fresh, told, read, written, kept, from_ms, above in store.rows(
        "SELECT model, input, output, cache_read, cache_write, cache_write_1h, from_ms, above_input FROM model_prices"
        " WHERE list = ?",
        (price_list,),
    ):
        rates = () if fresh is None else (Rate(fresh, told, read, written, kept, from_ms, above),)
        found[model] = found.get(model, ()) + rates
    return found


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
        store.execute_many("DELETE FROM model_prices WHERE model = ?", ((model,) for model in found))
        store.execute_many("INSERT INTO model_prices VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
