"""How many alerts come true on the simulated fortnight: with the rule about the forecast's band, and without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

from fortnight_sim.policies import POLICIES
from fortnight_sim.simulate import Simulation
from fortnight_sim.vendor import FLEETS, capacity
from fortnight_sim.work import fortnight
from oulipoly_engine.core.balance.balance import SPENT_AT
from oulipoly_engine.core.quota.alerts import FORECAST, alerts
from oulipoly_engine.core.quota.forecast import Forecast, Reading, State, forecast
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import replace

RULES = ("with the rule", "without it")
_LOOKS = timedelta(minutes=5)  # between two looks at one window
_SAME_CYCLE = timedelta(hours=1)  # vendors' resets differ by seconds


def count_alerts(seed: int, load: float, policy: str, fleet: str) -> Counter[tuple[str, str, str]]:
    """Play a fortnight and count a window's cycles by (rule, window, what came of its alert).

    "true", "false": its end was foretold, and the window was exhausted before its reset, or was not. "at 90 %": it was
    exhausted, and only its use was told before. "untold": it was exhausted without any alert.
    """
    plans = FLEETS[fleet]
    played = Simulation(plans, fortnight(seed, load * capacity(plans)), POLICIES[policy], seed)
    played.run()
    found: Counter[tuple[str, str, str]] = Counter()
    for (account, label), history in played.histories().items():
        for begin, end in _cycles(history):
            runs_out = any(one.used >= SPENT_AT for one in history[begin:end])
            for rule in RULES:
                kind = _find_first_alert(account, label, history[:end], begin, rule)
                if kind == FORECAST:
                    found[rule, label, "true" if runs_out else "false"] += 1
                elif runs_out:
                    found[rule, label, "untold" if kind is None else "at 90 %"] += 1
    return found


def _cycles(history: Sequence[Reading]) -> list[tuple[int, int]]:
    begins = [
        place
        for place, one in enumerate(history)
        if place == 0 or one.resets_at - history[place - 1].resets_at > _SAME_CYCLE
    ]
    return [*pairwise([*begins, len(history)])]


def _find_first_alert(account: str, label: str, history: Sequence[Reading], begin: int, rule: str) -> str | None:
    looked = None
    for place in range(begin, len(history)):
        last = history[place]
        if last.used >= SPENT_AT:
            return None  # too late
        if looked is not None and last.at - looked < _LOOKS:
            continue
        looked = last.at
        expected = forecast(history[max(0, begin - 1) : place + 1], last.at)
        if rule == RULES[1]:
            expected = _without_band(expected)
        state = QuotaState(account, windows=(Window(0, last.used, last.resets_at, label),))
        for one in alerts(state, {state.windows[0].name: expected}, last.at):
            return one.kind
    return None


def _without_band(expected: Forecast) -> Forecast:
    return replace(expected, latest=expected.at) if expected.state is State.RUNS_DRY else expected
