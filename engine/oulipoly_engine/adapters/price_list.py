"""The price list that comes with genai-prices, read offline. The only module that imports it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import metadata
from typing import Any

from oulipoly_engine.core.ledger.prices import Rate

_NAME = "genai-prices"
# Asked in this order where a model's name alone does not tell the provider. Resellers come last: they are not asked.
_PROVIDERS = (None, "anthropic", "openai", "zai", "google", "deepseek", "moonshotai", "x-ai", "mistral")
_FIELDS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok")


def name() -> str:
    """Return the list's name and version."""
    return f"{_NAME} {metadata.version(_NAME)}"


def rates(models: Iterable[str]) -> Mapping[str, tuple[Rate, ...]]:
    """Return what the list says of models; nothing of those that it does not know. Never asks the network."""
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - 220 ms, only a model that is new needs it

    snapshot: Any = get_snapshot()  # its records are typed too loosely to be worth more
    return {model: _rates(snapshot, model) for model in models}


def _rates(snapshot: Any, model: str) -> tuple[Rate, ...]:  # noqa: ANN401 - as above
    for provider in _PROVIDERS:
        try:
            _, info = snapshot.find_provider_model(model, None, provider, None)
        except LookupError:
            continue
        priced = info.prices if isinstance(info.prices, list) else [info.prices]
        return tuple(rate for one in priced for rate in _tiers(getattr(one, "prices", one), _since(one)))
    return ()


def _since(priced: Any) -> int | None:  # noqa: ANN401 - as above
    """Return since when a price holds, in ms; None where that depends on the hour of the day."""
    constraint = getattr(priced, "constraint", None)
    if constraint is None:
        return 0
    start = getattr(constraint, "start_date", None)
    if not isinstance(start, date):
        return None
    return round(datetime(start.year, start.month, start.day, tzinfo=UTC).timestamp() * 1000)


def _tiers(prices: Any, since: int | None) -> Iterable[Rate]:  # noqa: ANN401 - as above
    values = [getattr(prices, field, None) for field in _FIELDS]
    if since is None or values[0] is None or values[1] is None:
        return
    starts = {0} | {tier.start for value in values for tier in getattr(value, "tiers", ())}
    for start in sorted(starts):
        fresh, output, read, written, kept = (_at(value, start) for value in values)
        yield Rate(fresh or 0.0, output or 0.0, read, written, kept, since, start)


def _at(value: Any, start: int) -> float | None:  # noqa: ANN401 - as above
    if value is None or isinstance(value, Decimal):
        return None if value is None else float(value)
    reached = [tier.price for tier in value.tiers if tier.start <= start]
    return float(reached[-1] if reached else value.base)
