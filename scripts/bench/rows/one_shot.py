"""What a one-shot costs when its CLI costs nothing."""

from __future__ import annotations

from measure import pairs, run
from report import Limit, Result
from world import World

_BUDGET_MS = 200  # DESIGN.md: configuration and state up to the spawn; here the record and the marker come on top


def added_to_true(world: World) -> Result:
    """Measure a one-shot of `true` beside the bare `true`."""
    world.serve("true", "true")
    ours, bare = world.one_shot("true", state="true"), world.bare("true")
    taken = pairs(lambda: run(ours).seconds * 1000, lambda: run(bare).seconds * 1000, world.rounds(20))
    return Result(
        "added to the bare `true`, spawn to reaping; of the minimums",
        taken.subject.least - taken.beside.least,
        "ms",
        Limit(_BUDGET_MS),
        taken.subject,
        taken.beside,
        taken.ratios,
        facts={"added_median_ms": taken.subject.median - taken.beside.median},
    )
