"""What drawing in the app costs: a burn chart anew."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from measure import Series, isolated
from report import Limit, Result
from world import World

_LIMIT_MS = 5.0
_WIDTH, _HEIGHT = 160, 25
_CYCLES, _READINGS = 34, 10  # a week of a 5-hour window, in as many points as the app asks for at that width


def chart(world: World) -> Result:
    """Time the CPU of drawing a chart."""
    values = tuple(isolated(lambda: _drawn(world.rounds(40))))
    facts = {"columns": _WIDTH, "rows": _HEIGHT, "readings": _CYCLES * _READINGS}
    return Result(
        "CPU of drawing a burn chart anew, minimum", min(values), "ms", Limit(_LIMIT_MS), Series(values), facts=facts
    )


def _drawn(rounds: int) -> list[float]:
    from oulipoly_tui.view.burn_chart import Ahead, Burn, burn_chart  # noqa: PLC0415 - the harness must stay small

    now, length = datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(hours=5)
    begins = [now - length * number for number in range(_CYCLES, 0, -1)]
    burn = Burn(
        since=begins[0],
        until=now + timedelta(days=2),
        now=now,
        cycles=tuple(
            tuple((begin + length * point / _READINGS, 0.8 * point / _READINGS) for point in range(_READINGS))
            for begin in begins
        ),
        even=tuple((begin, begin + length) for begin in begins[-12:]),
        resets=tuple(begin + length for begin in begins),
        unused=tuple((begin + length, 0.28) for begin in begins),
        ahead=Ahead((now, 0.5), now + timedelta(hours=3), 0.8, 0.6, 1.0),
    )
    found = []
    for _ in range(rounds):
        began = time.process_time()
        burn_chart(burn, _WIDTH, _HEIGHT)
        found.append((time.process_time() - began) * 1000)
    return found
