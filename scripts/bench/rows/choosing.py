"""The balancer's time: the pure choice, and the choice with everything read from the state file."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import BenchBroken, Series, calls, isolated
from report import Limit, Result
from world import World

if TYPE_CHECKING:
    from oulipoly_engine.core.quota.windows import QuotaState
    from oulipoly_engine.store.base.db import Store

_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_WINDOWS = (("5h-burst", 5), ("daily", 24), ("weekly", 168), ("monthly", 720))  # label, hours
_POOL_LIMIT_MS, _STORE_LIMIT_MS = 1.0, 2.0
_IN_FLIGHT = 16  # runs, half of them of sessions that nobody has named yet
_HISTORY = 2_000  # invocations, and ten times as many entries: a few weeks of a busy pool


def in_memory(world: World) -> Result:
    """Time one choice among 100 accounts, four windows each, most of them learned."""
    return _answer(isolated(lambda: _pure(world.rounds(400))), "one choice in process, minimum", _POOL_LIMIT_MS)


def from_store(world: World) -> Result:
    """Time one decision for a pool of 50 accounts: quotas, counters, failures, turns and what runs, then chosen."""
    found = isolated(lambda: _stored(world.folder / "choosing" / "state.db", world.rounds(200)))
    return _answer(found, "one decision on an open state file, minimum", _STORE_LIMIT_MS)


def _answer(found: Mapping[str, Any], meaning: str, limit_ms: float) -> Result:
    series = Series(tuple(found["values"]))
    return Result(meaning, series.least, "ms", Limit(limit_ms), series, facts=found["facts"])


def _pure(rounds: int) -> dict[str, object]:
    from oulipoly_engine.core.balance.balance import choose  # noqa: PLC0415 - the harness itself must stay small (measure.py)
    from oulipoly_engine.core.balance.decision import Candidate, TieRule  # noqa: PLC0415 - the same

    candidates = [
        Candidate(index, state.account, state, invocation_count=index * 7 % 40, recent_errors=index % 11 == 0)
        for index, state in enumerate(_states(100))
    ]
    chosen = choose("pool", candidates, _NOW, TieRule.LEAST_WASTE)
    if chosen.method.value != "waste":
        raise BenchBroken(f"the pool was chosen from by {chosen.method}, not by what a prompt wastes")
    taken = calls(lambda: choose("pool", candidates, _NOW, TieRule.LEAST_WASTE), rounds)
    return {"values": taken.values, "facts": {"chosen": chosen.account, "method": chosen.method.value}}


def _stored(path: Path, rounds: int) -> dict[str, object]:
    from oulipoly_engine.core.accounts.accounts import Model, PoolMember, Settings  # noqa: PLC0415 - as above
    from oulipoly_engine.service.quota.choose import decide  # noqa: PLC0415 - as above
    from oulipoly_engine.store.base.db import open_store  # noqa: PLC0415 - as above

    store = open_store(path)
    states = tuple(_states(50))
    _fill(store, states)
    model = Model("pool", tuple(PoolMember(index, state.account) for index, state in enumerate(states)))
    chosen = decide(store, model, Settings(), _NOW)
    if chosen.method.value != "density":
        raise BenchBroken(f"the pool was chosen from by {chosen.method}, not by density")
    charged = sum(verdict.candidate.promised_turns > 0 for verdict in chosen.verdicts)
    if charged != _IN_FLIGHT:
        raise BenchBroken(f"{charged} accounts are charged for what runs, not {_IN_FLIGHT}")
    taken = calls(lambda: decide(store, model, Settings(), _NOW, project="/work"), rounds)
    store.close()
    facts = {"invocations": _HISTORY, "turns": 10 * _HISTORY, "in flight": _IN_FLIGHT}
    return {"values": taken.values, "facts": facts}


def _states(count: int) -> Iterator[QuotaState]:
    """Yield accounts as a long-used pool has them: all four tiers, every third one too young to have learned."""
    from oulipoly_engine.core.quota.windows import QuotaState, Window  # noqa: PLC0415 - as above

    dice = random.Random(7)  # noqa: S311 - the same pool in every run
    for index in range(count):
        windows = tuple(
            Window(
                position,
                used=dice.uniform(0.05, 0.9),
                resets_at=_NOW + timedelta(hours=dice.uniform(0.1, hours)),
                last_delta=0.02 if index % 3 else None,
                last_delta_turns=dice.randrange(20, 200) if index % 3 else None,
                label=label,
            )
            for position, (label, hours) in enumerate(_WINDOWS)
        )
        yield QuotaState(f"account-{index}", windows, refreshed_at=_NOW - timedelta(minutes=5), peak_live_windows=4)


def _fill(store: Store, states: tuple[QuotaState, ...]) -> None:
    """Store the quotas and a history; the rows are written plainly, since only reading is measured."""
    from oulipoly_engine.clock import to_text  # noqa: PLC0415 - as above
    from oulipoly_engine.store.quota import quotas  # noqa: PLC0415 - as above
    from oulipoly_engine.store.runs import invocations  # noqa: PLC0415 - as above

    with store.write():
        for state in states:
            quotas.save(store, state)
            store.insert(
                "account_counters", model_name="pool", account=state.account, invocation_count=40, error_count=1
            )
        for number in range(_HISTORY):
            at = to_text(_NOW - timedelta(minutes=number))
            store.insert(
                "invocations",
                invocation_uuid=f"00000000-0000-4000-8000-{number:012}",
                model_name="pool",
                provider_name=states[number % len(states)].account,
                status="failed" if number % 20 == 0 else "succeeded",
                success=number % 20 != 0,
                created_at=at,
                finished_at=at,
            )
        for number, state in enumerate(states[:_IN_FLIGHT]):
            new = invocations.NewInvocation(
                f"running-{number}",
                "pool",
                state.account,
                number,
                _NOW - timedelta(minutes=2),
                project="/work",
                expected_turns=15.0,
                planned_session=f"session-{number}" if number % 2 else None,
            )
            invocations.begin(store, new)
        for number in range(10 * _HISTORY):
            store.insert(
                "session_turns",
                provider_name=states[number % len(states)].account,
                session_id=f"session-{number // 100}",
                turn_id=f"turn-{number}",
                timestamp=to_text(_NOW - timedelta(seconds=6 * number)),
                role="assistant" if number % 2 else "user",
                ingested_at=to_text(_NOW),
            )
