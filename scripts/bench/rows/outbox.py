"""What the outbox costs where nobody reads it, and where somebody does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from measure import calls, isolated
from report import Limit, Result
from world import World

_NOBODY_LIMIT_US = 50.0  # a one-shot asks twice, a turn with a few items some five times
_BODY = {"turn_id": "t", "text": "a message of some words " * 8}


def published(world: World) -> Result:
    """Time one event inside a write transaction: without a reader, and with one."""
    found = isolated(lambda: _measure(world.folder / "outbox.db", world.rounds(2000)))
    meaning = "an event that nobody reads, median"
    return Result(meaning, found["nobody"], "us", Limit(_NOBODY_LIMIT_US), facts={"with a reader": found["reader"]})


def _measure(path: Path, rounds: int) -> dict[str, float]:
    from oulipoly_engine.store.base.db import open_store  # noqa: PLC0415 - the harness itself must stay small (measure.py)
    from oulipoly_engine.store.outbox import events  # noqa: PLC0415 - the same

    store = open_store(path)

    def publish() -> None:
        events.publish(store, "message_sent", datetime.now(UTC), "s", _BODY)

    def median_us(work: Callable[[], None]) -> float:
        with store.write():
            return calls(work, rounds).median * 1000

    nobody = median_us(publish)
    events.register(store, "bench")
    reader = median_us(publish)
    store.close()
    return {"nobody": nobody, "reader": reader}
