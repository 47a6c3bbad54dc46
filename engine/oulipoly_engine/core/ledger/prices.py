"""What tokens cost: rates of models, by date and by size of the request, and the value of calls. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.core.ledger.calls import Tokens
from oulipoly_engine.records import Record

_MILLION = 1_000_000


class Rate(Record):
    """USD per million tokens; None: not told."""

    input: float
    output: float
    cache_read: float | None = None  # None: as input
    cache_write: float | None = None  # None: as input
    cache_write_1h: float | None = None  # None: as cache_write
    from_ms: int = 0  # since when, in ms since 1970
    above_input: int = 0  # for calls with more input than so many tokens, cached ones included

    def value(self, tokens: Tokens) -> float:
        """Return what tokens cost, in USD."""
        read = self.input if self.cache_read is None else self.cache_read
        written = self.input if self.cache_write is None else self.cache_write
        kept = written if self.cache_write_1h is None else self.cache_write_1h
        return (
            tokens.input * self.input
            + tokens.output * self.output
            + tokens.cache_read * read
            + (tokens.cache_write - tokens.cache_write_1h) * written
            + tokens.cache_write_1h * kept
        ) / _MILLION


def rate_at(rates: Sequence[Rate], at_ms: int, above: int) -> Rate | None:
    """Return the rate of calls at an instant whose input exceeds `above` tokens and no further threshold."""
    fitting = [rate for rate in rates if rate.from_ms <= at_ms and rate.above_input <= above]
    return max(fitting, key=lambda rate: (rate.from_ms, rate.above_input), default=None)
