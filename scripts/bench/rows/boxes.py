"""What a box adds to the start of a program, at each level that this machine has."""

from __future__ import annotations

import time
from functools import partial

from measure import isolated, pairs
from report import Limit, Result
from world import World

_SEALED_MS = 40.0
_GUARDED_MS = 2.0


def spawn_levels(world: World) -> Result:
    """Time `true` to its end in a box of each level and without one, alternately."""
    added = isolated(lambda: _measure(world.rounds(60)))
    facts = {level: f"{more:+.2f} ms" for level, more in added.items()}
    facts["limits"] = f"guarded {_GUARDED_MS:g} ms, sealed {_SEALED_MS:g} ms"
    # One figure for both: the larger share of its limit.
    share = max(added.get("guarded", 0.0) / _GUARDED_MS, added.get("sealed", 0.0) / _SEALED_MS) * 100
    return Result("of its limit, the level nearest to it, medians", share, "%", Limit(100), facts=facts)


def _measure(rounds: int) -> dict[str, float]:
    from oulipoly_engine.core.boxes.box import Box, Level  # noqa: PLC0415 - the harness must stay small (measure.py)
    from oulipoly_engine.process.boxes.machine import available_levels  # noqa: PLC0415 - the same
    from oulipoly_engine.process.command import Command  # noqa: PLC0415 - the same
    from oulipoly_engine.process.spawn import DEVNULL, spawn  # noqa: PLC0415 - the same

    def start(box: Box | None) -> float:
        begun = time.perf_counter()
        with spawn(Command(("/bin/true",), {}, box=box), stdin=DEVNULL, stderr=DEVNULL) as child:
            child.wait()
        return (time.perf_counter() - begun) * 1000

    added = {}
    for found in available_levels():
        if found.is_available and found.level is not Level.NONE:
            box = Box(found.level)
            taken = pairs(partial(start, box), partial(start, None), rounds)
            added[found.level.value] = taken.subject.median - taken.beside.median
    return added
