"""Until when a pool has quota, from the forecasts of its accounts' windows. Pure: the instant comes in.

Windows of a kind are taken together: what the accounts spend an hour, in turns, is taken from whoever is reset soonest,
and what is left at a reset is lost. The pool has enough until all are empty. Another order of accounts may lose more; a
rule that does so meets the end sooner. An account without a window of the kind carries the pool over it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota.forecast import Forecast
from oulipoly_engine.core.quota.windows import MIN_HOURS, Window, length_h
from oulipoly_engine.core.text.quantities import UNKNOWN
from oulipoly_engine.records import Record, replace


class PoolWindow(Record):
    """A window of an account, with what is expected of it."""

    window: Window
    forecast: Forecast
    rate: float | None  # fraction of the window a turn; None: not known


class PoolAccount(Record):
    """An account that may serve a pool."""

    account: str
    windows: tuple[PoolWindow, ...]  # empty: never read
    reserve: float = 0.0  # 0..1 of every window that stays unspent
    is_exhausted: bool = False  # its mark holds


class PoolForecast(Record):
    """Until when a pool has quota; the band is that of its accounts' forecasts, all at one end together."""

    model: str
    accounts: int  # that may serve it
    known_accounts: int  # of these: read at least once
    window: str | None  # that is empty first; None: none is
    at: datetime | None  # when no account has any left; None: not before the last of its windows' resets
    earliest: datetime | None
    latest: datetime | None
    is_exhausted: bool = False  # now


def forecast_pool(model: str, accounts: Sequence[PoolAccount], now: datetime) -> PoolForecast:
    """Return until when a pool has quota. accounts: those that are neither disabled nor drained."""
    known = [account for account in accounts if account.windows]
    names = dict.fromkeys(each.window.name for account in known for each in account.windows)
    ends = {name: _find_end(name, known, now) for name in names}
    first = min(ends, key=lambda name: (ends[name].middle, ends[name].high), default=None)
    if first is None or ends[first].high == math.inf:
        return PoolForecast(model, len(accounts), len(known), None, None, None, None)
    end = ends[first]
    return PoolForecast(
        model,
        len(accounts),
        len(known),
        window=first,
        at=_after(now, end.middle),
        earliest=_after(now, end.high),
        latest=_after(now, end.low),
        is_exhausted=end.low <= 0,
    )


def pool_forecast_text(expected: PoolForecast) -> str:
    """Say a pool's forecast in a few words."""
    if not expected.known_accounts:
        return "never read"
    if expected.is_exhausted:
        return f"exhausted ({expected.window})"
    if expected.earliest is None:
        return "lasts: some account has quota until the last of the resets"
    earliest = _minute(expected.earliest)
    if expected.at is None:
        return f"lasts; at the upper end of the range until {earliest} ({expected.window})"
    latest = "after the last reset" if expected.latest is None else _minute(expected.latest)
    return f"enough until {_minute(expected.at)} ({earliest} to {latest}, {expected.window})"


def pool_forecast_to_json(expected: PoolForecast) -> dict[str, object]:
    """Render a pool's forecast as JSON values: instants RFC 3339, null: not before the last of the resets."""
    return {
        "model": expected.model,
        "accounts": expected.accounts,
        "known_accounts": expected.known_accounts,
        "window": expected.window,
        "exhausted": expected.is_exhausted,
        "enough_until": _text(expected.at),
        "enough_until_earliest": _text(expected.earliest),
        "enough_until_latest": _text(expected.latest),
    }


class _Band(Record):
    """A number in the middle, at the upper and at the lower end of what the accounts spend."""

    middle: float
    high: float
    low: float


class _Tank(Record, frozen=False):
    """What an account has left of a kind of window."""

    left: float  # turns, or shares where no rate is known
    size: float  # after a reset
    reset_h: float  # hours from now
    length_h: float


def _find_end(name: str, accounts: Sequence[PoolAccount], now: datetime) -> _Band:
    """Return after how many hours the windows of a kind are empty; infinite: not before the last of the resets."""
    owners = [(account, each) for account in accounts for each in account.windows if each.window.name == name]
    others = [account for account in accounts if all(each.window.name != name for each in account.windows)]
    if any(not account.is_exhausted and _least_left(account, now) > 0 for account in others):
        return _Band(math.inf, math.inf, math.inf)
    in_turns = all(each.rate for account in accounts for each in account.windows)
    tanks = [_make_tank(account, each, now, in_turns=in_turns) for account, each in owners]
    bands = [(_size(each, in_turns=in_turns), _find_paces(each.forecast, now)) for _account, each in owners]
    return _Band(
        _empty_after(tanks, sum(size * paces.middle for size, paces in bands)),
        _empty_after(tanks, sum(size * paces.high for size, paces in bands)),
        _empty_after(tanks, sum(size * paces.low for size, paces in bands)),
    )


def _size(each: PoolWindow, *, in_turns: bool) -> float:
    if not in_turns or not each.rate:
        return 1.0
    return 1 / each.rate


def _make_tank(account: PoolAccount, each: PoolWindow, now: datetime, *, in_turns: bool) -> _Tank:
    """Return what an account can give of a window: no more than its longer windows have left."""
    hours = _hours_to_reset(each.window, now)
    length = _length_h(each.window, now)
    size = (1 - account.reserve) * _size(each, in_turns=in_turns)
    left = _left(account, each, now) * _size(each, in_turns=in_turns)
    for other in account.windows:
        if _length_h(other.window, now) <= length:
            continue
        rest = _left(account, other, now)
        if rest <= 0:
            left = size = 0.0
        elif in_turns:
            left = min(left, rest * _size(other, in_turns=True))
    if account.is_exhausted:
        left = 0.0
    return _Tank(left, size, hours if hours > 0 else length, length)


def _hours_to_reset(window: Window, now: datetime) -> float:
    return (window.resets_at - now).total_seconds() / 3600


def _length_h(window: Window, now: datetime) -> float:
    return length_h(window.label, max(MIN_HOURS, _hours_to_reset(window, now)))


def _left(account: PoolAccount, each: PoolWindow, now: datetime) -> float:
    used = each.window.used if each.window.resets_at > now else 0.0
    return max(0.0, 1 - account.reserve - used)


def _least_left(account: PoolAccount, now: datetime) -> float:
    return min(_left(account, each, now) for each in account.windows)


def _find_paces(expected: Forecast, now: datetime) -> _Band:
    """Return the paces of a window, in shares an hour."""
    if expected.pace is None or expected.resets_at is None or expected.used is None:
        return _Band(0.0, 0.0, 0.0)
    hours = max(MIN_HOURS, (expected.resets_at - now).total_seconds() / 3600)
    high = _pace_to(expected.earliest, expected.used_at_reset_high, expected.used, hours, now)
    low = _pace_to(expected.latest, expected.used_at_reset_low, expected.used, hours, now)
    return _Band(expected.pace, max(expected.pace, high), min(expected.pace, low))


def _pace_to(dry_at: datetime | None, used_at_reset: float | None, used: float, hours: float, now: datetime) -> float:
    if dry_at is not None:
        return (1 - used) / max(MIN_HOURS, (dry_at - now).total_seconds() / 3600)
    if used_at_reset is None:
        return 0.0
    return (used_at_reset - used) / hours


def _empty_after(full_tanks: Sequence[_Tank], pace: float) -> float:
    """Return after how many hours all is spent; infinite: not before the last of the resets."""
    tanks = [replace(tank) for tank in full_tanks]
    horizon = max(tank.reset_h for tank in tanks)
    hours = 0.0
    while hours < horizon:
        left = sum(tank.left for tank in tanks)
        following = min(tanks, key=lambda tank: tank.reset_h)
        needed = pace * (following.reset_h - hours)
        if needed >= left and left <= 0:
            return hours
        if needed >= left:
            return hours + left / pace
        for tank in sorted(tanks, key=lambda tank: tank.reset_h):
            taken = min(tank.left, needed)
            tank.left -= taken
            needed -= taken
        hours = following.reset_h
        following.left = following.size
        following.reset_h += following.length_h
    return math.inf


def _after(now: datetime, hours: float) -> datetime | None:
    return None if hours == math.inf else now + timedelta(hours=hours)


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else to_text(instant)


def _minute(instant: datetime | None) -> str:
    return UNKNOWN if instant is None else f"{to_text(instant)[:16].replace('T', ' ')}Z"
