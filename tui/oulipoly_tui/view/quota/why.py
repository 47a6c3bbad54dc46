"""The why screen: the whole decision in lines. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.balance.decision import describe_method
from oulipoly_engine.core.text.quantities import HEADROOM_UNIT
from oulipoly_tui.view import words
from oulipoly_tui.view.quota.pools import member_details
from oulipoly_tui.view.transcript.spans import Line

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import PoolView, Snapshot


def why_lines(snapshot: Snapshot, pool: PoolView) -> tuple[Line, ...]:
    """Return what was decided and why, then every member with its numbers."""
    decision = pool.decision
    method = "nobody can serve"
    if decision.account is not None:
        method = describe_method(decision.method, decision.reason)
    lines: list[Line] = [
        ((pool.model.name, "heading"), (f" → {decision.account or 'nobody'}", "good" if decision.account else "bad")),
        ((words.local(decision.reason, decision.now), ""),),
        ((f"{method}; rule {decision.rule.value}", "dim"),),
    ]
    if pool.pin is not None:
        lines.append(((f"pinned to {pool.pin} for this app's next picks", "accent"),))
    if decision.band_floor is not None:
        lines.append(
            ((f"eligible: every headroom of at least {words.headroom(decision.band_floor)} {HEADROOM_UNIT}", "dim"),)
        )
    for verdict in decision.verdicts:
        lines.append(())
        lines += member_details(snapshot, pool, verdict.candidate.index)
    return tuple(lines)
