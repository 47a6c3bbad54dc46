"""One fortnight under one policy: prompts come, an account is chosen, turns are charged, vendors refuse."""

# ruff: noqa: S311 - seeded on purpose

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence

from fortnight_sim.policies import POLICIES, Policy, View
from fortnight_sim.vendor import FLEETS, FORTNIGHT, Login, Plan, capacity, instant
from fortnight_sim.work import TURN_S, Prompt, fortnight
from oulipoly_engine.core.balance.balance import Candidate
from oulipoly_engine.core.balance.decision import ERROR_WINDOW_MINUTES
from oulipoly_engine.core.quota.burn import learn
from oulipoly_engine.core.quota.forecast import Reading
from oulipoly_engine.core.quota.staleness import ROUTING_TTL_S, is_reading_due
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import Record, field, replace

SLICE_TURNS = 5  # turns that are charged at once
REFRESH_FAILS = 0.02  # share of quota requests that the vendor turns away
BACK_OFF_S = 300.0
BEFORE_RESET_S = 5.0


class Outcome(Record):
    """What came of a fortnight."""

    prompts: int
    served: int
    first_refusal: int  # prompts served before an account first refused or cut off one; all, if none ever did
    first_lost: int  # prompts served before the first that no account would serve; all, if there was none
    refusals: int  # times that an account refused or cut off a prompt
    weekly_unused: float  # share of the weekly quota that was left at the resets, weighted by plan size
    burst_unused: float  # the same of the 5 h windows that were opened
    served_units: float  # share of the wanted units that belongs to served prompts


class _Run(Record, frozen=False):
    """A prompt on its way."""

    prompt: Prompt
    attempted: frozenset[str] = frozenset()
    account: int = -1
    turns_left: int = 0


class _Known(Record, frozen=False):
    """What our side has stored of one account."""

    quota: QuotaState
    calls: int = 0
    turns: int = 0  # since the last refresh
    asked_s: float = -1e9
    blocked_until_s: float = -1e9
    errors: deque[float] = field(default_factory=deque)
    history: list[tuple[float, tuple[Window, ...]]] = field(default_factory=list)


class Simulation:
    """A fleet, a stream of prompts and a policy."""

    def __init__(  # noqa: PLR0913, RUF100 - what makes up a fortnight
        self, plans: Sequence[Plan], prompts: Sequence[Prompt], policy: Policy, seed: int, *, is_shown: bool = False
    ) -> None:
        """is_shown: the app is open, and reads accounts that work runs on as it does."""
        fleet_rng = random.Random(seed)  # the same fleet for each policy
        shuffled = fleet_rng.sample(list(plans), len(plans))
        self._logins = [Login(plan, fleet_rng) for plan in shuffled]
        self._known = [_Known(QuotaState(plan.name)) for plan in shuffled]
        self._policy, self._prompts, self._is_shown = policy, prompts, is_shown
        self._rng, self._luck = random.Random(seed + 1), random.Random(seed + 2)
        self._events: list[tuple[float, int, _Run]] = []
        self._order = 0
        self._last: int | None = None
        self._served = self._refusals = 0
        self._served_units = 0.0
        self._first_refusal: int | None = None
        self._first_lost: int | None = None

    def run(self) -> Outcome:
        """Let the fortnight pass."""
        for prompt in self._prompts:
            self._push(prompt.at_s, _Run(prompt))
        while self._events:
            at_s, _, run = heapq.heappop(self._events)
            if run.account < 0:
                self._begin(at_s, run)
            else:
                self._go_on(at_s, run)
        return self._outcome()

    def histories(self) -> dict[tuple[str, str], list[Reading]]:
        """Return each window's readings by account and label, with one just before each reset that came."""
        found: dict[tuple[str, str], list[Reading]] = {}
        for login, known in zip(self._logins, self._known, strict=True):
            for meter in login.meters:
                readings = [
                    Reading(instant(at_s), window.used, window.resets_at)
                    for at_s, windows in known.history
                    for window in windows
                    if window.label == meter.label
                ]
                last = [
                    Reading(instant(at_s - BEFORE_RESET_S), round(100 * spent / meter.size) / 100, instant(at_s))
                    for at_s, spent in meter.ended
                ]
                found[known.quota.account, meter.label] = sorted(readings + last, key=lambda reading: reading.at)
        return found

    def _push(self, at_s: float, run: _Run) -> None:
        self._order += 1
        heapq.heappush(self._events, (at_s, self._order, run))

    def _begin(self, now_s: float, run: _Run) -> None:
        self._refresh(now_s)
        view = View(self._candidates(now_s), instant(now_s), run.attempted, self._last, self._luck)
        chosen = self._policy(view)
        if chosen is None:
            if self._first_lost is None:
                self._first_lost = self._served
            return
        self._last = run.account = chosen
        run.turns_left = run.prompt.turns
        self._go_on(now_s, run)

    def _go_on(self, now_s: float, run: _Run) -> None:
        login, known = self._logins[run.account], self._known[run.account]
        if self._is_shown:
            self._read_if_due(now_s, login, known)
        if run.turns_left <= 0:
            known.calls += 1
            self._served += 1
            self._served_units += run.prompt.turns * run.prompt.turn_cost
        elif login.refuses(now_s):
            self._refuse(now_s, run)
        else:
            turns = min(SLICE_TURNS, run.turns_left)
            login.charge(now_s, turns * run.prompt.turn_cost)
            known.turns += turns
            run.turns_left -= turns
            self._push(now_s + turns * TURN_S, run)

    def _refuse(self, now_s: float, run: _Run) -> None:
        """Mark the account and begin again on another, as the runner does."""
        known = self._known[run.account]
        self._refusals += 1
        if self._first_refusal is None:
            self._first_refusal = self._served
        known.calls += 1
        known.errors.append(now_s)
        known.quota = replace(known.quota, exhausted_at=instant(now_s))
        self._begin(now_s, _Run(run.prompt, run.attempted | {known.quota.account}))

    def _refresh(self, now_s: float) -> None:
        for login, known in zip(self._logins, self._known, strict=True):
            if now_s - known.asked_s > ROUTING_TTL_S and now_s >= known.blocked_until_s:
                self._read(now_s, login, known)

    def _read_if_due(self, now_s: float, login: Login, known: _Known) -> None:
        attempted_at = instant(known.asked_s)
        if now_s >= known.blocked_until_s and is_reading_due(
            known.quota, instant(now_s), attempted_at=attempted_at, is_busy=True
        ):
            self._read(now_s, login, known)

    def _read(self, now_s: float, login: Login, known: _Known) -> None:
        known.asked_s = now_s
        if self._rng.random() < REFRESH_FAILS:
            known.blocked_until_s = now_s + BACK_OFF_S
            return
        windows = login.read(now_s)
        known.quota = learn(known.quota, windows, known.turns, instant(now_s))
        known.turns = 0
        known.history.append((now_s, windows))

    def _candidates(self, now_s: float) -> list[Candidate]:
        return [
            Candidate(index, known.quota.account, known.quota, known.calls, _recent(known, now_s), known.turns)
            for index, known in enumerate(self._known)
        ]

    def _outcome(self) -> Outcome:
        for login in self._logins:
            login.refuses(FORTNIGHT)  # lets the last resets happen
        wanted = sum(prompt.turns * prompt.turn_cost for prompt in self._prompts)
        return Outcome(
            prompts=len(self._prompts),
            served=self._served,
            first_refusal=self._served if self._first_refusal is None else self._first_refusal,
            first_lost=self._served if self._first_lost is None else self._first_lost,
            refusals=self._refusals,
            weekly_unused=self._unused("weekly"),
            burst_unused=self._unused("5h-burst"),
            served_units=self._served_units / wanted,
        )

    def _unused(self, label: str) -> float:
        meters = [meter for login in self._logins for meter in login.meters if meter.label == label]
        offered = sum(meter.size * len(meter.ended) for meter in meters)
        spent = sum(units for meter in meters for _, units in meter.ended)
        return 1 - spent / offered if offered else 0.0


def _recent(known: _Known, now_s: float) -> int:
    while known.errors and known.errors[0] < now_s - ERROR_WINDOW_MINUTES * 60:
        known.errors.popleft()
    return len(known.errors)


def simulate(seed: int, load: float, policy: str, fleet: str = "mixed") -> Outcome:
    """Run one fortnight; `load` is the demand as a share of the fleet's weekly quota."""
    plans = FLEETS[fleet]
    return Simulation(plans, fortnight(seed, load * capacity(plans)), POLICIES[policy], seed).run()
