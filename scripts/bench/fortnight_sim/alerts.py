"""What comes of alerts on the simulated fortnight: by our rule, and by others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from fortnight_sim.policies import POLICIES
from fortnight_sim.scenario import Scenario, build
from fortnight_sim.simulate import Simulation
from oulipoly_engine.core.balance.balance import SPENT_AT
from oulipoly_engine.core.quota.alerts import FORECAST, THRESHOLD, alerts
from oulipoly_engine.core.quota.forecast import Forecast, Reading, State, forecast
from oulipoly_engine.core.quota.windows import DEFAULT_THRESHOLD, QuotaState, Window

_IN_TIME = timedelta(minutes=10)  # before the window is exhausted
_SAME_CYCLE = timedelta(hours=1)  # vendors' resets differ by seconds

Rule = Callable[[Window, Forecast], bool]  # is it worth an alert that the window runs out?


def count_alerts(seed: int, load: float, policy: str, fleet: str) -> Counter[tuple[str, str, str]]:
    """Play a fortnight with the app open and count a window's cycles by (rule, window, what came of its alert).

    "true", "false": its end was foretold, and the window was exhausted before its reset, or was not. "at 90 %": it was
    exhausted, and only its use was told before. "untold": it was exhausted without any alert. "in time": of those that
    were exhausted, how many had an alert of either kind ten minutes before.
    """
    played = Simulation(build(Scenario(fleet, load, seed)), POLICIES[policy], is_shown=True)
    played.run()
    found: Counter[tuple[str, str, str]] = Counter()
    for (_, label), history in played.histories().items():
        for begin, end in _cycles(history):
            spent_at = next((one.at for one in history[begin:end] if one.used >= SPENT_AT), None)
            for rule, (kind, at) in _find_first_alerts(label, history[:end], begin).items():
                if kind == FORECAST:
                    found[rule, label, "false" if spent_at is None else "true"] += 1
                elif spent_at is not None:
                    found[rule, label, "untold" if kind is None else "at 90 %"] += 1
                if kind is not None and spent_at is not None and spent_at - at >= _IN_TIME:
                    found[rule, label, "in time"] += 1
    return found


def _cycles(history: Sequence[Reading]) -> list[tuple[int, int]]:
    begins = [
        place
        for place, one in enumerate(history)
        if place == 0 or one.resets_at - history[place - 1].resets_at > _SAME_CYCLE
    ]
    return [*pairwise([*begins, len(history)])]


def _find_first_alerts(label: str, history: Sequence[Reading], begin: int) -> Mapping[str, tuple[str | None, datetime]]:
    """Return each rule's first alert in the cycle that begins at `begin`: its kind, None if there is none, and when."""
    found: dict[str, tuple[str | None, datetime]] = {}
    for place in range(begin, len(history)):
        last = history[place]
        if last.used >= SPENT_AT or len(found) == len(RULES):
            break
        window = Window(0, last.used, last.resets_at, label)
        expected = forecast(history[max(0, begin - 1) : place + 1], last.at)
        for rule, runs_out in RULES.items():
            if rule in found:
                continue
            if last.used >= DEFAULT_THRESHOLD:
                found[rule] = (THRESHOLD, last.at)
            elif expected.state is State.RUNS_DRY and runs_out(window, expected):
                found[rule] = (FORECAST, last.at)
    return {rule: found.get(rule, (None, history[begin].at)) for rule in RULES}


def _is_alert(window: Window, expected: Forecast) -> bool:
    now = expected.read_at
    return now is not None and bool(alerts(QuotaState("", windows=(window,)), {window.name: expected}, now))


RULES: Mapping[str, Rule] = {
    "ours": _is_alert,
    "lower end of the band": lambda _, expected: expected.latest is not None,
    "middle of the band": lambda _window, _expected: True,
    "90 % used alone": lambda _window, _expected: False,
}
