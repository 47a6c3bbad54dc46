"""The app's pane of a live session: from a word to the screen, coming to 10,000 items, and its share of a core."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from measure import BenchBroken, Series, isolated
from report import Limit, Result
from world import World

from rows.live import FLOOD, FLOOD_S, opened_session, quantile
from rows.panes import Shown
from rows.terminals import COLUMNS, ROWS

_ITEMS = 10_000
_WORDS, _WORD_S = 150, 0.13  # the words of a turn, and the seconds between two: a model's pace
_SCREEN_P95_MS = 50.0
_ATTACH_MS, _SHARE_PERCENT = 150.0, 15.0
_SIZE = (100, 30)
_PATIENCE_S = 20.0
_FIRST = 1_000_000  # behind all that the host will say
_AT = "2026-11-22T06:00:00.000000Z"


def screen(world: World) -> Result:
    """Measure from a word of the CLI until it is in a cell of the app's terminal; every word is its own time."""
    count = max(100, world.rounds(_WORDS))

    def work() -> list[float]:
        with (
            opened_session(world, "live-screen") as (engine, session),
            _Terminal(world, "live-screen") as app,
        ):
            app.until("1 Pools")
            app.rest(1.0)
            app.type(f":live open {session}\r")
            app.until(session[:8])
            app.rest(1.0)
            engine.live.send(session, f"flood {count} {_WORD_S}")
            return app.lags(count)

    taken = Series(tuple(isolated(work)))
    facts = {"p50_ms": taken.median, "most_ms": max(taken.values), "words": len(taken.values)}
    meaning = f"a word on the app's terminal, {COLUMNS}x{ROWS}, 95 %"
    return Result(meaning, quantile(list(taken.values), 95), "ms", Limit(_SCREEN_P95_MS), taken, facts=facts)


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


class _Terminal(Shown):
    """The app in a terminal that answers as a real one does: it then gets a picture whole or not at all."""

    def __init__(self, world: World, state: str) -> None:
        from oulipoly_engine.terminal.emulators.ghostty.screen import GhosttyScreen  # noqa: PLC0415 - the harness itself must stay small
        from oulipoly_engine.terminal.protocol.screen import ScreenLimits  # noqa: PLC0415 - the same

        self._emulated = GhosttyScreen(ScreenLimits(0, COLUMNS, ROWS))
        super().__init__(world, (), state=state)

    def read(self, seconds: float) -> bool:
        """Read what comes first within some seconds, and show it."""
        before = len(self.drawn)
        came = super().read(seconds)
        self._emulated.feed(bytes(self.drawn[before:]))
        self.type(self._emulated.take_side_effects().replies.decode())
        return came

    def lags(self, count: int) -> list[float]:
        """Return the milliseconds after which each of so many words was in a cell, whose text is when it was said."""
        lags: dict[str, float] = {}
        deadline = time.monotonic() + count * _WORD_S + _PATIENCE_S
        while len(lags) < count:
            if time.monotonic() > deadline:
                raise BenchBroken(f"only {len(lags)} of {count} words were drawn")
            self.read(1.0)
            now = time.monotonic_ns()
            frame = self._emulated.frame()
            for _, row in () if frame is None else frame.changed:
                for stamp in re.findall(r"\bat (\d+)", "".join(run.text for run in row)):
                    lags.setdefault(stamp, (now - int(stamp)) / 1e6)
        return list(lags.values())


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
