"""Choose an account: gather what the store knows of the pool, let the core decide, carry out what follows from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from oulipoly_engine.core.accounts.accounts import Model, Settings
from oulipoly_engine.core.balance.balance import choose
from oulipoly_engine.core.balance.decision import (
    ERROR_WINDOW_MINUTES,
    UNKNOWN_LENGTH,
    Candidate,
    Decision,
    Expectation,
    TieRule,
)
from oulipoly_engine.core.quota.windows import DEFAULT_THRESHOLD, LEAST_USED_TO_WARN, QuotaState
from oulipoly_engine.core.runs.invocations import RunningRun
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import controls, quotas
from oulipoly_engine.store.runs import invocations

NONE_REFUSED: Mapping[str, str] = {}


def decide(
    store: Store,
    model: Model,
    settings: Settings,
    now: datetime,
    attempted: Collection[str] = (),
    *,
    known: Collection[str] | None = None,
    refusals: Mapping[str, str] = NONE_REFUSED,
    project: str = "",
    taken: int = 0,
) -> Decision:
    """Return the decision for one more invocation of a model, from what is stored; spent marks that are over go.

    attempted: accounts that ran out of quota earlier in the same invocation. known: those of providers.toml; None: all.
    refusals: why accounts cannot do what is asked. project: the folder whose runs tell how long the next will be.
    taken: turns that an attempt of the prompt took until it was cut off.
    """
    pool = candidates(store, model, now, known)
    if refusals:
        pool = tuple(replace(each, refusal=refusals.get(each.account, "")) for each in pool)
    decision = decide_among(store, model, pool, settings, now, attempted, project=project, taken=taken)
    quotas.clear_exhausted(store, decision.readmitted)
    return decision


def decide_among(
    store: Store,
    model: Model,
    pool: Sequence[Candidate],
    settings: Settings,
    now: datetime,
    attempted: Collection[str] = (),
    *,
    project: str = "",
    taken: int = 0,
) -> Decision:
    """Return the decision among given candidates, and change nothing."""
    return choose(
        model.name,
        pool,
        now,
        rule=TieRule(settings.tie_rule),
        sticky_to=invocations.last_account(store, model.recorded_name) if model.sticky else None,
        attempted=attempted,
        expected=replace(expect_turns(store, model.recorded_name, project), at_least=float(taken)),
        reset_weight=settings.reset_weight,
    )


def expect_turns(store: Store, model: str, project: str) -> Expectation:
    """Return how many turns a prompt will take. model: as runs are recorded. project: their folder."""
    lengths = invocations.read_lengths(store, model, project)
    if lengths == (None, None):
        return UNKNOWN_LENGTH
    from oulipoly_engine.core.runs.expectation import expect  # noqa: PLC0415 - not before runs were counted

    return expect(*lengths)


def candidates(
    store: Store, model: Model, now: datetime, known: Collection[str] | None = None
) -> tuple[Candidate, ...]:
    """Return the pool's members with all that the balancer asks for.

    known: the accounts of providers.toml; None: all. A pool of which it has none keeps its members, so that what is
    wrong with it is said of the one that was chosen.
    """
    has_known = known is None or any(member.account in known for member in model.members)
    names = tuple(dict.fromkeys(member.account for member in model.members))
    states = quotas.states(store, names)
    counts = invocations.counts(store, model.recorded_name)
    failures = invocations.recent_failures(store, model.recorded_name, now - timedelta(minutes=ERROR_WINDOW_MINUTES))
    wishes, running = controls.of(store, names), invocations.find_running(store)
    running_counts = Counter(run.account for run in running)
    promised = _promise_turns(store, running, now)
    alerted = _find_alerted(store, [state for name, state in states.items() if not wishes[name].disabled], now)
    since = _count_turns_since_refresh(store, states)
    return tuple(
        Candidate(
            index=member.index,
            account=member.account,
            quota=states[member.account],
            invocation_count=counts.get(member.account, 0),
            recent_errors=failures.get(member.account, 0),
            running=running_counts[member.account],
            promised_turns=promised.get(member.account, 0.0),
            has_alert=member.account in alerted,
            turns_since_refresh=since.get(member.account, 0),
            reserve=wishes[member.account].reserve,
            drained=wishes[member.account].drained,
            disabled=wishes[member.account].disabled,
            is_known=known is None or not has_known or member.account in known,
        )
        for member in model.members
    )


def _promise_turns(store: Store, running: Sequence[RunningRun], now: datetime) -> dict[str, float]:
    """Return how many turns the running runs of each account will still take."""
    if all(run.expected_turns is None for run in running):
        return {}
    from oulipoly_engine.core.runs.expectation import promise  # noqa: PLC0415 - not where nothing runs
    from oulipoly_engine.store.runs import expectations  # noqa: PLC0415 - the same

    return promise(*expectations.read_works(store, running, now))


def _count_turns_since_refresh(store: Store, states: Mapping[str, QuotaState]) -> dict[str, int]:
    """Return the turns of each account since its quota was read, where it ever was."""
    if all(state.refreshed_at is None for state in states.values()):
        return {}
    from oulipoly_engine.store.transcripts import entries  # noqa: PLC0415 - not where no account has a quota

    return entries.assistant_turns_since_reading(store, states)


def _find_alerted(store: Store, states: Iterable[QuotaState], now: datetime) -> frozenset[str]:
    """Return the accounts with an alert that holds now, whether anybody has been told of it or not."""
    alerted: set[str] = set()
    doubtful: list[QuotaState] = []
    for state in states:
        used = max((window.used for window in state.windows if window.resets_at > now), default=0.0)
        if used >= DEFAULT_THRESHOLD:
            alerted.add(state.account)
        elif used >= LEAST_USED_TO_WARN:
            doubtful.append(state)
    if not doubtful:
        return frozenset(alerted)
    from oulipoly_engine.service.quota.forecasting import find_alerts  # noqa: PLC0415 - 5 ms, and most have enough left

    alerted.update(alert.account for alert in find_alerts(store, doubtful, now, DEFAULT_THRESHOLD))
    return frozenset(alerted)
