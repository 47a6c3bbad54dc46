"""How right decisions have been: what runs were expected to take, beside their turns and the readings around them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from oulipoly_engine.core.balance.record import CountedRun, DecisionRecord, WindowShare, make_pool_records
from oulipoly_engine.core.balance.replay import PastDecision, Start, replay
from oulipoly_engine.core.quota.forecast import SAME_RESET
from oulipoly_engine.records import prepare
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import readings
from oulipoly_engine.store.quota.readings import Reading
from oulipoly_engine.store.runs import expectations
from oulipoly_engine.store.runs.expectations import PastRun
from oulipoly_engine.store.transcripts import entries

_FORTNIGHT = timedelta(days=14)


def read_record(store: Store, now: datetime) -> DecisionRecord:
    """Return how right the decisions of the last fortnight have been, of the recent runs."""
    since = now - _FORTNIGHT
    past = expectations.find_past(store, since)
    decisions = [_parse(run.decision) for run in past]
    shares = _Shares(store, since)
    counted: list[CountedRun] = []
    starts: list[Start] = []
    for run, decision in zip(past, decisions, strict=True):
        if run.turns and run.did_well:
            counted.append(CountedRun(run.model, run.expected_turns, run.turns, tuple(shares.of_run(run, decision))))
        if run.did_well or run.is_refused:
            starts.append(Start(run.account, decision, run.turns or run.expected_turns, run.is_refused))
    return DecisionRecord(since, make_pool_records(counted), replay(starts))


def _parse(decision: str | None) -> PastDecision:
    """Return a stored decision; what has another form than ours tells nothing."""
    if decision is None:
        return PastDecision()
    try:
        return msgspec.json.decode(decision, type=prepare(PastDecision))
    except msgspec.ValidationError:
        return PastDecision()


class _Shares:
    """What runs have taken of windows, by the readings before and after them."""

    def __init__(self, store: Store, since: datetime) -> None:
        self._store = store
        self._since = since
        self._histories: dict[tuple[str, str], Sequence[Reading]] = {}

    def of_run(self, run: PastRun, decision: PastDecision) -> Iterator[WindowShare]:
        """Yield the shares of the windows whose rate was known and that no reset has cut off in between."""
        candidate = decision.find(run.account)
        for window in () if candidate is None else candidate.windows:
            happened = self._measure(run, window.name)
            if window.rate and happened is not None:
                yield WindowShare(window.name, window.rate * run.expected_turns, happened)

    def _measure(self, run: PastRun, window: str) -> float | None:
        """Return a run's part, by turns, of what its account used between the readings around it; None: unknown."""
        history = self._history(run.account, window)
        before = bisect_right(history, run.began_at, key=lambda reading: reading.at) - 1
        after = bisect_left(history, run.ended_at, key=lambda reading: reading.at)
        if before < 0 or after >= len(history) or not run.turns:
            return None
        first = history[before]
        last = history[after]
        if abs(last.resets_at - first.resets_at) > SAME_RESET or last.used < first.used:
            return None
        since_first = entries.assistant_turns_since(self._store, run.account, first.at)
        turns = since_first - entries.assistant_turns_since(self._store, run.account, last.at)
        return (last.used - first.used) * run.turns / max(turns, run.turns)

    def _history(self, account: str, window: str) -> Sequence[Reading]:
        key = (account, window)
        if key not in self._histories:
            self._histories[key] = readings.history(self._store, account, window, self._since)
        return self._histories[key]
