"""The simulated fortnight: the same work for all, and our choice ahead of what people do without it."""

import importlib
import statistics
from pathlib import Path

import pytest

SEEDS = range(1000, 1003)
LOAD = 0.9


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[4] / "scripts" / "bench")
    return importlib.import_module


def served(bench, policy):
    simulate = bench("fortnight_sim.simulate").simulate
    return statistics.median(simulate(seed, LOAD, policy).first_refusal for seed in SEEDS)


def test_default_serves_more_before_the_first_refusal(bench):
    ours = served(bench, "ours (fewest-calls)")

    assert ours >= max(served(bench, policy) for policy in ("round-robin", "fill-first", "stay-until-98"))


def test_equal_seeds_play_equal_fortnights(bench):
    simulate = bench("fortnight_sim.simulate").simulate

    assert simulate(7, 0.2, "random") == simulate(7, 0.2, "random")
    assert simulate(7, 0.2, "random") != simulate(8, 0.2, "random")


def test_work_wants_what_the_load_says(bench):
    prompts = bench("fortnight_sim.work").fortnight(3, 20_000)

    assert 20_000 == pytest.approx(sum(prompt.turns * prompt.turn_cost for prompt in prompts))
    assert sorted(prompts, key=lambda prompt: prompt.at_s) == [*prompts]


def test_every_prompt_is_served_or_lost_and_nothing_is_spent_twice(bench):
    found = bench("fortnight_sim.simulate").simulate(5, 1.4, "round-robin")

    assert 0 < found.first_refusal <= found.first_lost <= found.served < found.prompts
    assert 0 <= found.weekly_unused < 1


def test_policies_pass_over_what_is_known_to_be_spent(bench):
    policies, vendor = bench("fortnight_sim.policies"), bench("fortnight_sim.vendor")
    windows = bench("oulipoly_engine.core.quota.windows")
    decision = bench("oulipoly_engine.core.balance.decision")
    now, later = vendor.instant(0), vendor.instant(3600)
    candidates = [
        decision.Candidate(place, name, windows.QuotaState(name, (windows.Window(0, used, later),), now))
        for place, (name, used) in enumerate([("a", 1.0), ("b", 0.99), ("c", 0.5)])
    ]
    view = policies.View(candidates, now, frozenset(), 0, bench("random").Random(1))

    assert (1, 1, 2, 2) == (
        policies.round_robin(view),
        policies.fill_first(view),
        policies.stay_until_98(view),
        policies.least_used(view),
    )


def test_more_of_our_alerts_come_true_and_more_ends_are_foretold(bench):
    found = bench("fortnight_sim.alerts").count_alerts(1000, LOAD, "ours (fewest-calls)", "mixed")

    for other in ("lower end of the band", "middle of the band"):
        assert share_that_came_true(found, "ours") > share_that_came_true(found, other)
    assert count_cycles(found, "ours", "true") > 1.5 * count_cycles(found, "lower end of the band", "true")


def share_that_came_true(found, rule):
    true = count_cycles(found, rule, "true")
    return true / (true + count_cycles(found, rule, "false"))


def count_cycles(found, rule, kind):
    return sum(found[rule, label, kind] for label in ("5h-burst", "weekly"))
