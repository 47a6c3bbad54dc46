"""The simulated fortnight: the same work for all, nothing spent twice, and no rule ahead of the clairvoyant."""

import importlib
import statistics
from collections import Counter
from pathlib import Path

import pytest

SEEDS = range(1000, 1003)
LOAD = 0.9
VARIATIONS = ("late", "rounded", "missing", "wrong", "changed", "person", "rolling", "sessions", "models")


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[4] / "scripts" / "bench")
    return importlib.import_module


@pytest.fixture
def simulate(bench):
    def play(rule, **scenario):
        return simulation(bench, rule, **scenario).run()

    return play


def simulation(bench, rule, **scenario):
    instance = bench("fortnight_sim.scenario").build(bench("fortnight_sim.scenario").Scenario(**scenario))
    return bench("fortnight_sim.simulate").Simulation(instance, bench("fortnight_sim.policies").POLICIES[rule])


def test_default_serves_more_before_the_first_refusal(simulate):
    def served(rule):
        return statistics.median(simulate(rule, seed=seed).first_refusal for seed in SEEDS)

    assert served("ours (fewest-calls)") >= max(served(rule) for rule in ("round-robin", "fill-first", "stay-until-98"))


def test_equal_seeds_play_equal_fortnights(simulate):
    assert simulate("random", load=0.2, seed=7) == simulate("random", load=0.2, seed=7)
    assert simulate("random", load=0.2, seed=7) != simulate("random", load=0.2, seed=8)


def test_work_wants_what_the_load_says_however_many_come_at_once(bench):
    fortnight = bench("fortnight_sim.work").fortnight
    prompts, grouped = fortnight(3, 20_000), fortnight(3, 20_000, at_once=8)

    assert 20_000 == pytest.approx(sum(prompt.cost for prompt in prompts)) == sum(prompt.cost for prompt in grouped)
    assert sorted(grouped, key=lambda prompt: prompt.at_s) == [*grouped]
    assert 2 * len({prompt.at_s for prompt in grouped}) < len({prompt.at_s for prompt in prompts})


def test_all_that_is_charged_was_served_or_wasted(bench):
    played = simulation(bench, "round-robin", load=1.4, seed=5, in_flight=8, variations=frozenset({"sessions"}))
    outcome = played.run()

    wanted = sum(prompt.cost for prompt in played.instance.prompts)
    charged = sum(login.meters[0].total for login in played.logins)
    assert charged == pytest.approx(wanted * (outcome.served_units + outcome.wasted_units))
    assert 0 < outcome.first_refusal <= outcome.served < outcome.prompts
    assert 0 <= outcome.weekly_unused < 1
    assert [0.0] * 5 == pytest.approx(played.promised, abs=1e-6)


def test_no_more_prompts_run_at_once_than_may(bench):
    policies = bench("fortnight_sim.policies")
    counts = []

    def counting(view):
        counts.append(sum(known.running for known in view.accounts))
        return policies.POLICIES["round-robin"](view)

    scenario = bench("fortnight_sim.scenario")
    instance = scenario.build(scenario.Scenario("two", 0.9, 3, in_flight=4))
    bench("fortnight_sim.simulate").Simulation(instance, counting).run()

    assert max(counts) == 3


@pytest.mark.parametrize("name", VARIATIONS)
def test_each_variation_changes_what_comes_of_a_fortnight(simulate, bench, name):
    assert set(VARIATIONS) == set(bench("fortnight_sim.scenario").VARIATIONS)
    scenario = {"fleet": "two", "load": 0.7, "seed": 6}

    varied = simulate("ours (most-headroom)", variations=frozenset({name}), **scenario)

    assert simulate("ours (most-headroom)", **scenario) != varied


def test_policies_pass_over_what_is_known_to_be_spent(bench):
    known, rivals, vendor = (bench(f"fortnight_sim.{name}") for name in ("known", "rivals", "vendor"))
    accounts = [known.Known(place, vendor.Plan(name, 100, None)) for place, name in enumerate("abc")]
    for account, used in zip(accounts, (1.0, 0.99, 0.5), strict=True):
        account.take(0.0, (("weekly", used, 3600.0),))
    view = known.View(accounts, bench("random").Random(1))
    view.last = 0

    assert {0} == {account.index for account in accounts} - {account.index for account in view.open()}
    assert (1, 1, 2, 2) == (
        rivals.round_robin(view),
        rivals.fill_first(view),
        rivals.stay_until_98(view),
        rivals.least_used(view),
    )
    assert all(rule(view) in (1, 2) for rule in rivals.RIVALS.values())


def test_rules_of_ours_see_what_the_product_would_have_learned(bench):
    known, vendor = bench("fortnight_sim.known"), bench("fortnight_sim.vendor")
    learn, windows = bench("oulipoly_engine.core.quota.burn").learn, bench("oulipoly_engine.core.quota.windows")
    account, quota = known.Known(0, vendor.Plan("a", 100, None)), windows.QuotaState("a")

    for at_s, used, turns in ((0, 0.1, 0), (60, 0.1, 0), (120, 0.1, 12), (180, 0.3, 9), (240, 0.3, 0), (300, 0.0, 3)):
        account.turns = turns
        account.take(at_s, (("weekly", used, 9e5),))
        reading = [windows.Window(0, used, vendor.instant(9e5), label="weekly")]
        quota = learn(quota, reading, turns, vendor.instant(at_s))

    assert quota == account.quota
    assert quota.windows[0].last_delta_turns == 21


def test_no_rule_is_ahead_of_the_clairvoyant_in_its_own_measure(bench):
    judge, scenario = bench("fortnight_sim.judge"), bench("fortnight_sim.scenario").Scenario("two", 0.9, 3, 8)
    rules = ("ours (most-headroom)", "round-robin", "soonest-reset")

    values = judge.run(judge.Job(scenario, rules, (2, 1)))
    best = values.pop(judge.CLAIRVOYANT)

    for measure in ("lost", "refusals", "weekly_unused"):
        assert best[measure] <= min(rule[measure] for rule in values.values())
    assert best["first_refusal"] >= min(values.values(), key=lambda rule: rule["lost"])["first_refusal"]
    assert best["lost"] < min(rule["lost"] for rule in values.values())


def test_the_way_leads_from_the_best_rival_to_the_clairvoyant(bench):
    judge, scenario = bench("fortnight_sim.judge"), bench("fortnight_sim.scenario").Scenario()

    def seed(lost):
        values = {"round-robin": lost + 0.1, "sticky": lost + 0.3, "ours": lost + 0.05, judge.CLAIRVOYANT: lost}
        return {rule: {"lost": share} for rule, share in values.items()}

    results = judge.Results({scenario: [seed(0.1), seed(0.2), seed(0.4)]})

    assert "round-robin" == results.best_rival("lost")
    assert 0.5 == pytest.approx(results.way("ours", "lost").mean) == pytest.approx(results.way("ours", "lost").low)
    assert [] == results.worse_cells("ours")
    assert [scenario] == [cell for cell, _ in results.worse_cells("sticky")]


def test_tables_replace_what_stands_between_the_marks_of_the_page(bench, monkeypatch, tmp_path):
    tables, page = bench("fortnight_sim.tables"), tmp_path / "page.md"
    monkeypatch.setattr(tables, "PAGE", page)
    page.write_text(f"Before.\n\n{tables.BEGIN}\nold\n{tables.END}\n")

    tables.write_page(["| new |"])

    assert f"Before.\n\n{tables.BEGIN}\n\n| new |\n\n{tables.END}\n" == page.read_text()
    page.write_text("no marks")
    with pytest.raises(ValueError, match="has no lines"):
        tables.write_page([])


def test_no_plan_on_a_small_instance_loses_less_than_the_solver_says(bench):
    pytest.importorskip("scipy")
    exact = bench("fortnight_sim.exact")

    lost = exact.play(20_002)

    assert lost[exact.LINEAR] - 1e-6 <= lost[exact.OPTIMUM] <= lost["clairvoyant"] + 1e-6
    assert lost["clairvoyant"] <= min(
        share for rule, share in lost.items() if rule not in (exact.LINEAR, exact.OPTIMUM)
    )


def test_more_of_our_alerts_come_true_and_more_ends_are_foretold(bench):
    count_alerts = bench("fortnight_sim.alerts").count_alerts
    found = sum((count_alerts(seed, LOAD, "ours (fewest-calls)", "two") for seed in SEEDS), Counter())

    for other in ("lower end of the band", "middle of the band"):
        assert share_that_came_true(found, "ours") > share_that_came_true(found, other)
    assert count_cycles(found, "ours", "true") > 1.3 * count_cycles(found, "lower end of the band", "true")


def share_that_came_true(found, rule):
    true = count_cycles(found, rule, "true")
    return true / (true + count_cycles(found, rule, "false"))


def count_cycles(found, rule, kind):
    return sum(found[rule, label, kind] for label in ("5h-burst", "weekly"))
