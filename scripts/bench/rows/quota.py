"""Reading quota and drawing its history: many slow scripts side by side, and charts over a million readings."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from measure import BenchBroken, Series, calls, isolated
from report import Limit, Result
from world import World

_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_ACCOUNTS, _SCRIPT_S, _REFRESH_LIMIT_MS = 20, 1.0, 2_000.0
_READINGS, _CHART_LIMIT_MS = 1_000_000, 20.0
_WINDOWS = ("5h-burst", "weekly")
_CHARTS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=31)}
_STEPS = 400  # columns of a wide terminal, two braille dots each


def refresh(world: World) -> Result:
    """Time one refresh of 20 accounts whose scripts take a second each."""
    found = isolated(lambda: _refresh(world.folder / "refresh", world.rounds(5)))
    return _answer(found, f"{_ACCOUNTS} scripts of {_SCRIPT_S:g} s each, minimum", _REFRESH_LIMIT_MS)


def chart(world: World) -> Result:
    """Time the slowest chart query over a history of a million readings."""
    found = isolated(lambda: _chart(world.folder / "chart" / "state.db", world.rounds(40)))
    return _answer(found, "the slowest of the charts' minimums", _CHART_LIMIT_MS)


def _answer(found: Mapping[str, Any], meaning: str, limit_ms: float) -> Result:
    series = Series(tuple(found["values"]))
    return Result(meaning, series.least, "ms", Limit(limit_ms), series, facts=found["facts"])


def _refresh(folder: Path, rounds: int) -> dict[str, object]:
    from oulipoly_engine.clock import SystemClock  # noqa: PLC0415 - the harness itself must stay small (measure.py)
    from oulipoly_engine.core.accounts.accounts import Account  # noqa: PLC0415 - as above
    from oulipoly_engine.process.command import inherited_environment  # noqa: PLC0415 - as above
    from oulipoly_engine.service.quota.refresh import Kind, Refresher, RefreshOptions  # noqa: PLC0415 - as above
    from oulipoly_engine.store.base.db import open_store  # noqa: PLC0415 - as above

    resets = (datetime.now(UTC) + timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    answer = f'{{"windows":[{{"used_percent":10,"resets_at":"{resets}"}}]}}'
    script = f"sleep {_SCRIPT_S:g}; echo '{answer}'"
    names = [f"account-{number}" for number in range(_ACCOUNTS)]
    accounts = {name: Account(name, quota_script=script) for name in names}
    store = open_store(folder / "state.db")
    reader = Refresher(
        store, accounts, {}, SystemClock(), home=folder, environ=inherited_environment(), locks=folder / "locks"
    )

    def once() -> None:
        done = reader.refresh(names, RefreshOptions(insist=True))
        if {result.kind for result in done} != {Kind.UPDATED}:
            raise BenchBroken(f"not every account was read: {done}")

    taken = calls(once, rounds)
    store.close()
    return {"values": taken.values, "facts": {"accounts": _ACCOUNTS, "script_s": _SCRIPT_S}}


def _chart(path: Path, rounds: int) -> dict[str, object]:
    from oulipoly_engine.store.base.db import open_store  # noqa: PLC0415 - as above
    from oulipoly_engine.store.quota import readings  # noqa: PLC0415 - as above

    store = open_store(path)
    per_window = _READINGS // (_ACCOUNTS * len(_WINDOWS))
    dice = random.Random(11)  # noqa: S311 - the same history in every run
    step_ms = round(31 * 86_400_000 / per_window)
    end_ms = round(_NOW.timestamp() * 1000)
    with store.write():
        for number in range(_ACCOUNTS):
            for window in _WINDOWS:
                rows = (
                    (f"account-{number}", window, end_ms - place * step_ms, dice.random(), end_ms, None, "script", 50)
                    for place in range(per_window)
                )
                store.execute_many("INSERT INTO readings VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    least = {}
    slowest = None
    for name, span in _CHARTS.items():
        taken = calls(lambda span=span: readings.chart(store, "account-7", "weekly", _NOW - span, _NOW, _STEPS), rounds)
        least[f"{name} ms"] = round(Series(taken.values).least, 2)
        if slowest is None or min(taken.values) > min(slowest):
            slowest = taken.values
    store.close()
    return {"values": slowest, "facts": {"readings": _READINGS, **least}}
