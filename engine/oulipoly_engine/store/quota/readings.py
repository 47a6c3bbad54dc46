"""The history of quota readings, a row a window, thinned with age."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from oulipoly_engine.core.quota.window_cycles import TOLERANCE, Ended
from oulipoly_engine.core.quota.windows import Window
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store

_FULL = timedelta(days=2)  # every reading
_HOURLY = timedelta(days=14)  # then one an hour, then one a day
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS


class Reading(Record):
    """What one window showed at one moment."""

    at: datetime
    used: float  # 0..1
    resets_at: datetime
    turns: int | None = None  # assistant turns since the reading before, where they were counted


class Point(Record):
    """One step of a chart: the last reading within it."""

    at: datetime
    used: float  # 0..1
    resets_at: datetime


def append(  # the columns of one reading
    store: Store,
    account: str,
    windows: Iterable[Window],
    at: datetime,
    *,
    source: str,
    turns: int | None = None,
    duration_ms: int | None = None,
) -> None:
    """Add one reading of an account; one that is there already stays. Runs inside the caller's write transaction."""
    for window in windows:
        store.execute(
            "INSERT OR IGNORE INTO readings (account, window, at_ms, used, resets_at_ms, turns, source, duration_ms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (account, window.name, _ms(at), window.used, _ms(window.resets_at), turns, source, duration_ms),
        )


def windows_of(store: Store, account: str) -> tuple[str, ...]:
    """Return the names of an account's windows that have a history."""
    # A skip scan by hand: SELECT DISTINCT would read every row of the account.
    names: list[str] = []
    last = ""
    while True:
        rows = store.rows(
            "SELECT window FROM readings WHERE account = ? AND window > ? ORDER BY window LIMIT 1", (account, last)
        )
        if not rows:
            return tuple(names)
        last = str(rows[0][0])
        names.append(last)


def history(store: Store, account: str, window: str, since: datetime, limit: int | None = None) -> tuple[Reading, ...]:
    """Return a window's readings since an instant, oldest first; with a limit, the newest ones."""
    rows = store.rows(
        "SELECT at_ms, used, resets_at_ms, turns FROM readings WHERE account = ? AND window = ? AND at_ms >= ?"
        " ORDER BY at_ms DESC LIMIT ?",
        (account, window, _ms(since), -1 if limit is None else limit),
    )
    return tuple(Reading(_at(at), float(used), _at(resets), turns) for at, used, resets, turns in reversed(rows))


def chart(store: Store, account: str, window: str, since: datetime, until: datetime, steps: int) -> tuple[Point, ...]:
    """Return at most `steps` + 1 points between two instants: the last reading of each equal step that has one."""
    begin, end = _ms(since), _ms(until)
    size = max(1, -((begin - end) // max(1, steps)))  # rounded up, or a remainder would make one step more
    # SQLite hands out the other columns of the row that MAX picks, so one pass over the key range is enough.
    rows = store.rows(
        "SELECT MAX(at_ms), used, resets_at_ms FROM readings WHERE account = ? AND window = ? AND at_ms BETWEEN ? AND ?"
        " GROUP BY (at_ms - ?) / ? ORDER BY 1",
        (account, window, begin, end, begin, size),
    )
    return tuple(Point(_at(at), float(used), _at(resets)) for at, used, resets in rows)


def thin(store: Store, account: str, now: datetime) -> int:
    """Drop readings that age has made superfluous; return how many. Runs inside the caller's write transaction.

    Kept are all of the last two days, the last one of each hour for two weeks, then the last one of each day; and of
    every cycle of a window its last reading, so that what was left unused stays known.
    """
    full, hourly = _ms(now - _FULL), _ms(now - _HOURLY)
    before = store.rows("SELECT total_changes()")[0][0]
    for oldest, newest, step in ((hourly, full, _HOUR_MS), (0, hourly, _DAY_MS)):
        # A later reading makes one superfluous in the same cycle: the reset is the same, or it has not come yet and
        # moves with every reading, as idle windows' resets do, while nothing was given back.
        store.execute(
            "DELETE FROM readings WHERE account = ?1 AND at_ms >= ?2 AND at_ms < ?3 AND EXISTS ("
            " SELECT 1 FROM readings AS later WHERE later.account = ?1 AND later.window = readings.window"
            " AND later.at_ms > readings.at_ms AND later.at_ms < MIN(?3, (readings.at_ms / ?4 + 1) * ?4) AND ("
            "  later.resets_at_ms BETWEEN readings.resets_at_ms - ?5 AND readings.resets_at_ms + ?5"
            "  OR (later.at_ms < readings.resets_at_ms AND later.used >= readings.used)))",
            (account, oldest, newest, step, round(1000 * TOLERANCE.total_seconds())),
        )
    return int(store.rows("SELECT total_changes()")[0][0]) - int(before)


def record_unused(store: Store, account: str, found: Iterable[Ended]) -> None:
    """Keep what was left of windows at their resets. Runs inside the caller's write transaction."""
    for cycle in found:
        store.execute(
            "INSERT INTO unused_quota (account, window, resets_at_ms, unused, last_read_ms) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (account, window, resets_at_ms) DO UPDATE SET unused = excluded.unused,"
            " last_read_ms = excluded.last_read_ms",
            (account, cycle.window, _ms(cycle.resets_at), cycle.unused, _ms(cycle.last_read_at)),
        )


def unused(store: Store, account: str, since: datetime) -> tuple[Ended, ...]:
    """Return the cycles of an account's windows that resets have ended since an instant, oldest first."""
    rows = store.rows(
        "SELECT window, resets_at_ms, unused, last_read_ms FROM unused_quota WHERE account = ? AND resets_at_ms >= ?"
        " ORDER BY resets_at_ms",
        (account, _ms(since)),
    )
    return tuple(Ended(str(window), _at(resets), float(left), _at(read)) for window, resets, left, read in rows)


def _ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
