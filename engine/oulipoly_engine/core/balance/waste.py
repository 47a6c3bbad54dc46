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
from collections.abc import Iterable, Sequence

from oulipoly_engine.core.balance.decision import Expectation, Verdict, Waste, WindowVerdict
from oulipoly_engine.core.quota.burn import RateSource
from oulipoly_engine.core.quota.windows import MIN_HOURS, length_h

HOPELESS = 0.95  # chance of being cut off from which a prompt that was cut off before is not begun again

_LONG_H = 24.0  # windows from here on hold days of work, shorter ones are met within a sitting
_WINDOWS_RATIO = 8.0  # how many times the rate of a long window that of a short one is, before any was learned
_LONG_RATE = 1 / 3000  # of the window a turn, where no rate is known at all
_SHORT_RATE = 1 / 300
_LEAST_LEFT = 0.001
_MARGIN = 0.03  # of a window: readings are rounded, and late by a minute

# In shares of the prompt, whose own cut-off counts as one: what it took is thrown away.
# Of a turn of a long and of a short window: that the window is used up early, at which pace, within which spread; and
# how little is left of it.
_LONG = (0.575, -0.25, 0.99, 0.143)
_SHORT = (0.48, -0.73, 1.6, 0.083)
_SHORT_ABSENT = 0.4  # an account without a short window can take any sitting: it is kept for the busy ones
_SHORT_UNOPENED = -0.1  # its hours begin with the first prompt: the sooner, the more of them there are
_PROMISED = 0.05  # for as much as the prompt itself that is in flight
_CUT_OFF_TOO = 0.22  # of what is in flight: the account cuts it off with the prompt
_TAKEN_MEANWHILE = 1.2  # of what is in flight, until the prompt ends: what is long goes on for longer than expected
_TAKEN_BEFORE = 0.66  # of what is in flight that is taken first in any case


def find_ratio(verdicts: Iterable[Verdict]) -> float:
    """Return how many times a long window's rate a short one's is, over the accounts that have learned both."""
    short = long = 0.0
    for verdict in verdicts:
        own_short = _own_rate(verdict.windows, is_short=True)
        own_long = _own_rate(verdict.windows, is_short=False)
        if own_short is not None and own_long is not None:
            short += own_short
            long += own_long
    return short / long if long else _WINDOWS_RATIO


def weigh(verdict: Verdict, expected: Expectation, ratio: float, reset_weight: float) -> Waste:
    """Return what the prompt is likely to waste on the account of `verdict`.

    ratio: of `find_ratio`. reset_weight: 0.., what a halving of the time to a long window's reset is worth, over ln 2.
    """
    candidate = verdict.candidate
    promised = candidate.promised_turns
    survival = 1.0
    long_prices: list[float] = []
    short_prices: list[float] = []
    has_short = candidate.quota.peak_live_windows > len(verdict.windows)  # a vendor hides the one that nothing runs in
    for window in verdict.windows:
        length = length_h(window.window.label, window.hours_to_reset)
        is_short = length < _LONG_H
        has_short = has_short or is_short
        if not window.is_live:
            continue
        rate = _find_rate(verdict.windows, window, ratio, is_short=is_short)
        left = 1 - candidate.reserve - window.window.used - candidate.turns_since_refresh * rate
        survival *= 1 - _cut_off((left - _MARGIN) / rate, promised, expected)
        left = max(left - promised * rate, _LEAST_LEFT)
        time = min(1.0, max(window.hours_to_reset, MIN_HOURS) / length)
        if is_short:
            short_prices.append(_price(left, time, *_SHORT))
        else:
            long_prices.append(_price(left, time, *_LONG) + reset_weight * math.log(time))
    unopened = _SHORT_UNOPENED if has_short else _SHORT_ABSENT
    price = max(long_prices, default=0.0) + max(short_prices, default=unopened)
    beside = promised / max(1.0, expected.turns)
    cut_off = 1 - survival
    return Waste((cut_off * (1 + _CUT_OFF_TOO * beside) + price + _PROMISED * beside) * expected.turns, cut_off)


def _price(left: float, time: float, early: float, middle: float, spread: float, spent: float) -> float:
    """Return what a turn of a window costs later: the less is left for the time to the reset, the more."""
    return early * _normal((math.log(time / left) + middle) / spread) - spent * math.log(left)


def _cut_off(left: float, promised: float, expected: Expectation) -> float:
    """Return the chance that the prompt and what is in flight take more than the turns that are left.

    A prompt that was cut off before takes more than it took then.
    """
    if left <= promised * _TAKEN_BEFORE:
        return 1.0
    meanwhile = _TAKEN_MEANWHILE * promised
    if expected.at_least <= 0:
        return _more(left, expected.turns + meanwhile, expected)
    if left - meanwhile <= expected.at_least:
        return 1.0
    reached = _more(expected.at_least, expected.turns, expected)
    return _more(left - meanwhile, expected.turns, expected) / reached if reached > 0 else 1.0


def _more(turns: float, mean: float, expected: Expectation) -> float:
    """Return the chance of more turns than `turns`: of prompts of which each is lognormal, and whose sum has a mean."""
    variance = math.log1p(math.expm1(expected.spread**2) * expected.turns / mean)
    spread = math.sqrt(max(variance, 0.0025))
    return _normal((math.log(mean / turns) - spread * spread / 2) / spread)


def _normal(deviations: float) -> float:
    return 0.5 * math.erfc(-deviations / math.sqrt(2))


def _find_rate(windows: Sequence[WindowVerdict], window: WindowVerdict, ratio: float, *, is_short: bool) -> float:
    """Return the window's own rate, or one by the account's other windows; a pool's accounts differ in size."""
    if window.rate is not None and window.rate_source is RateSource.OWN:
        return window.rate
    other = _own_rate(windows, is_short=not is_short)
    if other is not None:
        return other * ratio if is_short else other / ratio
    if window.rate is not None:
        return window.rate
    return _SHORT_RATE if is_short else _LONG_RATE


def _own_rate(windows: Sequence[WindowVerdict], *, is_short: bool) -> float | None:
    rates = [
        window.rate
        for window in windows
        if window.rate_source is RateSource.OWN
        and window.rate is not None
        and (length_h(window.window.label, window.hours_to_reset) < _LONG_H) == is_short
    ]
    return max(rates, default=None)
