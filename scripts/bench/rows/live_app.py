"""The app's pane of a live session: coming to one of 10,000 items, and the app's share of a core in a flood."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

from measure import BenchBroken, Series, isolated
from report import Limit, Result
from world import World

from rows.live import FLOOD, FLOOD_S, opened_session

_ITEMS = 10_000
_ATTACH_MS, _SHARE_PERCENT = 150.0, 15.0
_SIZE = (100, 30)
_PATIENCE_S = 20.0
_FIRST = 1_000_000  # behind all that the host will say
_AT = "2026-11-22T06:00:00.000000Z"


def attach(world: World) -> Result:
    """Measure from the order to show a session of 10,000 items until its last words are on the screen."""

    def work() -> list[float]:
        with opened_session(world, "live-attach") as (engine, session):
            _fill(engine, session)
            return asyncio.run(_attach(session, world.rounds(20)))

    taken = Series(tuple(isolated(work)))
    return Result(f"a session of {_ITEMS} items on the screen, median", taken.median, "ms", Limit(_ATTACH_MS), taken)


def flood(world: World) -> Result:
    """Measure the app's share of a core while 50,000 words come in 10 s, and how far its screen is behind."""

    def work() -> dict[str, float]:
        with opened_session(world, "live-flood-app") as (_, session):
            return asyncio.run(_flood(session))

    found = isolated(work)
    return Result("the app in a flood, of a core", found["percent"], "%", Limit(_SHARE_PERCENT), facts=found)


def _fill(engine: Any, session: str) -> None:  # noqa: ANN401 - imported late
    from oulipoly_engine.core.live.events import Item, ItemEnded, Numbered  # noqa: PLC0415 - the harness must stay small
    from oulipoly_engine.store.base.db import open_store  # noqa: PLC0415 - the same
    from oulipoly_engine.store.live import live_events  # noqa: PLC0415 - the same

    store = open_store(engine.paths.state_db)
    said = [ItemEnded(Item(str(n), "agent_message", "completed", f"words number {n} " * 6)) for n in range(_ITEMS)]
    live_events.append(store, session, [Numbered(_FIRST + n, _AT, event) for n, event in enumerate(said)])
    store.close()


async def _attach(session: str, rounds: int) -> list[float]:
    async def measure(app: Any, until: Callable[[Callable[[], bool]], Awaitable[None]]) -> list[float]:  # noqa: ANN401
        began = time.perf_counter()
        app.order("live open", [session])
        await until(lambda: f"words number {_ITEMS - 1}" in _text(app))
        return [(time.perf_counter() - began) * 1000]

    taken: list[float] = []
    for _ in range(rounds):
        taken += await _with_app(measure)
    return taken


async def _flood(session: str) -> dict[str, float]:
    async def measure(app: Any, until: Callable[[Callable[[], bool]], Awaitable[None]]) -> dict[str, float]:  # noqa: ANN401
        app.order("live open", [session])
        await until(lambda: app.frame.find("live") is not None and app.frame.find("live").session is not None)
        before, began = time.process_time(), time.monotonic()
        await asyncio.to_thread(app.engine.live.send, session, f"flood {FLOOD} {FLOOD_S / FLOOD}")
        await asyncio.sleep(FLOOD_S)
        share = 100 * (time.process_time() - before) / (time.monotonic() - began)
        ended = time.monotonic()
        await until(lambda: "done" in _text(app))
        return {"percent": share, "behind_s": time.monotonic() - ended}

    found: dict[str, float] = await _with_app(measure)
    return found


async def _with_app(measure: Callable[..., Awaitable[Any]]) -> Any:  # noqa: ANN401 - what it measures
    from oulipoly_engine.clock import SystemClock  # noqa: PLC0415 - the harness itself must stay small
    from oulipoly_engine.paths import from_environment  # noqa: PLC0415 - the same
    from oulipoly_tui.app import AgentsApp, Options  # noqa: PLC0415 - the same
    from oulipoly_tui.entry import open_engine  # noqa: PLC0415 - the same

    paths = from_environment(dict(os.environ))
    options = Options(reads_quota=False, reduced_motion=True)
    app = AgentsApp(lambda: open_engine(paths, read_only=False), SystemClock().now, options)
    async with app.run_test(size=_SIZE, notifications=False) as pilot:

        async def until(condition: Callable[[], bool]) -> None:
            end = time.monotonic() + _PATIENCE_S
            while not condition():
                if time.monotonic() > end:
                    raise BenchBroken(f"the app did not show what was waited for:\n{_text(app)}")
                await asyncio.sleep(0.002)

        await until(lambda: app.snapshot is not None and not app.busy)
        await pilot.pause()
        found = await measure(app, until)
        app.exit()
    if app.engine is not None:
        app.engine.close()
    return found


def _text(app: Any) -> str:  # noqa: ANN401 - imported late
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)
