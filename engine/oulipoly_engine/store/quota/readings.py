"""The history of quota readings, a row a window, thinned with age."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from oulipoly_engine.core.quota.window_cycles import TOLERANCE, EndedCycle
from oulipoly_engine.core.quota.windows import Window
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query, insertion
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import least
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.models.quota import ReadingRow, UnusedQuotaRow

_FULL = timedelta(days=2)  # every reading
_HOURLY = timedelta(days=14)  # then one an hour, then one a day
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_TOLERANCE_MS = round(1000 * TOLERANCE.total_seconds())


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


_ADDITION = insertion(
    ReadingRow.account,
    ReadingRow.window,
    ReadingRow.at_ms,
    ReadingRow.used,
    ReadingRow.resets_at_ms,
    ReadingRow.turns,
    ReadingRow.source,
    ReadingRow.duration_ms,
    conflict="ignore",
)


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
    append_rows(store, rows_of(account, windows, at, source=source, turns=turns, duration_ms=duration_ms))


def rows_of(
    account: str,
    windows: Iterable[Window],
    at: datetime,
    *,
    source: str,
    turns: int | None = None,
    duration_ms: int | None = None,
) -> list[tuple[object, ...]]:
    """Return what `append_rows` writes of one reading."""
    return [
        (account, window.name, _ms(at), window.used, _ms(window.resets_at), turns, source, duration_ms)
        for window in windows
    ]


def append_rows(store: Store, rows: Iterable[tuple[object, ...]]) -> None:
    """Add the rows of any number of readings, as `append` does with one."""
    store.execute_many(_ADDITION, rows)


@compile_query
def _next_window(account: Parameter, after: Parameter) -> Query:
    row = ReadingRow
    return row.select(row.window).where(row.account == account, row.window > after).order_by(row.window).limit(1)


def windows_of(store: Store, account: str) -> tuple[str, ...]:
    """Return the names of an account's windows that have a history."""
    # A skip scan by hand: SELECT DISTINCT would read every row of the account.
    names: list[str] = []
    last = ""
    while True:
        rows = store.rows(_next_window(account, last))
        if not rows:
            return tuple(names)
        last = str(rows[0][0])
        names.append(last)


@compile_query
def _newest(account: Parameter, window: Parameter, since: Parameter, limit: Parameter) -> Query:
    row = ReadingRow
    return (
        row.select(row.at_ms, row.used, row.resets_at_ms, row.turns)
        .where(row.account == account, row.window == window, row.at_ms >= since)
        .order_by(row.at_ms.desc())
        .limit(limit)
    )


def history(store: Store, account: str, window: str, since: datetime, limit: int | None = None) -> tuple[Reading, ...]:
    """Return a window's readings since an instant, oldest first; with a limit, the newest ones."""
    rows = store.rows(_newest(account, window, _ms(since), -1 if limit is None else limit))
    return tuple(Reading(_at(at), float(used), _at(resets), turns) for at, used, resets, turns in reversed(rows))


def chart(store: Store, account: str, window: str, since: datetime, until: datetime, steps: int) -> tuple[Point, ...]:
    """Return at most `steps` + 1 points between two instants: the last reading of each equal step that has one."""
    begin, end = _ms(since), _ms(until)
    size = max(1, -((begin - end) // max(1, steps)))  # rounded up, or a remainder would make one step more
    # SQL, since SQLite alone hands out the other columns of the row that MAX picks: one pass over the key range.
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
    return sum(
        store.run(_superfluous(account, oldest, newest, step))
        for oldest, newest, step in ((hourly, full, _HOUR_MS), (0, hourly, _DAY_MS))
    )


def _superfluous(account: str, oldest: int, newest: int, step: int) -> Query:
    """Return what drops the readings of a stretch of time that a later one of the same cycle and step replaces.

    It is of the same cycle where the reset is the same, or where it has not come yet and moves with every reading, as
    idle windows' resets do, while nothing was given back.
    """
    row, later = ReadingRow, ReadingRow.alias()
    is_later = (later.at_ms > row.at_ms) & (later.at_ms < least(newest, (row.at_ms / step + 1) * step))
    resets_alike = later.resets_at_ms.between(row.resets_at_ms - _TOLERANCE_MS, row.resets_at_ms + _TOLERANCE_MS)
    goes_on = (later.at_ms < row.resets_at_ms) & (later.used >= row.used)
    replaced = later.select(later.at_ms).where(
        later.account == account, later.window == row.window, is_later, resets_alike | goes_on
    )
    return row.delete().where(row.account == account, row.at_ms >= oldest, row.at_ms < newest, fn.EXISTS(replaced))


_UNUSED = insertion(
    UnusedQuotaRow.account,
    UnusedQuotaRow.window,
    UnusedQuotaRow.resets_at_ms,
    UnusedQuotaRow.unused,
    UnusedQuotaRow.last_read_ms,
    conflict="update",
)


def record_unused(store: Store, account: str, found: Iterable[EndedCycle]) -> None:
    """Keep what was left of windows at their resets. Runs inside the caller's write transaction."""
    for cycle in found:
        store.run(_UNUSED(account, cycle.window, _ms(cycle.resets_at), cycle.unused, _ms(cycle.last_read_at)))


def find_unused_quota(store: Store, account: str, since: datetime) -> tuple[EndedCycle, ...]:
    """Return the cycles of an account's windows that resets have ended since an instant, oldest first."""
    row = UnusedQuotaRow
    rows = store.rows(
        row.select(row.window, row.resets_at_ms, row.unused, row.last_read_ms)
        .where(row.account == account, row.resets_at_ms >= _ms(since))
        .order_by(row.resets_at_ms)
    )
    return tuple(EndedCycle(str(window), _at(resets), float(left), _at(read)) for window, resets, left, read in rows)


def _ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
