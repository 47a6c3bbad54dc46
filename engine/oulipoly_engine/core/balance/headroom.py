"""The headroom of an account: how much of its windows is left for the time that they have to last. Pure.

The contract's score is what is left times the hours to the reset. It compares windows of different lengths by hours, so
that an account with a week alone scores 168 where one with a 5 h window scores 5 at most, and it saves what is about to
lapse. The simulated fortnight shows the price (`scripts/bench/fortnight.py`): the accounts without a short window are
spent first, and none is left for the busy hours. Here each window counts by shares: of itself, and of its own length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from oulipoly_engine.core.balance.decision import Verdict, WindowVerdict
from oulipoly_engine.core.quota.windows import MIN_HOURS, length_h
from oulipoly_engine.core.text import quantities

NEARLY_SPENT = 0.95  # projected use from which an account comes last: a prompt begun there may be cut off
_COMES_LAST = 6.0  # more than any two accounts' headrooms differ by otherwise

# Each halving of the time left is worth 0.4 x ln(2), or 28 % of a window. This and the mark above were chosen on seeds
# that the published table does not use (0 to 29): less of it leaves more quota unused at the resets, more of it meets
# the first refusal sooner.
_TIME_WEIGHT = 0.4


def headroom(windows: Sequence[WindowVerdict], reserve: float = 0.0) -> float:
    """Return the least headroom over an account's live windows: what is left, plus a bonus for a near reset.

    reserve: 0..1 of every window that stays unspent.
    About 0..5.3; below 0 when a window is almost exhausted. A window without a projection counts as it was last read.
    """
    least, is_nearly_spent = math.inf, False
    for verdict in windows:
        if not verdict.is_live:
            continue
        used = (verdict.window.used if verdict.projected_used is None else verdict.projected_used) + reserve
        hours = max(MIN_HOURS, verdict.hours_to_reset)
        share_left = min(1.0, hours / length_h(verdict.window.label, hours))
        least = min(least, 1 - used - _TIME_WEIGHT * math.log(share_left))
        is_nearly_spent = is_nearly_spent or used >= NEARLY_SPENT
    if least == math.inf:
        return -math.inf
    return least - _COMES_LAST if is_nearly_spent else least


def left_text(headroom: float) -> str:
    """Return a headroom of ours as people read it: how much of a window, a near reset counted as more."""
    if not math.isfinite(headroom):
        return "nothing that is known"
    if headroom < -_COMES_LAST / 2:
        return f"{headroom + _COMES_LAST:.2f} windows, almost exhausted"
    return f"{headroom:.2f} windows"


def score_text(score: float) -> str:
    """Return the contract's score as people read it, who call it headroom."""
    return f"{quantities.headroom(score)} {quantities.HEADROOM_UNIT}"


def known_headroom(verdict: Verdict) -> float:
    """Return the headroom of an account that cannot be scored, by what its last reading says.

    To the percent, so that readings a moment apart count as equal. Windows that have all reset are as good as unused.
    0 where nothing is known, and at most 0 where a window is hidden: behind whoever has something left, before whoever
    is almost exhausted.
    """
    if not verdict.windows:
        return 0.0
    reserve = verdict.candidate.reserve
    known = round(headroom(verdict.windows, reserve) if verdict.live_windows else 1 - reserve, 2)
    return min(0.0, known) if verdict.hides_window else known
