"""The policies that are compared: ours by each of its rules, through the product's own choice, and what others do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fortnight_sim.known import View
from fortnight_sim.rivals import RIVALS
from oulipoly_engine.core.balance.balance import TieRule, choose

Policy = Callable[[View], int | None]


def ours(rule: TieRule, *, sticky: bool = False) -> Policy:
    """Return our choice with a tie rule."""

    def decide(view: View) -> int | None:
        candidates = view.candidates()
        stay = candidates[view.last].account if sticky and view.last is not None else None
        attempted = {candidates[index].account for index in view.attempted}
        return choose(
            "model", candidates, view.now, rule, sticky_to=stay, attempted=attempted, expected=view.expectation()
        ).index

    return decide


OURS: Mapping[str, Policy] = {
    **{f"ours ({rule})": ours(rule) for rule in TieRule},
    "ours (sticky)": ours(TieRule.FEWEST_CALLS, sticky=True),
}
POLICIES: Mapping[str, Policy] = {**OURS, **RIVALS}
DEFAULT = f"ours ({TieRule.FEWEST_CALLS})"
JUDGED = f"ours ({list(TieRule)[-1]})"  # the rule that the tables compare with rivals
