"""The vendors' side of the simulation: plans, their windows as they really stand, and what a quota script would see."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from oulipoly_engine.records import Record

HOUR = 3600.0
WEEK = 168 * HOUR
FORTNIGHT = 2 * WEEK
BURST = 5 * HOUR
ORIGIN = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday; the simulation counts seconds from it
REPORT_LAG_S = 60.0  # what was spent in the last minute is not in a reading yet

Seen = tuple[str, float, float]  # a window in a reading: its label, its used fraction, when it resets in seconds


class Plan(Record):
    """What one account may spend, in units of an ordinary turn."""

    name: str
    weekly: float
    burst: float | None  # per 5 h, from the first use; None: no such window
    weekly_rolls: bool = False  # the week begins at the first use after a reset, not at a fixed time
    hides_idle: bool = True  # a 5 h window that nothing runs in is left out of readings
    burst_rolls: bool = True  # the 5 h begin at the first use; False: they follow each other


# Sizes as vendors sell them: two plans five times the smallest, one half as large again, one without a 5 h window.
_MAX = Plan("max-a", 8000, 1000)
_PLUS = Plan("plus", 2400, 300, weekly_rolls=True, hides_idle=False)
_FIVE = (_MAX, Plan("max-b", 8000, 1000), Plan("pro", 1600, 200), _PLUS, Plan("flat", 3500, None))


def _alike(count: int) -> tuple[Plan, ...]:
    return tuple(Plan(f"pro-{place}", 4700, 590) for place in range(1, count + 1))


def _times(plans: Sequence[Plan], times: int) -> tuple[Plan, ...]:
    return tuple(
        Plan(f"{plan.name}-{turn}", plan.weekly, plan.burst, plan.weekly_rolls, plan.hides_idle)
        for turn in range(times)
        for plan in plans
    )


FLEETS = {
    "two": (_MAX, _PLUS),
    "two-equal": _alike(2),
    "five": _FIVE,
    "five-equal": _alike(5),
    "thirty": _times(_FIVE, 6),
}


def capacity(plans: Sequence[Plan]) -> float:
    """Return what a fleet may spend in a fortnight by its weekly windows."""
    return sum(plan.weekly for plan in plans) * FORTNIGHT / WEEK


def instant(at_s: float) -> datetime:
    """Return the instant that lies `at_s` seconds after the simulation's origin."""
    return ORIGIN + timedelta(seconds=at_s)


class Ended(Record):
    """A cycle of a window that is over."""

    at_s: float
    spent: float
    size: float
    wasted: float  # of what was spent: on prompts that were cut off


class Meter:
    """One window of one account as the vendor keeps it."""

    __slots__ = ("_late", "ended", "label", "length_s", "resets_s", "rolls", "size", "spent", "total", "wasted")

    def __init__(self, label: str, size: float, length_s: float, resets_s: float | None, *, rolls: bool) -> None:
        self.label, self.size, self.length_s, self.rolls = label, size, length_s, rolls
        self.resets_s = resets_s  # None: rolls, and nothing was spent since the last reset
        self.spent = 0.0
        self.wasted = 0.0  # of what was spent: on prompts that were cut off
        self.total = 0.0  # units charged in all, never reset
        self.ended: list[Ended] = []
        self._late: deque[tuple[float, float]] = deque()

    def pass_time(self, now_s: float) -> None:
        """Reset the window as often as its time came."""
        while self.resets_s is not None and now_s >= self.resets_s:
            spent = min(self.size, self.spent)
            self.ended.append(Ended(self.resets_s, spent, self.size, min(spent, self.wasted)))
            self.spent = self.wasted = 0.0
            self._late.clear()
            self.resets_s = None if self.rolls else self.resets_s + self.length_s

    def charge(self, now_s: float, units: float) -> None:
        """Spend `units`, opening the window if it is idle."""
        self.pass_time(now_s)
        if self.resets_s is None:
            self.resets_s = now_s + self.length_s
        self.spent += units
        self.total += units
        self._late.append((now_s, units))

    def visible(self, now_s: float, lag_s: float = REPORT_LAG_S, step: int = 1) -> float:
        """Return the used fraction that a reading shows: late, and in steps of whole percents."""
        late = self._late
        while late and late[0][0] <= now_s - lag_s:
            late.popleft()
        spent = self.spent - sum([units for _, units in late]) if late else self.spent
        return min(100, max(0, step * round(100 * spent / self.size / step))) / 100


class Login:
    """One account as the vendor keeps it."""

    __slots__ = ("meters", "plan")

    def __init__(self, plan: Plan, rng: random.Random) -> None:
        self.plan = plan
        phase = rng.random()  # how much of its week has passed when the fortnight begins
        self.meters = [Meter("weekly", plan.weekly, WEEK, (1 - phase) * WEEK, rolls=plan.weekly_rolls)]
        self.meters[0].spent = plan.weekly * phase * rng.uniform(0.2, 0.8)
        if plan.burst is not None:
            first_s = None if plan.burst_rolls else BURST
            self.meters.append(Meter("5h-burst", plan.burst, BURST, first_s, rolls=plan.burst_rolls))

    def refuses(self, now_s: float) -> bool:
        """Tell whether the vendor would answer that the quota is spent."""
        is_spent = False
        for meter in self.meters:
            if meter.resets_s is not None and now_s >= meter.resets_s:
                meter.pass_time(now_s)
            is_spent = is_spent or meter.spent >= meter.size
        return is_spent

    def charge(self, now_s: float, units: float) -> None:
        """Spend `units` of every window."""
        for meter in self.meters:
            meter.charge(now_s, units)

    def resize(self, now_s: float, factor: float) -> None:
        """Change the limits to `factor` of what they are."""
        for meter in self.meters:
            meter.pass_time(now_s)
            meter.size *= factor

    def read(self, now_s: float, lag_s: float = REPORT_LAG_S, step: int = 1) -> tuple[Seen, ...]:
        """Return what the account's quota script would report."""
        windows: list[Seen] = []
        for meter in self.meters:
            meter.pass_time(now_s)
            if meter.resets_s is None and self.plan.hides_idle:
                continue
            resets_s = now_s + meter.length_s if meter.resets_s is None else meter.resets_s
            windows.append((meter.label, meter.visible(now_s, lag_s, step), resets_s))
        return tuple(windows)
