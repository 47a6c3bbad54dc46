"""The policies that are compared: ours by each of its rules, through the product's own choice, and what others do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fortnight_sim.known import View
from fortnight_sim.rivals import RIVALS
from oulipoly_engine.core.balance.balance import TieRule, choose
from oulipoly_engine.core.balance.decision import DEFAULT_RESET_WEIGHT

RESET_WEIGHTS = (0.0, 0.2, 1.0)  # what the setting can do

Policy = Callable[[View], int | None]


def ours(rule: TieRule, *, sticky: bool = False, reset_weight: float = DEFAULT_RESET_WEIGHT) -> Policy:
    """Return our choice with a tie rule."""

    def decide(view: View) -> int | None:
        candidates = view.candidates()
        stay = candidates[view.last].account if sticky and view.last is not None else None
        attempted = {candidates[index].account for index in view.attempted}
        decision = choose(
            "model",
            candidates,
            view.now,
            rule,
            sticky_to=stay,
            attempted=attempted,
            expected=view.expectation(),
            reset_weight=reset_weight,
        )
        return decision.index

    return decide


OURS: Mapping[str, Policy] = {
    **{f"ours ({rule})": ours(rule) for rule in TieRule},
    **{
        f"ours ({TieRule.LEAST_WASTE} at {weight:g})": ours(TieRule.LEAST_WASTE, reset_weight=weight)
        for weight in RESET_WEIGHTS
    },
    "ours (sticky)": ours(TieRule.FEWEST_CALLS, sticky=True),
}
POLICIES: Mapping[str, Policy] = {**OURS, **RIVALS}
DEFAULT = f"ours ({TieRule.FEWEST_CALLS})"
JUDGED = f"ours ({list(TieRule)[-1]})"  # the rule that the tables compare with rivals
