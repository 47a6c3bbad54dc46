"""Three weeks of made-up quota use that end in the accounts' present state: cycles, resets, nights, days off. Pure.

Everything is a distance to `now` and comes from one seed, so that two worlds differ by the hour of their birth alone.
The people of the demo live where it is always half past three in the afternoon when a world is born, and were off on
the fourth and fifth day before: a world looks as lively on a Sunday night as on a Tuesday.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tier

HOUR, DAY = 3600.0, 86_400.0
SHORT_S = 5 * HOUR
LONG_S = 7 * DAY
_BIRTH = 15.5 * HOUR  # the demo's time of day at `now`
_WAKING = (8 * HOUR, 23 * HOUR)  # somebody has the app open and readings are taken
_DAYS_OFF = (4, 5)  # before now, modulo 7
_FULL, _HOURLY = 2 * DAY, 14 * DAY  # the store's own thinning: every reading, one an hour, one a day
_STEP = 8 * 60.0
_DAYS = (15, 23)  # how far a history may go back
_READ_AGO = (35.0, 130.0)  # seconds since the last reading
UNITS_A_TURN = 420  # what an assistant turn costs of a tier, on average


class Habit(NamedTuple):
    """How an account is used."""

    short: tuple[float, float] | None  # (share used now, share of the window that has passed); None: not begun
    long: tuple[float, float] | None
    evenings: float = 0.3  # chance of a third cycle in a day
    nights: float = 0.0  # chance of a fourth, for machines that work while people sleep
    weekends: float = 0.2  # chance of work on a day off
    spends: tuple[float, float] = (0.3, 0.9)  # share of a short window that a cycle uses
    dry: float = 0.1  # chance that a cycle runs dry
    rests: float = 0.0  # days without any use before now


class Cycle(NamedTuple):
    """One cycle of the short window."""

    begin: float
    marks: tuple[float, ...]  # instants at which something was spent
    sums: tuple[float, ...]  # share used from each of them on


class Ended(NamedTuple):
    """A cycle that a reset has ended."""

    label: str
    resets_at: float
    unused: float  # 0..1
    last_read_at: float


class QuotaReading(NamedTuple):
    """One reading of an account."""

    at: float
    tiers: tuple[Tier, ...]
    turns: int  # assistant turns since the reading before


class AccountPast(NamedTuple):
    """What happened to one account's quota."""

    account: str
    vendor: str
    cycles: tuple[Cycle, ...]
    longs: tuple[tuple[float, float], ...]  # (begin, scale from the short window's share to this one's)
    readings: tuple[QuotaReading, ...] = ()  # oldest first
    ended: tuple[Ended, ...] = ()

    def tiers_at(self, at: float) -> tuple[Tier, ...]:
        """Return how the account's tiers stood at an instant."""
        used = {"short": self._short(at), "long": self._long(at)}
        return tuple(
            tier._replace(spent=round(tier.capacity * used[tier.kind][0]), resets_at=used[tier.kind][1])
            for tier in levels.fresh(self.vendor)
        )

    def is_used_at(self, at: float) -> bool:
        """Tell whether a short window runs at an instant."""
        return self._short(at)[1] is not None

    def works_near(self, instant: float) -> float:
        """Return an instant at which the account was at work, the nearest to a wanted one."""
        following = bisect_right(self.cycles, instant, key=lambda cycle: cycle.begin)
        around = self.cycles[max(0, following - 1) : following + 1]  # all other marks are farther away
        return min((mark for cycle in around for mark in cycle.marks), key=lambda mark: abs(mark - instant))

    def marks_after(self, since: float) -> tuple[float, ...]:
        """Return the instants from then on at which something was spent."""
        return tuple(mark for cycle in self.cycles for mark in cycle.marks if mark >= since)

    def _short(self, at: float) -> tuple[float, float | None]:
        place = bisect_right(self.cycles, at, key=lambda cycle: cycle.begin) - 1
        if place < 0 or at >= self.cycles[place].begin + SHORT_S:
            return 0.0, None
        cycle = self.cycles[place]
        spent = bisect_right(cycle.marks, at)
        return (cycle.sums[spent - 1] if spent else 0.0), cycle.begin + SHORT_S

    def _long(self, at: float) -> tuple[float, float | None]:
        place = bisect_right(self.longs, at, key=lambda long: long[0]) - 1
        if place < 0 or at >= self.longs[place][0] + LONG_S:
            return 0.0, None
        begin, scale = self.longs[place]
        first = bisect_left(self.cycles, begin, key=lambda cycle: cycle.begin)
        inside = self.cycles[first : bisect_right(self.cycles, at, key=lambda cycle: cycle.begin)]
        spent = sum(cycle.sums[-1] for cycle in inside[:-1])  # which are over before the last one begins
        return min(1.0, scale * (spent + (_used(inside[-1], at) if inside else 0.0))), begin + LONG_S


def account_past(account: str, vendor: str, habit: Habit, now: float, seed: int) -> AccountPast:
    """Make up an account's last weeks."""
    dice = random.Random(f"{seed} {account}")  # noqa: S311 - a demo's dice, meant to fall the same way every time
    cycles = tuple(_cycles(habit, now, dice))
    chosen = min((_since(cycles, now - days * DAY) for days in range(*_DAYS)), key=lambda some: _miss(some, habit, now))
    bare = AccountPast(account, vendor, chosen, tuple((begin, 1.0) for begin in _long_begins(chosen)))
    past = bare._replace(longs=tuple(_scaled(bare, habit, now, dice)))
    readings = tuple(_readings(past, now, dice))
    return past._replace(readings=readings, ended=tuple(_ended(past, readings, now)))


def _cycles(habit: Habit, now: float, dice: random.Random) -> Iterator[Cycle]:
    """Yield the short window's cycles, oldest first; the last is the one that runs now, if one does."""
    current = None if habit.short is None else now - SHORT_S * habit.short[1]
    free_from = now - _DAYS[1] * DAY
    for day in range(_DAYS[1], -1, -1):
        for begin in _begins(habit, day, now, dice):
            share = 1.0 if dice.random() < habit.dry else dice.uniform(*habit.spends)
            shape = dice.randrange(1 << 30)
            fits = begin >= free_from and begin + SHORT_S <= (now if current is None else current)
            if fits and begin < now - habit.rests * DAY:
                yield _cycle(begin, dice.uniform(0.5, 0.96) * SHORT_S, share, shape)
                free_from = begin + SHORT_S
    if current is not None and habit.short is not None:
        yield _cycle(current, now - current - 3 * 60, habit.short[0], dice.randrange(1 << 30))


def _begins(habit: Habit, day: int, now: float, dice: random.Random) -> tuple[float, ...]:
    midnight = now - _BIRTH - day * DAY
    is_off = day % 7 in _DAYS_OFF and day > 0
    first = midnight + dice.uniform(8.0, 9.4) * HOUR
    second = first + SHORT_S + dice.uniform(0.02, 0.8) * HOUR
    third = second + SHORT_S + dice.uniform(0.1, 1.2) * HOUR
    chances = (habit.weekends, habit.weekends / 2, 0.0, habit.nights) if is_off else (0.95, 0.9, habit.evenings, 0.0)
    if not is_off:
        chances = (*chances[:3], habit.nights)
    begins = (first, second, third, third + SHORT_S + 0.1 * HOUR)
    return tuple(begin for begin, chance in zip(begins, chances, strict=True) if dice.random() < chance)


def _cycle(begin: float, length: float, share: float, seed: int) -> Cycle:
    """Spread a cycle's use: bursts and pauses, the more the longer."""
    dice = random.Random(seed)  # noqa: S311 - as above
    marks, weights = [begin], [0.3]
    at, is_busy = begin, True
    while (at := at + _STEP * dice.uniform(0.5, 1.3)) < begin + length:
        is_busy = dice.random() < (0.85 if is_busy else 0.4)
        if is_busy:
            marks.append(at)
            weights.append(dice.gammavariate(1.6, 1.0))
    total, spent, sums = sum(weights), 0.0, []
    for weight in weights:
        spent += share * weight / total
        sums.append(spent)
    sums[-1] = share
    return Cycle(begin, tuple(marks), tuple(sums))


def _since(cycles: Sequence[Cycle], since: float) -> tuple[Cycle, ...]:
    return tuple(cycle for cycle in cycles if cycle.begin >= since)


def _long_begins(cycles: Iterable[Cycle]) -> tuple[float, ...]:
    """Return when the long window began: with the first use after each of its resets."""
    begins: list[float] = []
    for cycle in cycles:
        if not begins or cycle.begin >= begins[-1] + LONG_S:
            begins.append(cycle.begin)
    return tuple(begins)


def _miss(cycles: Sequence[Cycle], habit: Habit, now: float) -> float:
    """Return how far the long window's present place is from the one that the habit asks for."""
    begins = _long_begins(cycles)
    if not begins:
        return 2.0
    passed = (now - begins[-1]) / LONG_S
    if habit.long is None:
        return 0.0 if passed > 1 else 1.0
    return abs(passed - habit.long[1])


def _scaled(past: AccountPast, habit: Habit, now: float, dice: random.Random) -> Iterator[tuple[float, float]]:
    for begin, _ in past.longs:
        end = begin + LONG_S
        total = sum(_used(cycle, end) for cycle in past.cycles if begin <= cycle.begin < end)
        is_current = habit.long is not None and end > now
        share = habit.long[0] if is_current and habit.long is not None else dice.uniform(0.55, 0.94)
        yield begin, share / total


def _used(cycle: Cycle, at: float) -> float:
    spent = bisect_right(cycle.marks, at)
    return cycle.sums[spent - 1] if spent else 0.0


def _readings(past: AccountPast, now: float, dice: random.Random) -> Iterator[QuotaReading]:
    """Yield readings as thinly as the store would keep them, and the last one before each reset."""
    last = now - dice.uniform(*_READ_AGO)
    resets = [cycle.begin + SHORT_S for cycle in past.cycles] + [begin + LONG_S for begin, _ in past.longs]
    instants = {reset - dice.uniform(2, 9) * 60 for reset in resets if reset - 60 < last}
    at = past.cycles[0].begin + 60
    while at < last - 60:
        if _WAKING[0] <= (at - now + _BIRTH) % DAY < _WAKING[1] or past.is_used_at(at):
            instants.add(at)
        age = now - at
        step = _STEP if age < _FULL else HOUR if age < _HOURLY else DAY / 3
        at += step * dice.uniform(0.85, 1.15)
    before = 0
    for instant in (*sorted(instants), last):
        tiers = past.tiers_at(instant)
        spent = next(tier.spent for tier in tiers if tier.kind == "short")
        yield QuotaReading(instant, tiers, max(0, spent - before) // UNITS_A_TURN)
        before = spent


def _ended(past: AccountPast, readings: Sequence[QuotaReading], now: float) -> Iterator[Ended]:
    for kind, length, begins in (
        ("short", SHORT_S, [cycle.begin for cycle in past.cycles]),
        ("long", LONG_S, [begin for begin, _ in past.longs]),
    ):
        for begin in begins:
            reset = begin + length
            place = bisect_right(readings, reset, key=lambda reading: reading.at) - 1
            if reset <= now and place >= 0:
                reading = readings[place]
                tier = next(tier for tier in reading.tiers if tier.kind == kind)
                yield Ended(tier.label, reset, 1 - tier.spent / tier.capacity, reading.at)
