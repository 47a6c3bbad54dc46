"""Accounts to choose from, with what is used of them: those with the most room first. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.facade.snapshot import CANNOT_SERVE, USE_UNKNOWN
from oulipoly_tui.view import words
from oulipoly_tui.view.transcript.spans import Row, Tone, cells, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import AccountView, Snapshot


def room_rows(names: Sequence[str], snapshot: Snapshot | None) -> tuple[Row, ...]:
    """Return a row for each account: its fullest window; those that cannot serve come last, before them the unknown."""
    width = max(map(cells, names), default=0) + 2
    if snapshot is None:
        return tuple(Row(name, ((name, ""),)) for name in names)
    found = [(name, *_rank_and_describe(snapshot.account(name), snapshot.at)) for name in names]
    found.sort(key=lambda one: one[1])  # stable: equals keep their order
    return tuple(Row(name, ((fit_text(name, width), ""), (text, tone))) for name, _, text, tone in found)


def describe_room(name: str, snapshot: Snapshot | None) -> tuple[str, Tone]:
    """Return what is used of an account: its fullest window."""
    if snapshot is None:
        return "", ""
    _, text, tone = _rank_and_describe(snapshot.account(name), snapshot.at)
    return text, tone


def _rank_and_describe(view: AccountView | None, now: datetime) -> tuple[float, str, Tone]:
    """Return the place in the order, 0 for an unused account, then what is said of it."""
    rank, text = (USE_UNKNOWN, "unknown") if view is None else view.describe_use(now)
    if rank >= USE_UNKNOWN:
        return rank, text, "bad" if rank == CANNOT_SERVE else "dim"
    return rank, text, words.use_tone(rank)
