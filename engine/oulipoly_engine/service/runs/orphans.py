"""Close the rows of runners that were killed: nobody else will ever say how these ended."""

from __future__ import annotations

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.process.liveness import was_alive_at
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import invocations

GUARD_DROP = "guard_drop"  # the contract's word for an end that nobody saw


def close_lost(store: Store, clock: Clock) -> int:
    """Make running rows final whose runner is gone, and return how many there were.

    Compare-and-set: a row that ends by itself meanwhile stays as it is. A millisecond where nothing is lost.
    """
    lost = [row_id for row_id, pid, began in invocations.find_running_owners(store) if not was_alive_at(pid, began)]
    for row_id in lost:
        text = "the process that ran it was killed"
        invocations.end(store, row_id, Outcome(False, -1, clock.now(), None, GUARD_DROP, text))
    return len(lost)
