"""The policies that are compared: ours in its variants, and what people do without it.

All get the same: the accounts' stored readings. All pass over an account that is known to be spent.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import datetime

from oulipoly_engine.core.balance.balance import Candidate, TieRule, choose
from oulipoly_engine.core.quota.windows import mark_holds
from oulipoly_engine.records import Record

SWITCH_AT = 0.98


class View(Record):
    """What a policy may know."""

    candidates: Sequence[Candidate]  # by index
    now: datetime
    attempted: frozenset[str]  # accounts that refused this very prompt
    last: int | None  # index of the account chosen last
    rng: random.Random


Policy = Callable[[View], int | None]


def ours(rule: TieRule = TieRule.FEWEST_CALLS, *, sticky: bool = False) -> Policy:
    """Return our choice with a tie rule."""

    def decide(view: View) -> int | None:
        stay = view.candidates[view.last].account if sticky and view.last is not None else None
        return choose("model", view.candidates, view.now, rule, sticky_to=stay, attempted=view.attempted).index

    return decide


def round_robin(view: View) -> int | None:
    """Take the next account in turn."""
    return _next_after(view, _open(view))


def fill_first(view: View) -> int | None:
    """Take the first account that is not spent."""
    return next(iter(_open(view)), None)


def stay_until_98(view: View) -> int | None:
    """Stay on an account until a window of it is 98 % used, then take the next in turn."""
    fresh = [index for index in _open(view) if most_used(view, index) < SWITCH_AT]
    if view.last in fresh:
        return view.last
    return _next_after(view, fresh or _open(view))


def at_random(view: View) -> int | None:
    """Take any account that is not spent."""
    places = _open(view)
    return view.rng.choice(places) if places else None


def least_used(view: View) -> int | None:
    """Take the account whose fullest window is the least used."""
    return min(_open(view), key=lambda index: most_used(view, index), default=None)


def most_used(view: View, index: int) -> float:
    """Return the used fraction of an account's fullest live window."""
    return max(
        (window.used for window in view.candidates[index].quota.windows if window.resets_at > view.now), default=0
    )


def _open(view: View) -> list[int]:
    """Return the accounts that are not known to be spent, as our own choice would."""
    return [
        candidate.index
        for candidate in view.candidates
        if candidate.account not in view.attempted
        and not mark_holds(candidate.quota, view.now)
        and most_used(view, candidate.index) < 1
    ]


def _next_after(view: View, places: Sequence[int]) -> int | None:
    last = -1 if view.last is None else view.last
    return min(places, key=lambda index: (index <= last, index), default=None)


POLICIES: dict[str, Policy] = {
    "ours (fewest-calls)": ours(),
    "ours (lowest-use)": ours(TieRule.LOWEST_USE),
    "ours (most-headroom)": ours(TieRule.MOST_HEADROOM),
    "ours, sticky": ours(sticky=True),
    "round-robin": round_robin,
    "fill-first": fill_first,
    "stay-until-98": stay_until_98,
    "random": at_random,
    "least-used-percent": least_used,
}
OURS = "ours (fewest-calls)"
