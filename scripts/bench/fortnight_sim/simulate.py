"""One fortnight under one policy: prompts come, an account is chosen, turns are charged, vendors refuse."""

# ruff: noqa: S311 - seeded on purpose

from __future__ import annotations

import heapq
import random
from collections import deque

from fortnight_sim.known import Known, View
from fortnight_sim.policies import Policy
from fortnight_sim.scenario import MOVE_TURNS, Instance, lag_s
from fortnight_sim.vendor import FORTNIGHT, HOUR, Login, instant
from fortnight_sim.work import DAY, Prompt
from oulipoly_engine.core.quota.forecast import Reading
from oulipoly_engine.core.quota.staleness import ROUTING_TTL_S, is_reading_due
from oulipoly_engine.records import Record

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
    weekly_useless: float  # the share of it that was left or went into what was cut off
    wasted_units: float  # units spent on what was cut off or on moves, as a share of the wanted ones
    moves: int = 0  # times that a session went on with another account

    @property
    def lost(self) -> float:
        """Return the share of the work wanted that found nobody."""
        return max(0.0, 1 - self.served_units)  # sums of floats may be a hair above


class Run(Record, frozen=False):
    """A prompt on its way."""

    prompt: Prompt
    attempted: frozenset[int] = frozenset()
    account: int = -1  # -1: not begun
    turns_left: int = 0
    expected_turns: float = 0.0  # as our product expected them when it began
    spent: float = 0.0  # units, on its present account
    move_cost: float = 0.0  # units, to be charged with its first turns
    at_least: int = 0  # turns that it has taken on an account that cut it off


class Simulation:
    """A fleet, a stream of prompts and a policy."""

    def __init__(
        self, instance: Instance, policy: Policy, *, is_shown: bool = False, has_readings: bool = True
    ) -> None:
        """is_shown: the app is open, and reads accounts that work runs on as it does.

        has_readings: the policy goes by them, else by the truth.
        """
        seed, variations = instance.scenario.seed, instance.scenario.variations
        self.instance, self.logins = instance, instance.logins()
        self.promised = [0.0] * len(self.logins)  # units that what runs on an account has still to spend
        self._known = [Known(index, plan) for index, plan in enumerate(instance.plans)]
        self._policy, self._is_shown, self._has_readings = policy, is_shown, has_readings
        self._rngs = [random.Random(seed * 1000 + place) for place in range(len(self.logins))]  # of failing requests
        self._view = View(self._known, random.Random(seed + 2))
        self._lag_s, self._step = lag_s(instance.scenario), 5 if "rounded" in variations else 1
        self._is_missing, self._is_wrong = "missing" in variations, "wrong" in variations
        self._had_wrong: set[int] = set()
        self._events: list[tuple[float, int, Run | None]] = []
        self._beside = deque(sorted([(at_s, 0, *rest) for at_s, *rest in instance.changes]
                                    + [(at_s, 1, *rest) for at_s, *rest in instance.charges]))  # fmt: skip
        self._order = self._running = 0
        self._most = instance.scenario.in_flight or len(instance.prompts) + 1
        self._waiting: deque[Run] = deque()
        self._sessions: dict[int, int] = {}  # session -> its account
        self.lost: list[Prompt] = []  # what nobody served
        self._served = self._refusals = self._moves = 0
        self._served_units = self._wasted = 0.0
        self._first_refusal: int | None = None
        self._first_lost: int | None = None

    def run(self) -> Outcome:
        """Let the fortnight pass."""
        for prompt in self.instance.prompts:
            self._push(prompt.at_s, Run(prompt))
        events = self._events
        while events:
            at_s, _, run = heapq.heappop(events)
            if self._beside and self._beside[0][0] <= at_s:
                self._let_others_act(at_s)
            if run.account >= 0:
                self._go_on(at_s, run)
            elif self._running >= self._most:
                self._waiting.append(run)
            else:
                self._running += 1
                self._begin(at_s, run)
        return self._outcome()

    def histories(self) -> dict[tuple[str, str], list[Reading]]:
        """Return each window's readings by account and label, with one just before each reset that came."""
        histories: dict[tuple[str, str], list[Reading]] = {}
        for login, known in zip(self.logins, self._known, strict=True):
            for meter in login.meters:
                readings = [
                    Reading(instant(at_s), used, instant(resets_s))
                    for at_s, windows in known.history
                    for label, used, resets_s in windows
                    if label == meter.label
                ]
                last = [
                    Reading(
                        instant(ended.at_s - BEFORE_RESET_S),
                        round(100 * ended.spent / ended.size) / 100,
                        instant(ended.at_s),
                    )
                    for ended in meter.ended
                ]
                histories[known.plan.name, meter.label] = sorted(readings + last, key=lambda reading: reading.at)
        return histories

    def _push(self, at_s: float, run: Run) -> None:
        self._order += 1
        heapq.heappush(self._events, (at_s, self._order, run))

    def _let_others_act(self, now_s: float) -> None:
        """Let vendors change their limits, and a person use an account beside us."""
        while self._beside and self._beside[0][0] <= now_s:
            at_s, is_charge, place, amount = self._beside.popleft()
            if not is_charge:
                self.logins[place].resize(at_s, amount)
            elif not self.logins[place].refuses(at_s):
                self.logins[place].charge(at_s, amount)

    def _begin(self, now_s: float, run: Run) -> None:
        if self._has_readings:
            self._refresh(now_s)
        chosen = self._choose(now_s, run)
        if chosen is None:
            if self._first_lost is None:
                self._first_lost = self._served
            self.lost.append(run.prompt)
            self._end(now_s)
            return
        prompt = run.prompt
        if prompt.session is not None:
            before = self._sessions.get(prompt.session, chosen)
            self._sessions[prompt.session] = chosen
            if before != chosen:
                self._moves += 1
                run.move_cost = MOVE_TURNS * prompt.turn_cost
        self._view.last = run.account = chosen
        run.turns_left = prompt.turns
        self.promised[chosen] += prompt.cost
        if self._has_readings:
            self._known[chosen].runs.append(run)
        if self._view.is_learning:
            run.expected_turns = self._view.expectation().turns
        self._known[chosen].began_s = now_s
        self._go_on(now_s, run)

    def _choose(self, now_s: float, run: Run) -> int | None:
        view, session = self._view, run.prompt.session
        view.now_s, view.attempted, view.at_least = now_s, run.attempted, run.at_least
        view.project, view.model, view.session = run.prompt.project, run.prompt.model, session
        stays_on = None if session is None else self._sessions.get(session)
        if not self._has_readings:
            view.truth, view.prompt, view.stays_on = self, run.prompt, stays_on
        elif stays_on is not None and view.is_open(self._known[stays_on]):
            return stays_on
        return self._policy(view)

    def _go_on(self, now_s: float, run: Run) -> None:
        place = run.account
        login, known, prompt = self.logins[place], self._known[place], run.prompt
        if self._is_shown:
            self._read_if_due(now_s, login, known)
        if run.turns_left <= 0:
            known.calls += 1
            known.leave(run)
            if self._view.is_learning:
                self._view.learn_length(prompt.project, prompt.model, prompt.turns)
            self._served += 1
            self._served_units += prompt.turns * prompt.turn_cost
            self._wasted += run.spent - prompt.turns * prompt.turn_cost
            self._end(now_s)
        elif login.refuses(now_s):
            self._refuse(now_s, run)
        else:
            turns = min(SLICE_TURNS, run.turns_left)
            units = turns * prompt.turn_cost
            self.promised[place] -= units
            units += run.move_cost
            login.charge(now_s, units)
            run.spent += units
            run.move_cost = 0.0
            known.turns += turns
            run.turns_left -= turns
            self._push(now_s + turns * self.instance.turn_s, run)

    def _end(self, now_s: float) -> None:
        self._running -= 1
        if self._waiting:
            self._push(now_s, self._waiting.popleft())

    def _refuse(self, now_s: float, run: Run) -> None:
        """Mark the account and begin again on another, as the runner does."""
        known = self._known[run.account]
        self._refusals += 1
        if self._first_refusal is None:
            self._first_refusal = self._served
        self.promised[run.account] -= run.turns_left * run.prompt.turn_cost
        self._wasted += run.spent
        for meter in self.logins[run.account].meters:
            meter.wasted += run.spent
        known.calls += 1
        known.leave(run)
        known.errors.append(now_s)
        known.marked_s = now_s
        taken = max(run.at_least, run.prompt.turns - run.turns_left)
        self._begin(now_s, Run(run.prompt, run.attempted | {run.account}, at_least=taken))

    def _refresh(self, now_s: float) -> None:
        for known in self._known:
            if now_s - known.asked_s > ROUTING_TTL_S and now_s >= known.blocked_until_s:
                self._read(now_s, self.logins[known.index], known)

    def _read_if_due(self, now_s: float, login: Login, known: Known) -> None:
        attempted_at = instant(known.asked_s)
        if now_s >= known.blocked_until_s and is_reading_due(
            known.quota, instant(now_s), attempted_at=attempted_at, is_busy=True
        ):
            self._read(now_s, login, known)

    def _read(self, now_s: float, login: Login, known: Known) -> None:
        known.asked_s = now_s
        place = known.index
        is_unread = self._is_missing and 0 <= now_s % DAY - self.instance.unread_s[place] < HOUR
        if is_unread or self._rngs[place].random() < REFRESH_FAILS:
            known.blocked_until_s = now_s + BACK_OFF_S
            return
        windows = login.read(now_s, self._lag_s, self._step)
        if self._is_wrong and now_s >= self.instance.wrong_s[place] and place not in self._had_wrong:
            self._had_wrong.add(place)
            used = float(place % 2)
            windows = tuple((label, used, resets_s) for label, _, resets_s in windows)
        known.take(now_s, windows)

    def _outcome(self) -> Outcome:
        for login in self.logins:
            login.refuses(FORTNIGHT)  # lets the last resets happen
        wanted = sum([prompt.cost for prompt in self.instance.prompts])
        return Outcome(
            prompts=len(self.instance.prompts),
            served=self._served,
            first_refusal=self._served if self._first_refusal is None else self._first_refusal,
            first_lost=self._served if self._first_lost is None else self._first_lost,
            refusals=self._refusals,
            weekly_unused=self._share_left("weekly"),
            weekly_useless=self._share_left("weekly", is_waste_left=True),
            burst_unused=self._share_left("5h-burst"),
            served_units=self._served_units / wanted,
            wasted_units=self._wasted / wanted,
            moves=self._moves,
        )

    def _share_left(self, label: str, *, is_waste_left: bool = False) -> float:
        ended = [
            cycle
            for login in self.logins
            for meter in login.meters
            if meter.label == label
            for cycle in meter.ended
            if cycle.at_s <= FORTNIGHT
        ]
        offered = sum([cycle.size for cycle in ended])
        used = sum([cycle.spent - (cycle.wasted if is_waste_left else 0.0) for cycle in ended])
        return 1 - used / offered if offered else 0.0


def simulate(instance: Instance, policy: Policy) -> Outcome:
    """Play one fortnight."""
    return Simulation(instance, policy, has_readings=not getattr(policy, "is_clairvoyant", False)).run()
