"""What our side knows of the accounts: readings as they came, our own runs, and what our product learns of them."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from fortnight_sim.vendor import Plan, Seen, instant
from oulipoly_engine.core.balance.balance import Candidate
from oulipoly_engine.core.balance.decision import ERROR_WINDOW_MINUTES, Expectation
from oulipoly_engine.core.quota.burn import learn
from oulipoly_engine.core.quota.windows import DEFAULT_THRESHOLD, QuotaState, Window
from oulipoly_engine.core.runs.expectation import RunningWork, add_length, expect, promise
from oulipoly_engine.core.runs.invocations import Lengths
from oulipoly_engine.records import replace

if TYPE_CHECKING:
    from fortnight_sim.simulate import Run, Simulation
    from fortnight_sim.work import Prompt


class Known:
    """What our side has stored of one account."""

    def __init__(self, index: int, plan: Plan) -> None:
        self.index, self.plan = index, plan
        self.windows: tuple[Seen, ...] = ()  # as last read
        self.read_s: float | None = None
        self.asked_s = self.blocked_until_s = self.began_s = -1e9
        self.marked_s: float | None = None  # when it last refused, until a reading comes
        self.calls = 0  # ended
        self.runs: list[Run] = []  # that go on
        self.turns = 0  # since the last reading
        self.errors: deque[float] = deque()
        self.history: list[tuple[float, tuple[Seen, ...]]] = []
        self._quota = QuotaState(plan.name)
        self._untaught: list[tuple[float, tuple[Seen, ...], int]] = []  # readings that `_quota` has not learned from

    def take(self, now_s: float, windows: tuple[Seen, ...]) -> None:
        """Store a reading."""
        self._untaught.append((now_s, windows, self.turns))
        self.history.append((now_s, windows))
        self.windows, self.read_s, self.marked_s, self.turns = windows, now_s, None, 0

    @property
    def running(self) -> int:
        """Return how many runs go on."""
        return len(self.runs)

    def leave(self, run: Run) -> None:
        """Count a run as ended."""
        self.runs = [other for other in self.runs if other is not run]

    @property
    def quota(self) -> QuotaState:
        """Return what the product would have stored by now. Only what is asked for it learns, for rivals never do."""
        quota = self._quota
        for now_s, windows, turns in self._untaught:
            if not turns and _is_same(quota, windows):  # teaches nothing, and a choice reads each account each time
                quota = replace(quota, refreshed_at=instant(now_s), exhausted_at=None)
                continue
            reading = [
                Window(place, used, instant(resets_s), label=label)
                for place, (label, used, resets_s) in enumerate(windows)
            ]
            quota = learn(quota, reading, turns, instant(now_s))
        self._untaught.clear()
        if self.marked_s is not None and quota.exhausted_at is None:
            quota = replace(quota, exhausted_at=instant(self.marked_s))
        self._quota = quota
        return quota

    def used(self, now_s: float) -> float:
        """Return the used fraction of the fullest window that has not reset since it was read."""
        most = 0.0
        for _, used, resets_s in self.windows:
            if used > most and resets_s > now_s:
                most = used
        return most

    def window(self, label: str, now_s: float) -> Seen | None:
        """Return one window as last read, unless it has reset since."""
        return next((seen for seen in self.windows if seen[0] == label and seen[2] > now_s), None)

    def weekly_reset_s(self, now_s: float) -> float:
        """Return when its week ends; minus infinity where that is not known."""
        seen = self.window("weekly", now_s)
        return -float("inf") if seen is None else seen[2]


def _is_same(quota: QuotaState, windows: Sequence[Seen]) -> bool:
    if len(quota.windows) != len(windows):
        return False
    return all(
        before.label == label and before.used == used and before.resets_at == instant(resets_s)
        for before, (label, used, resets_s) in zip(quota.windows, windows, strict=True)
    )


class View:
    """What a policy may know when a prompt asks for an account."""

    def __init__(self, accounts: Sequence[Known], rng: random.Random) -> None:
        self.accounts, self.rng = accounts, rng
        self.now_s = 0.0
        self.attempted: frozenset[int] = frozenset()  # accounts that refused this very prompt
        self.last: int | None = None  # the account chosen last
        self.project, self.model = 0, "model"
        self.session: int | None = None
        self.at_least = 0  # turns that the prompt has taken on an account that cut it off
        self.memory: dict[str, float] = {}  # what a policy keeps from one choice to the next
        self.is_learning = False  # somebody asks for what our product would know
        self._lengths: dict[tuple[int | None, str], Lengths] = {}  # of past runs, by project and model, and by model
        # Only where the policy is clairvoyant:
        self.truth: Simulation | None = None
        self.prompt: Prompt | None = None
        self.stays_on: int | None = None  # its session's account

    @property
    def now(self) -> datetime:
        """Return the present instant."""
        return instant(self.now_s)

    def is_open(self, known: Known) -> bool:
        """Tell whether an account is not known to be spent, as our own choice would."""
        now_s = self.now_s
        if known.index in self.attempted:
            return False
        is_live = not known.windows
        for _, used, resets_s in known.windows:
            if resets_s > now_s:
                is_live = True
                if used >= 1:
                    return False
        return known.marked_s is None or not is_live

    def open(self) -> list[Known]:
        """Return the accounts that are not known to be spent, by index."""
        return [known for known in self.accounts if self.is_open(known)]

    def learn_length(self, project: int, model: str, turns: int) -> None:
        """Count a run that did well, as our product does."""
        for key in ((project, model), (None, model)):
            self._lengths[key] = add_length(self._lengths.get(key), turns)

    def expectation(self) -> Expectation:
        """Return how long our product expects the prompt to be."""
        expected = expect(self._lengths.get((self.project, self.model)), self._lengths.get((None, self.model)))
        return replace(expected, at_least=float(self.at_least))

    def candidates(self) -> list[Candidate]:
        """Return the accounts as our product would give them to its choice."""
        self.is_learning = True
        works = [
            RunningWork(known.plan.name, run.expected_turns, run.prompt.turns - run.turns_left)
            for known in self.accounts
            for run in known.runs
        ]
        promised = promise(works, {})
        return [
            Candidate(
                known.index,
                known.plan.name,
                known.quota,
                known.calls,
                _recent(known, self.now_s),
                known.turns,
                running=known.running,
                promised_turns=promised.get(known.plan.name, 0.0),
                has_alert=known.used(self.now_s) >= DEFAULT_THRESHOLD,
            )
            for known in self.accounts
        ]


def _recent(known: Known, now_s: float) -> int:
    while known.errors and known.errors[0] < now_s - ERROR_WINDOW_MINUTES * 60:
        known.errors.popleft()
    return len(known.errors)
