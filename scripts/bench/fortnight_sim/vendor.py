"""The vendors' side of the simulation: plans, their windows as they really stand, and what a quota script would see."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from oulipoly_engine.core.quota.windows import Window
from oulipoly_engine.records import Record

HOUR = 3600.0
WEEK = 168 * HOUR
FORTNIGHT = 2 * WEEK
ORIGIN = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday; the simulation counts seconds from it
REPORT_LAG_S = 60.0  # what was spent in the last minute is not in a reading yet


class Plan(Record):
    """What one account may spend, in units of an ordinary turn."""

    name: str
    weekly: float
    burst: float | None  # per 5 h, from the first use; None: no such window
    weekly_rolls: bool = False  # the week begins at the first use after a reset, not at a fixed time
    hides_idle: bool = True  # a 5 h window that nothing runs in is left out of readings


# Sizes as vendors sell them: two plans five times the smallest, one half as large again, one without a 5 h window.
MIXED = (
    Plan("max-a", 8000, 1000),
    Plan("max-b", 8000, 1000),
    Plan("pro", 1600, 200),
    Plan("plus", 2400, 300, weekly_rolls=True, hides_idle=False),
    Plan("flat", 3500, None),
)
EQUAL = tuple(Plan(f"pro-{place}", 4700, 590) for place in range(1, 6))
FLEETS = {"mixed": MIXED, "equal": EQUAL}


def capacity(plans: Sequence[Plan]) -> float:
    """Return what a fleet may spend in a fortnight by its weekly windows."""
    return sum(plan.weekly for plan in plans) * FORTNIGHT / WEEK


def instant(at_s: float) -> datetime:
    """Return the instant that lies `at_s` seconds after the simulation's origin."""
    return ORIGIN + timedelta(seconds=at_s)


class Meter:
    """One window of one account as the vendor keeps it."""

    def __init__(self, label: str, size: float, length_s: float, resets_s: float | None, *, rolls: bool) -> None:
        self.label, self.size, self.length_s, self.rolls = label, size, length_s, rolls
        self.resets_s = resets_s  # None: rolls, and nothing was spent since the last reset
        self.spent = 0.0
        self.ended: list[tuple[float, float]] = []  # each reset that came, and the units spent by then
        self._late: deque[tuple[float, float]] = deque()

    def pass_time(self, now_s: float) -> None:
        """Reset the window as often as its time came."""
        while self.resets_s is not None and now_s >= self.resets_s:
            self.ended.append((self.resets_s, min(self.size, self.spent)))
            self.spent = 0.0
            self._late.clear()
            self.resets_s = None if self.rolls else self.resets_s + self.length_s

    def charge(self, now_s: float, units: float) -> None:
        """Spend `units`, opening the window if it is idle."""
        self.pass_time(now_s)
        if self.resets_s is None:
            self.resets_s = now_s + self.length_s
        self.spent += units
        self._late.append((now_s, units))

    def visible(self, now_s: float) -> float:
        """Return the used fraction that a reading shows: a minute late, in whole percent."""
        while self._late and self._late[0][0] <= now_s - REPORT_LAG_S:
            self._late.popleft()
        spent = self.spent - sum(units for _, units in self._late)
        return min(100, max(0, round(100 * spent / self.size))) / 100


class Login:
    """One account as the vendor keeps it."""

    def __init__(self, plan: Plan, rng: random.Random) -> None:
        self.plan = plan
        phase = rng.random()  # how much of its week has passed when the fortnight begins
        self.meters = [Meter("weekly", plan.weekly, WEEK, (1 - phase) * WEEK, rolls=plan.weekly_rolls)]
        self.meters[0].spent = plan.weekly * phase * rng.uniform(0.2, 0.8)
        if plan.burst is not None:
            self.meters.append(Meter("5h-burst", plan.burst, 5 * HOUR, None, rolls=True))

    def refuses(self, now_s: float) -> bool:
        """Tell whether the vendor would answer that the quota is spent."""
        for meter in self.meters:
            meter.pass_time(now_s)
        return any(meter.spent >= meter.size for meter in self.meters)

    def charge(self, now_s: float, units: float) -> None:
        """Spend `units` of every window."""
        for meter in self.meters:
            meter.charge(now_s, units)

    def read(self, now_s: float) -> tuple[Window, ...]:
        """Return what the account's quota script would report."""
        windows: list[Window] = []
        for meter in self.meters:
            meter.pass_time(now_s)
            if meter.resets_s is None and self.plan.hides_idle:
                continue
            resets_s = now_s + meter.length_s if meter.resets_s is None else meter.resets_s
            windows.append(Window(len(windows), meter.visible(now_s), instant(resets_s), label=meter.label))
        return tuple(windows)
