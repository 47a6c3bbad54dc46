"""What drawing in the app costs: a burn chart anew."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from measure import Series, isolated
from report import Limit, Result
from world import World

_LIMIT_MS = 5.0
_SIZES = ((100, 22), (160, 25), (200, 40))  # the first one is the one that the goal was set for
_CYCLES, _READINGS = 34, 10  # a week of a 5-hour window, in as many points as the app asks for at such widths


def chart(world: World) -> Result:
    """Time the CPU of a chart's update: it is drawn a minute later, and made into what the terminal is written from."""
    found: dict[str, Any] = {}
    for size in _SIZES:
        found[f"{size[0]}x{size[1]}"] = isolated(lambda size=size: asyncio.run(_updated(world.rounds(60), size)))
    first = next(iter(found.values()))["whole"]
    facts: dict[str, object] = {
        f"{name}, drawn and in all": f"{min(one['drawn']):.1f}, {min(one['whole']):.1f} ms"
        for name, one in found.items()
    }
    facts["readings"] = _CYCLES * _READINGS
    meaning = f"CPU of a burn chart's whole update at {next(iter(found))}, minimum"
    return Result(meaning, min(first), "ms", Limit(_LIMIT_MS), Series(tuple(first)), facts=facts)


async def _updated(rounds: int, size: tuple[int, int]) -> dict[str, list[float]]:
    from textual.app import App  # noqa: PLC0415 - the harness must stay small

    from oulipoly_tui.widgets.burn_chart import BurnChart  # noqa: PLC0415 - as above

    app: Any = App()
    found: dict[str, list[float]] = {"drawn": [], "whole": []}
    async with app.run_test(size=size) as pilot:
        shown = BurnChart()
        await app.mount(shown)
        for number in range(-1, rounds):
            burn = _burn(timedelta(minutes=number))
            began = time.process_time()
            shown.show_burn(burn)
            drawn = time.process_time()
            shown.render_lines(shown.size.region)
            ended = time.process_time()
            if number >= 0:  # the first one asks the style sheet
                found["drawn"].append((drawn - began) * 1000)
                found["whole"].append((ended - began) * 1000)
            await pilot.pause()
    return found


def _burn(later: timedelta) -> Any:  # noqa: ANN401 - a Burn
    from oulipoly_tui.view.quota.burn_chart import Ahead, Burn  # noqa: PLC0415 - as above

    now, length = datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(hours=5)
    begins = [now - length * number for number in range(_CYCLES, 0, -1)]
    return Burn(
        since=begins[0] + later,
        until=now + timedelta(days=2) + later,
        now=now + later,
        cycles=tuple(
            tuple((begin + length * point / _READINGS, 0.8 * point / _READINGS) for point in range(_READINGS))
            for begin in begins
        ),
        even=tuple((begin, begin + length) for begin in begins[-12:]),
        resets=tuple(begin + length for begin in begins),
        unused=tuple((begin + length, 0.28, True) for begin in begins),
        ahead=Ahead((now, 0.5), now + timedelta(hours=3), 0.8, 0.6, 1.0),
    )
