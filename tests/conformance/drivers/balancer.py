"""Drivers of the balancer: choice, band, burn rate, the topology rule, and the refresh before a choice."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Account, Model, PoolMember, Settings
from oulipoly_engine.core.balance.balance import Candidate, TieRule, choose
from oulipoly_engine.core.balance.band import Contender, pick
from oulipoly_engine.core.quota.burn import RateSource, pool_rates, project, rate_of
from oulipoly_engine.core.quota.staleness import topology_probe_due
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.service.quota.choose import decide
from oulipoly_engine.service.quota.refresh import Refresher
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.testing import FakeClock

NOW = datetime(2026, 4, 17, 12, tzinfo=UTC)
RULES = {"readme": TieRule.FEWEST_CALLS, "age25": TieRule.LOWEST_USE}


def hours(count):
    return timedelta(hours=count)


def window_of(position, given):
    return Window(
        position=position,
        used=given["used"],
        resets_at=NOW + hours(given["hours_to_reset"]),
        last_delta=given.get("last_delta_percent"),
        last_delta_turns=given.get("last_delta_calls"),
    )


def candidate_of(index, given):
    windows = tuple(window_of(position, window) for position, window in enumerate(given.get("windows", [])))
    refreshed_hours = given.get("refreshed_hours_ago", 0)
    quota = QuotaState(
        given["name"],
        windows,
        refreshed_at=None if refreshed_hours is None else NOW - hours(refreshed_hours),
        exhausted_at=NOW - hours(1) if given.get("exhausted") else None,
    )
    return Candidate(
        index=index,
        account=given["name"],
        quota=quota,
        invocation_count=given.get("invocation_count", 0),
        recent_errors=given.get("recent_errors", 0),
        turns_since_refresh=given.get("turns_since_refresh", 0),
    )


def drive_select(vector, tmp_path):
    given = vector["input"]
    candidates = [candidate_of(index, provider) for index, provider in enumerate(given["providers"])]
    expected_by_rule = vector.get("expected_by_rule") or dict.fromkeys(RULES, vector["expected"])
    answers = {rule: choose(given["model"], candidates, NOW, RULES[rule]) for rule in expected_by_rule}

    found = {rule: answer.index if answer.error is None else answer.error for rule, answer in answers.items()}
    assert expected_by_rule == found


def drive_fanout(vector, tmp_path):
    given = vector["input"]
    contenders = [
        Contender(
            place=candidate["index"],
            score=candidate["score"],
            invocation_count=candidate.get("invocation_count", 0),
            worst_projected_used=candidate.get("worst_projected_used"),
            soonest_reset_hours=candidate.get("soonest_reset_hours"),
        )
        for candidate in given["candidates"]
    ]

    assert vector["expected"] == pick(contenders, RULES[given["rule"]]).winner.place


def learner_of(name, learned):
    """Make an account whose one window, of a week, has learned what `learned` says."""
    pair = (None, None) if learned is None else (learned["delta"], learned["calls"])
    return QuotaState(name, (Window(0, 0.2, NOW + hours(168), *pair),), refreshed_at=NOW)


def drive_burn_rate(vector, tmp_path):
    given, expected = vector["input"], vector["expected"]
    if "rate" in given:
        projected = project(given["used"], given["turns"], given["rate"])
        assert expected["projected"] == pytest.approx(projected)
        assert projected >= expected.get("at_least", 0)
        return
    own = learner_of("own", given.get("own"))
    siblings = [learner_of(f"s{place}", learned) for place, learned in enumerate(given.get("sibling_same_window", []))]
    pool = [own, *siblings]
    if isinstance(given.get("windows"), list):
        pool = [candidate_of(index, provider).quota for index, provider in enumerate(given["windows"])]
    rate, source = rate_of(pool[0].windows[0], pool[0].refreshed_at, pool_rates(pool))

    assert expected["rate"] == (None if expected["rate"] is None else pytest.approx(rate))
    assert (source is RateSource.NONE) == (rate is None) == (expected["rate"] is None)


def drive_topology_probe_due(vector, tmp_path):
    given = vector["input"]
    probe_age_s = given["last_probe_s_ago"]
    quota = QuotaState(
        "a",
        tuple(Window(place, 0.2, NOW + hours(5)) for place in range(given["live"])),
        refreshed_at=NOW,
        last_topology_probe_at=None if probe_age_s is None else NOW - timedelta(seconds=probe_age_s),
    )

    assert vector["expected"] is topology_probe_due(quota, given["expected"], NOW, has_source=given["has_source"])


def printing(windows):
    """Return a script that prints windows of a vector."""
    shown = [
        {"used_percent": window["used_percent"], "resets_at": to_text(NOW + hours(window["in_hours"]))}
        for window in windows
    ]
    return f"echo '{json.dumps({'windows': shown})}'"


def refreshed_choice(tmp_path, states, scripts):
    """Store states, refresh as before a choice, choose; return the decision and what is stored then."""
    store = open_store(tmp_path / "state.db")
    with store.write():
        for state in states:
            quotas.save(store, state)
    names = [state.account for state in states]
    accounts = {name: Account(name, quota_script=scripts.get(name)) for name in names}
    reader = Refresher(
        store, accounts, {}, FakeClock(NOW), home=tmp_path, environ=dict(os.environ), locks=tmp_path / "locks"
    )
    reader.refresh_stale(names, Settings().routing_ttl_s)
    model = Model("m", tuple(PoolMember(index, name) for index, name in enumerate(names)))
    decision, stored = decide(store, model, Settings(), NOW), quotas.states(store, names)
    store.close()
    return decision, stored


def drive_topology_probe(vector, tmp_path):
    given, expected = vector["input"], vector["expected"]
    states = [candidate_of(index, provider).quota for index, provider in enumerate(given["providers"])]
    decision, stored = refreshed_choice(tmp_path, states, {"a": printing(given["probe_output_for_a"]["windows"])})

    assert (expected["index"], expected["a_windows"]) == (decision.index, len(stored["a"].windows))
    assert NOW == stored["a"].last_topology_probe_at


def drive_routing_refresh(vector, tmp_path):
    given, expected = vector["input"], vector["expected"]
    read_at = NOW - timedelta(seconds=given["age_s"])
    states = [
        QuotaState(name, (Window(0, given[name], NOW + hours(given["hours"])),), refreshed_at=read_at) for name in "ab"
    ]
    decision, stored = refreshed_choice(tmp_path, states, {"a": printing([given["script"]])})

    assert (expected["index"], expected["a_used"]) == (decision.index, stored["a"].windows[0].used)


DRIVERS = {
    "balancer.topology_probe": drive_topology_probe,
    "balancer.routing_refresh": drive_routing_refresh,
    "balancer.select": drive_select,
    "balancer.fanout": drive_fanout,
    "balancer.burn_rate": drive_burn_rate,
    "balancer.topology_probe_due": drive_topology_probe_due,
}
