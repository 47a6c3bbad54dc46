"""What a prompt on an account is likely to waste of its pool, in turns: the number of the rule `least-waste`. Pure.

A prompt that an account cuts off is begun again elsewhere, and what it took is thrown away. A turn out of a window that
is used up before its reset is missing later. And what a window has left at its reset expires, so that a near reset
makes its turns cheaper. The three are one number, the share of the prompt that is likely to be wasted, times the turns
that it is expected to take.

The weights were chosen on the simulated fortnights of `scripts/bench/fortnight.py` with the seeds 20000 to 20009;
published figures come from other seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from oulipoly_engine.core.balance.decision import Candidate, Expectation, Waste, WindowVerdict
from oulipoly_engine.core.quota.burn import RateSource
from oulipoly_engine.core.quota.windows import QuotaState, length_h

HOPELESS = 0.95  # chance of being cut off from which a prompt that was cut off before is not begun again

_LONG_H = 24.0  # windows from here on hold days of work, shorter ones are met within a sitting
_WINDOWS_RATIO = 8.0  # how many times the rate of a long window that of a short one is, before any was learned
_LONG_RATE = 1 / 3000  # of the window a turn, where no rate is known at all
_SHORT_RATE = 1 / 300
_LEAST_LEFT = 0.001
_LOG_LEAST_LEFT = math.log(_LEAST_LEFT)
_LEAST_TIME = 0.0001  # of a window's length: a minute of a week
_NEVER = 3.7  # standard deviations: one prompt in 10,000
_ROOT_HALF = math.sqrt(0.5)
_OWN = RateSource.OWN  # bound once, as in core.quota.burn
_MARGIN = 0.03  # of a window: readings are rounded, and late by a minute

# In shares of the prompt, whose own cut-off counts as one: what it took is thrown away.
# Of a turn of a long and of a short window: half of what it costs that the window is used up early, at which pace,
# within which spread times the root of 2; and how little is left of it.
_LONG = (0.2875, -0.25, 1.4, 0.143)
_SHORT = (0.24, -0.73, 2.263, 0.083)
_SHORT_ABSENT = 0.4  # an account without a short window can take any sitting: it is kept for the busy ones
_SHORT_UNOPENED = -0.1  # its hours begin with the first prompt: the sooner, the more of them there are
_PROMISED = 0.05  # for as much as the prompt itself that is in flight
_CUT_OFF_TOO = 0.22  # of what is in flight: the account cuts it off with the prompt
_TAKEN_MEANWHILE = 1.2  # of what is in flight, until the prompt ends: what is long goes on for longer than expected
_TAKEN_BEFORE = 0.66  # of what is in flight that is taken first in any case


class Weigher:
    """Weighs what one prompt would waste on each account of a pool; what they share is computed once."""

    def __init__(self, quotas: Sequence[QuotaState], expected: Expectation, reset_weight: float) -> None:
        """quotas: of the pool. reset_weight: 0.., what a halving of the time to a reset is worth, over ln 2."""
        self._expected = expected
        self._reset_weight = reset_weight
        self._quotas = quotas
        self._ratio: float | None = None  # of rates; mostly not needed
        spread = max(expected.spread, 0.05)
        self._variance = math.expm1(spread * spread)
        self._never = math.exp(_NEVER * spread)
        self._lengths: dict[str | None, float] = {}

    def weigh(self, candidate: Candidate, windows: Sequence[WindowVerdict]) -> Waste:
        """Return what the prompt is likely to waste on an account."""
        promised = candidate.promised_turns
        known = 1 - candidate.reserve
        log = math.log
        erfc = math.erfc
        meanwhile = _TAKEN_MEANWHILE * promised
        enough = self._never * (self._expected.turns + meanwhile) if self._expected.at_least <= 0 else math.inf
        own: tuple[float, float] | None = None  # rates of a long and of a short window
        survival = 1.0
        long_price = short_price = -math.inf
        has_short = candidate.quota.peak_live_windows > len(windows)  # a vendor hides the one that nothing runs in
        for verdict in windows:
            window = verdict.window
            hours = verdict.hours_to_reset
            length = self._lengths.get(window.label) or self._length(window.label, hours)
            is_short = length < _LONG_H
            has_short = has_short or is_short
            if not verdict.is_live:
                continue
            rate = verdict.rate
            if rate is None or verdict.rate_source is not _OWN:
                own = own or _own_rates(windows)
                rate = self._lend(own[not is_short], rate, is_short=is_short)
            left = known - window.used - candidate.turns_since_refresh * rate
            turns_left = (left - _MARGIN) / rate
            if turns_left < enough:
                survival *= 1 - self._cut_off(turns_left, promised, meanwhile)
            left -= promised * rate
            log_left = log(left) if left > _LEAST_LEFT else _LOG_LEAST_LEFT
            log_time = 0.0
            if hours < length:
                log_time = log(max(hours / length, _LEAST_TIME))
            early, middle, spread, spent = _SHORT if is_short else _LONG
            # A turn costs the more later, the less is left for the time to the reset.
            price = early * erfc((log_left - log_time - middle) / spread) - spent * log_left
            if not is_short:
                price += self._reset_weight * log_time
                if price > long_price:
                    long_price = price
            elif price > short_price:
                short_price = price
        if long_price == -math.inf:
            long_price = 0.0
        if short_price == -math.inf:
            short_price = _SHORT_UNOPENED if has_short else _SHORT_ABSENT
        turns = self._expected.turns
        beside = promised / max(1.0, turns)
        cut_off = 1 - survival
        share = cut_off * (1 + _CUT_OFF_TOO * beside) + long_price + short_price + _PROMISED * beside
        return Waste(share * turns, cut_off)

    def _length(self, label: str | None, hours: float) -> float:
        """Return how long a window is, in hours. A label that says nothing goes by the time that is left."""
        if label is None:
            return length_h(None, hours)
        length = length_h(label, hours)
        if length == length_h(label, 0.0):
            self._lengths[label] = length
        return length

    def _cut_off(self, left: float, promised: float, meanwhile: float) -> float:
        """Return the chance that the prompt and what is in flight take more than the turns that are left.

        A prompt that was cut off before takes more than it took then.
        """
        if left <= promised * _TAKEN_BEFORE:
            return 1.0
        expected = self._expected
        if expected.at_least <= 0:
            return self._more(left, expected.turns + meanwhile)
        if left - meanwhile <= expected.at_least:
            return 1.0
        reached = self._more(expected.at_least, expected.turns)
        return self._more(left - meanwhile, expected.turns) / reached if reached > 0 else 1.0

    def _more(self, turns: float, mean: float) -> float:
        """Return the chance of more than `turns`, for prompts of which each is lognormal, and whose sum has a mean."""
        if turns > mean * self._never:
            return 0.0
        variance = math.log1p(self._variance * self._expected.turns / mean)
        return _normal((math.log(mean / turns) - variance / 2) / math.sqrt(variance))

    def _lend(self, other: float, rate: float | None, *, is_short: bool) -> float:
        """Return a rate by the account's other windows, else the pool's: its accounts differ in size."""
        if other > 0:
            if self._ratio is None:
                self._ratio = _find_ratio(self._quotas)
            return other * self._ratio if is_short else other / self._ratio
        if rate is not None:
            return rate
        return _SHORT_RATE if is_short else _LONG_RATE


def _find_ratio(quotas: Sequence[QuotaState]) -> float:
    """Return how many times a long window's rate a short one's is, over the accounts that have learned both."""
    short = long = 0.0
    for quota in quotas:
        rates: dict[bool, float] = {}
        for window in quota.windows:
            if window.last_delta and window.last_delta_turns:
                is_short = length_h(window.label, _LONG_H) < _LONG_H
                rates[is_short] = max(rates.get(is_short, 0.0), window.last_delta / window.last_delta_turns)
        if len(rates) > 1:
            short += rates[True]
            long += rates[False]
    return short / long if short * long > 0 else _WINDOWS_RATIO


def _normal(deviations: float) -> float:
    return 0.5 * math.erfc(-deviations * _ROOT_HALF)


def _own_rates(windows: Sequence[WindowVerdict]) -> tuple[float, float]:
    """Return the greatest rate that an account has learned of its long and of its short windows; 0: of none."""
    rates = [0.0, 0.0]
    for verdict in windows:
        if verdict.rate_source is _OWN and verdict.rate is not None:
            is_short = length_h(verdict.window.label, verdict.hours_to_reset) < _LONG_H
            rates[is_short] = max(rates[is_short], verdict.rate)
    return rates[0], rates[1]
