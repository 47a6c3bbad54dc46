"""Runs whose runner was killed: a row that nobody else will ever end, and a CLI that may run on.

A row whose CLI is gone too is closed at the next look of anything. One whose CLI runs on stays running, and is told: it
can be ended, or waited for.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime

from oulipoly_engine.core.runs.invocations import Invocation, Outcome
from oulipoly_engine.errors import InvocationNotFound
from oulipoly_engine.paths import Paths
from oulipoly_engine.process.liveness import has_ended, here, was_alive_at
from oulipoly_engine.process.stop import TERM_LADDER, group_lives, stop_group
from oulipoly_engine.records import Record
from oulipoly_engine.service.runs import final_write, results
from oulipoly_engine.service.runs.return_channel import ReturnChannel
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import invocations

GUARD_DROP = "guard_drop"  # the contract's word for an end that nobody saw


class Orphan(Record):
    """A CLI that runs on although what ran it was killed."""

    uuid: str  # of the invocation
    model: str
    account: str
    pid: int
    ticks: int | None
    since: datetime

    @property
    def text(self) -> str:
        """Say what has happened."""
        return f"what ran {self.model} on {self.account} was killed, but its CLI runs on as process {self.pid}"

    @property
    def remedy(self) -> str:
        """Say what can be done."""
        return f"`agents terminal kill {self.uuid[:8]}` ends it, `agents wait {self.uuid[:8]}` waits for its end"

    @property
    def is_alive(self) -> bool:
        """Tell whether it still runs."""
        return _lives(self.pid, self.ticks, self.since)


def find(store: Store) -> tuple[Orphan, ...]:
    """Return the CLIs that run on without a runner, newest last."""
    return tuple(orphan for row in _find_lost(store) if (orphan := find_orphan(row)) is not None)


def close_lost(store: Store, now: datetime, paths: Paths, *, elsewhere: bool = False) -> tuple[Orphan, ...]:
    """Make running rows final whose runner and CLI are gone, and return the CLIs that run on without one.

    Compare-and-set: a row that ends by itself meanwhile stays as it is. A millisecond where nothing is lost. What the
    CLI has handed back until its end is kept with its row.
    elsewhere: also runs in other containers of this machine, whose processes cannot be seen; only a start does that,
    since one that still goes on would lose its result to every look.
    """
    found = {row.uuid: (row, find_orphan(row)) for row in _find_lost(store, elsewhere=elsewhere)}
    for row, orphan in found.values():
        if orphan is None:
            text = "the process that ran it was killed"
            channel = ReturnChannel(paths, row.uuid)
            outcome = Outcome(False, -1, now, None, GUARD_DROP, text)
            final_write.end(store, row.row_id, outcome, channel.returned.receipts)
            channel.delete()
            results.write_late(store, paths.results, row.uuid)
    return tuple(orphan for _row, orphan in found.values() if orphan is not None)


def end(orphan: Orphan) -> bool:
    """Stop an orphan and all that it started: INT, TERM, KILL. Returns whether it is gone."""
    if orphan.is_alive:
        stop_group(orphan.pid, lambda: not orphan.is_alive)
        stop_group(orphan.pid, lambda: not group_lives(orphan.pid), TERM_LADDER)
    return not orphan.is_alive


def _find_lost(store: Store, *, elsewhere: bool = False) -> Iterator[Invocation]:
    for row in invocations.find_owned(store):
        is_there = row.owner_pid is not None and was_alive_at(row.owner_pid, row.created_at)
        if not is_there and (elsewhere or _can_see(row.owner_place)):
            yield row


def _can_see(place: str | None) -> bool:
    """Tell whether a process that lives there would be seen from here; from before a boot none lives."""
    ours = here()
    return place is None or ours is None or place == ours or place.split()[0] != ours.split()[0]


def find_orphan(row: Invocation) -> Orphan | None:
    """Return the CLI of a run if it lives. After a boot its number and ticks may be another program's."""
    if row.child_pid is None or row.owner_place not in (None, here()):
        return None
    if not _lives(row.child_pid, row.child_ticks, row.created_at):
        return None
    return Orphan(row.uuid, row.model, row.account or "?", row.child_pid, row.child_ticks, row.created_at)


def _lives(pid: int, ticks: int | None, since: datetime) -> bool:
    return was_alive_at(pid, since) if ticks is None else not has_ended(pid, ticks)


def find_run(store: Store, text: str) -> Invocation:
    """Return the run that an id means: a whole one, or the beginning of a recent one's. Raises InvocationNotFound."""
    row = invocations.find(store, _normalize(text))
    matching = (row,) if row is not None else invocations.find_recent(store, text.lower()) if text else ()
    if len(matching) == 1:
        return matching[0]
    way_out = "give more of its id" if matching else "give the id that OULIPOLY_INVOCATION shows, or its beginning"
    raise InvocationNotFound(f"{len(matching) or 'no'} recorded runs begin with {text[:80]!r}: {way_out}")


def find_run_or_live(store: Store, text: str) -> Invocation:
    """As `find_run`; the id of a live session or of its turn means the run of its last process, or of that turn."""
    try:
        return find_run(store, text)
    except InvocationNotFound:
        row = _find_live(store, text) if text else None
        if row is None:
            raise
        return row


def _find_live(store: Store, text: str) -> Invocation | None:
    from oulipoly_engine.store.live import live_sessions  # noqa: PLC0415 - a run's own id needs none of it

    turn = live_sessions.find_turn(store, text)
    if turn is not None:
        return invocations.find(store, turn.invocation_uuid or "")
    sessions = live_sessions.find(store, text)
    turns = live_sessions.turns_of(store, sessions[0].session_id) if len(sessions) == 1 else ()
    last = next((one.invocation_uuid for one in reversed(turns) if one.invocation_uuid), "")
    row = invocations.find(store, last)
    process = None if row is None or row.parent_row_id is None else invocations.uuid_of(store, row.parent_row_id)
    return invocations.find(store, process) if process else row


def _normalize(text: str) -> str:
    """Return a whole id as it is stored, however it is written."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return text
