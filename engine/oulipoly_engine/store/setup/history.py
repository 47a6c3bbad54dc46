"""How set-ups by a model went; the last ones are kept."""

from __future__ import annotations

from datetime import datetime

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.setup.events import PastSetup
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.setup import SetupRunRow

_KEPT = 200


def begin(store: Store, wish: str, model: str, now: datetime) -> int:
    """Note that a set-up begins and return its number."""
    row = SetupRunRow
    with store.write():
        number = store.insert(row, began_at=to_text(now), wish=wish, model_name=model)
        store.run(row.delete().where(row.id <= number - _KEPT))
    return number


def end(store: Store, number: int, outcome: str, turns: int, summary: str, now: datetime) -> None:
    """Note how it has ended."""
    row = SetupRunRow
    told = {row.ended_at: to_text(now), row.outcome: outcome, row.turns: turns, row.summary: summary}
    with store.write():
        store.run(row.update(told).where(row.id == number))


def latest(store: Store, limit: int) -> tuple[PastSetup, ...]:
    """Return the last set-ups, the newest first."""
    row = SetupRunRow
    query = row.select(row.began_at, row.wish, row.outcome, row.turns, row.model_name, row.summary)
    rows = store.rows(query.order_by(row.id.desc()).limit(limit))
    return tuple(PastSetup(from_text(at), wish, *rest) for at, wish, *rest in rows)
