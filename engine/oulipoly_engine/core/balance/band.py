"""The band: who wins among accounts whose scores are within a factor of each other (contract, 1.5). Pure."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from oulipoly_engine.core.balance.decision import BAND_FACTOR, TieRule
from oulipoly_engine.core.quota.windows import MIN_HOURS
from oulipoly_engine.records import Record


class Contender(Record):
    """A scored account, as the band sees it."""

    place: int  # in the caller's order, from 0: the last tie-break
    score: float
    invocation_count: int = 0
    worst_projected_used: float | None = None
    soonest_reset_hours: float | None = None
    headroom: float = 0.0  # of core.headroom; looked at by its own rule only


class Pick(Record):
    """Who won among the scored accounts, and against how many."""

    winner: Contender
    band_floor: float | None  # None: no band was formed, the highest score won
    band_size: int


def pick(contenders: Sequence[Contender], rule: TieRule) -> Pick:
    """Choose among scored accounts: the highest score, or by `rule` among those with at least half of it.

    Most headroom has a band of its own: whoever has a score above 0.

    contenders: at least one, by place. Exact ties of a highest score without headroom go to the last one.
    """
    best = max(contender.score for contender in contenders)
    finite = all(math.isfinite(contender.score) for contender in contenders)
    if len(contenders) < 2 or not finite or best <= 0:
        return Pick(_last_highest(contenders), None, 1)
    if rule is TieRule.MOST_HEADROOM:
        band = [contender for contender in contenders if contender.score > 0]
        floor = min(contender.score for contender in band)
    else:
        floor = best / BAND_FACTOR
        band = [contender for contender in contenders if contender.score >= floor]
    return Pick(_break_tie(band, rule), floor, len(band))


def _last_highest(contenders: Sequence[Contender]) -> Contender:
    winner = contenders[0]
    for contender in contenders[1:]:
        if not contender.score < winner.score:  # not `>=`: what cannot be compared counts as equal, and the last wins
            winner = contender
    return winner


def _break_tie(band: Sequence[Contender], rule: TieRule) -> Contender:
    if rule is TieRule.FEWEST_CALLS:
        return min(band, key=lambda contender: (contender.invocation_count, -contender.score, contender.place))
    if rule is TieRule.MOST_HEADROOM:
        return min(band, key=lambda contender: (-contender.headroom, contender.invocation_count, contender.place))
    winner = band[0]
    for contender in band[1:]:
        if _uses_less(contender, winner):
            winner = contender
    return winner


def _uses_less(one: Contender, other: Contender) -> bool:
    """Tell whether `one` goes before `other` by lowest use; nearly equal numbers count as equal."""
    epsilon = sys.float_info.epsilon
    used, other_used = one.worst_projected_used, other.worst_projected_used
    if used is not None and other_used is not None and abs(used - other_used) > epsilon:
        return used < other_used
    if abs(one.score - other.score) > epsilon:
        return one.score > other.score
    resets = math.inf if one.soonest_reset_hours is None else one.soonest_reset_hours
    other_resets = math.inf if other.soonest_reset_hours is None else other.soonest_reset_hours
    if resets != other_resets and not abs(resets - other_resets) <= MIN_HOURS:
        return resets < other_resets
    return one.place < other.place
