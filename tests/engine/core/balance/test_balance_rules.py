"""Each rule of choosing, by example."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.balance.balance import Candidate, ExclusionKind, Method, TieRule, choose
from oulipoly_engine.core.balance.decision import describe_method
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import replace

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LEARNED = (0.01, 20)  # half a thousandth of the window per turn


def window(used, hours, position=0, learned=LEARNED, label=None):
    delta, turns = learned or (None, None)
    return Window(position, used, NOW + timedelta(hours=hours), delta, turns, label)


def account(name, *windows, index=0, marked=False, refreshed_at=NOW, **more):
    quota = QuotaState(name, windows, refreshed_at=refreshed_at, exhausted_at=NOW if marked else None)
    return Candidate(index, name, quota, **more)


def pool(*candidates):
    return [replace(candidate, index=index) for index, candidate in enumerate(candidates)]


def decide(*candidates, **more):
    return choose("opus", pool(*candidates), NOW, **more)


def verdict(decision, name):
    return next(verdict for verdict in decision.verdicts if verdict.candidate.account == name)


# Eligibility


def test_marked_account_whose_windows_have_all_reset_is_readmitted_and_named_for_clearing():
    decision = decide(account("a", window(1.0, -1), window(0.9, -2, 1), marked=True))

    assert ("a", ("a",)) == (decision.account, decision.readmitted)


def test_marked_account_with_one_live_window_stays_out():
    decision = decide(account("a", window(0.2, -1), window(0.2, 1, 1), marked=True), account("b"))

    assert "b" == decision.account
    assert ExclusionKind.MARKED is verdict(decision, "a").exclusion
    assert () == decision.readmitted


def test_marked_account_without_windows_stays_out():
    assert decide(account("a", marked=True)).error == "all providers in pool opus are quota-exhausted: a"


def test_account_whose_windows_all_reset_has_no_score_but_may_serve():
    decision = decide(account("a", window(1.0, -1)))

    assert (Method.ROUND_ROBIN, "a", None) == (decision.method, decision.account, decision.verdicts[0].score)


def test_window_that_resets_this_instant_is_past():
    assert "a" == decide(account("a", window(1.0, 0))).account


def test_account_that_is_not_configured_takes_no_part():
    decision = decide(account("ghost", is_known=False), account("a", window(0.5, 2)))

    assert "a" == decision.account
    assert ExclusionKind.UNKNOWN is verdict(decision, "ghost").exclusion


def test_pool_in_which_all_failed_says_so():
    decision = decide(account("a", window(0.5, 2), recent_errors=3), account("b", window(0.5, 2), recent_errors=4))

    assert (Method.ROUND_ROBIN, "a") == (decision.method, decision.account)
    assert "every eligible account failed lately" in decision.reason
    assert "round robin (all failed lately)" == describe_method(decision.method, decision.reason)


def test_pool_of_unknown_quota_says_so():
    decision = decide(account("a"), account("b"))

    assert "fewest calls (quota unknown)" == describe_method(decision.method, decision.reason)


def test_account_that_ran_out_in_this_invocation_is_not_tried_again():
    decision = decide(account("a"), account("b", invocation_count=5), attempted=frozenset({"a"}))

    assert "b" == decision.account


@pytest.mark.parametrize(
    ("control", "clause"),
    [
        ({"drained": True}, "b is drained: it takes no new work"),
        ({"disabled": True}, "b is disabled"),
        ({"refusal": "its login has expired"}, "b cannot serve: its login has expired"),
    ],
    ids=["drained", "disabled", "unable"],
)
def test_pool_without_anyone_tells_quota_from_what_the_user_asked_for(control, clause):
    decision = decide(account("a", marked=True), account("b", **control))

    assert decision.error == f"all providers in pool opus are quota-exhausted: a, b ({clause})"
    assert (None, None, Method.NONE) == (decision.index, decision.account, decision.method)


def test_empty_pool_is_exhausted_by_name():
    assert choose("opus", [], NOW).error == "all providers in pool opus are quota-exhausted: <empty>"


# Reserve


def test_account_that_reached_its_reserve_is_left_alone():
    decision = decide(account("a", window(0.9, 5), reserve=0.1), account("b", window(0.95, 5)))

    assert "b" == decision.account
    assert ExclusionKind.RESERVED is verdict(decision, "a").exclusion


def test_reserve_counts_turns_since_the_reading():
    kept = account("a", window(0.8, 5, learned=(0.2, 20)), reserve=0.1, turns_since_refresh=10)

    assert decide(kept).error == (
        "all providers in pool opus are quota-exhausted: a (a keeps 10 % of every window in reserve and has reached it"
        " in window 0 until 2026-11-20T17:00Z)"
    )


def test_reserve_without_a_known_rate_goes_by_the_last_reading():
    assert decide(account("a", window(0.95, 5, learned=None), reserve=0.1)).account is None


def test_reserve_of_a_past_window_excludes_nobody():
    assert "a" == decide(account("a", window(0.95, -1), reserve=0.1)).account


def test_reserve_takes_its_share_of_the_headroom():
    decision = decide(account("a", window(0.5, 10), reserve=0.3))

    assert pytest.approx(2.0) == decision.verdicts[0].score


# Density


def test_account_with_recent_failures_is_not_scored():
    decision = decide(account("a", window(0.1, 24), recent_errors=3), account("b", window(0.2, 24)))

    assert ("b", None) == (decision.account, verdict(decision, "a").score)


def test_score_is_the_least_headroom_times_hours_over_live_windows():
    decision = decide(account("a", window(0.5, 100), window(0.2, 5, 1), window(1.0, -3, 2)))

    assert pytest.approx(4.0) == decision.verdicts[0].score
    assert 1 == decision.verdicts[0].binding.window.position


def test_hours_have_a_floor_of_one_minute():
    assert pytest.approx(0.5 / 60) == decide(account("a", window(0.5, 1 / 3600))).verdicts[0].score


def test_turns_since_the_reading_move_the_projection():
    decision = decide(account("a", window(0.5, 10, learned=(0.2, 20)), turns_since_refresh=10))

    assert pytest.approx(0.6) == decision.verdicts[0].windows[0].projected_used


def test_nobody_scored_goes_round_robin_even_to_a_failing_account():
    decision = decide(
        account("a", window(0.1, 24, learned=None), invocation_count=2),
        account("b", window(0.1, 24, learned=None), invocation_count=1, recent_errors=9),
    )

    assert (Method.ROUND_ROBIN, "b") == (decision.method, decision.account)


def test_one_live_window_without_a_rate_leaves_the_account_unscored():
    decision = decide(account("a", window(0.1, 24), window(0.1, 2400, 1, learned=None)))

    assert (None, None) == (decision.verdicts[0].score, decision.verdicts[0].binding)


# Hidden windows


def covered_by_two(used):
    return decide(
        account("a", window(used, 168)),
        account("b", window(0.9, 80), window(0.5, 3, 1), recent_errors=3),
        account("c", window(0.99, 1), window(0.5, 3, 1)),
    )


def test_nearly_spent_account_that_hides_a_window_scores_nothing():
    decision = covered_by_two(0.85)

    assert "c" == decision.account
    assert (True, 0.0) == (verdict(decision, "a").hides_window, verdict(decision, "a").score)


def test_idle_account_may_hide_a_window():
    assert "a" == covered_by_two(0.84).account


def test_excluded_account_does_not_count_as_better_covered():
    decision = decide(account("a", window(0.9, 168)), account("b", window(0.9, 80), window(0.5, 3, 1), marked=True))

    assert not verdict(decision, "a").hides_window


# Band


def band_of(score_a, score_b, **more):
    """Two accounts whose scores are as given, with 5 and 0 calls."""
    return decide(account("a", window(0.0, score_a), invocation_count=5), account("b", window(0.0, score_b)), **more)


def test_exactly_half_of_the_best_is_inside_the_band():
    assert "b" == band_of(10, 5).account


def test_less_than_half_of_the_best_is_outside_the_band():
    decision = band_of(10, 4.99)

    assert ("a", False) == (decision.account, decision.in_band(verdict(decision, "b")))


def test_last_of_equal_scores_wins_when_nobody_has_headroom():
    spent = window(0.999, 24, learned=(0.2, 20))

    assert (
        "b"
        == decide(
            account("a", spent, turns_since_refresh=50), account("b", spent, turns_since_refresh=50, invocation_count=9)
        ).account
    )


def test_rules_differ_where_calls_and_use_disagree():
    candidates = (account("a", window(0.4, 24), invocation_count=4), account("b", window(0.55, 24)))

    rules = (TieRule.FEWEST_CALLS, TieRule.LOWEST_USE)
    assert ["b", "a"] == [decide(*candidates, rule=rule).account for rule in rules]


def test_lowest_use_looks_at_the_worst_window():
    decision = decide(
        account("a", window(0.1, 168), window(0.8, 100, 1)),
        account("b", window(0.6, 60), window(0.6, 60, 1)),
        rule=TieRule.LOWEST_USE,
    )

    assert "b" == decision.account


# Counts


def test_account_without_windows_turns_the_pool_to_counts():
    decision = decide(account("a", window(0.1, 24), invocation_count=1), account("b"))

    assert (Method.COUNT, "b") == (decision.method, decision.account)


def test_a_recent_failure_weighs_ten_calls():
    assert "a" == decide(account("a", invocation_count=10), account("b", recent_errors=1, invocation_count=1)).account


def test_equal_counts_go_to_the_first():
    assert "a" == decide(account("a", invocation_count=10), account("b", recent_errors=1)).account


def test_all_failing_goes_round_robin_by_count():
    decision = decide(
        account("a", recent_errors=3, invocation_count=4), account("b", recent_errors=5, invocation_count=3)
    )

    assert (Method.ROUND_ROBIN, "b") == (decision.method, decision.account)


# What is known where no burn was learned


def unlearned(name, used, hours=5, **more):
    return account(name, window(used, hours, learned=None), **more)


@pytest.mark.parametrize("rule", TieRule)
def test_first_prompt_of_a_fresh_pool_goes_to_whom_has_most_left(rule):
    decision = decide(unlearned("a", 0.97), unlearned("b", 0.5), unlearned("c", 0.2), rule=rule)

    method = Method.WASTE if rule is TieRule.LEAST_WASTE else Method.ROUND_ROBIN
    assert (method, "c") == (decision.method, decision.account)


@pytest.mark.parametrize(("rule", "chosen"), [(TieRule.FEWEST_CALLS, "a"), (TieRule.MOST_HEADROOM, "b")])
def test_calls_go_before_what_is_known_unless_headroom_is_asked_for(rule, chosen):
    assert chosen == decide(unlearned("a", 0.97), unlearned("b", 0.5, invocation_count=1), rule=rule).account


def test_most_headroom_goes_on_from_who_fails_and_then_by_calls_and_place():
    failing = unlearned("a", 0.1, recent_errors=3)
    busy, idle, later = unlearned("b", 0.5, invocation_count=2), unlearned("c", 0.5), unlearned("d", 0.5)

    assert "c" == decide(failing, busy, idle, later, rule=TieRule.MOST_HEADROOM).account


def test_account_whose_windows_have_reset_has_all_but_its_reserve_left():
    reset = account("a", window(0.9, -1, learned=None), reserve=0.5)

    assert "a" == decide(unlearned("b", 0.6), reset).account
    assert "b" == decide(unlearned("b", 0.4), reset).account


def test_hidden_window_counts_as_nothing_left():
    hiding = account("a", window(0.86, 0.1, learned=None))
    plain = account("b", window(0.9, 5, learned=None), window(0.1, 160, 1, learned=None))

    assert "b" == decide(hiding, plain).account


@pytest.mark.parametrize(("used", "chosen"), [(0.9, "a"), (0.97, "b")])
def test_account_of_unknown_windows_stands_between_those_with_something_left_and_the_nearly_spent(used, chosen):
    assert chosen == decide(unlearned("a", used), account("b")).account


@pytest.mark.parametrize(("rule", "chosen"), [(TieRule.FEWEST_CALLS, "a"), (TieRule.MOST_HEADROOM, "b")])
def test_nearly_spent_account_comes_behind_unknown_ones_only_where_headroom_is_asked_for(rule, chosen):
    assert chosen == decide(unlearned("a", 0.97), account("b", invocation_count=9), rule=rule).account


# Stickiness


def test_sticky_account_is_kept_over_a_better_one():
    decision = decide(account("a", window(0.1, 168)), account("b", window(0.9, 5)), sticky_to="b")

    assert (Method.STICKY, "b") == (decision.method, decision.account)
    assert decision.reason == "b was used last for this model, is eligible, and its headroom is 0.5 h"


@pytest.mark.parametrize(
    "sticky",
    [
        account("b", window(0.5, 24, learned=(0.5, 20)), turns_since_refresh=90),
        account("b", window(0.5, 24), recent_errors=3),
        account("b", window(0.5, 24), drained=True),
        account("b", window(1.0, 24)),
    ],
    ids=["no headroom", "failing", "drained", "spent"],
)
def test_sticky_account_is_left_when_it_cannot_go_on(sticky):
    decision = decide(account("a", window(0.1, 168)), sticky, sticky_to="b")

    assert (Method.DENSITY, "a") == (decision.method, decision.account)


def test_sticky_account_that_left_the_pool_changes_nothing():
    assert "a" == decide(account("a"), account("b"), sticky_to="gone").account


def test_sticky_account_of_unknown_headroom_is_kept():
    assert "b" == decide(account("a"), account("b", invocation_count=7), sticky_to="b").account


# The answer as such


def test_candidates_are_taken_by_index_whatever_their_order():
    candidates = pool(account("a"), account("b"))

    assert choose("opus", candidates, NOW) == choose("opus", candidates[::-1], NOW)


def test_calls_and_errors_follow_the_account_and_not_its_place():
    failing, fresh = account("old", recent_errors=3, invocation_count=3), account("new")

    assert ["new", "new"] == [decide(failing, fresh).account, decide(fresh, failing).account]


@pytest.mark.parametrize("rule", [TieRule.FEWEST_CALLS, TieRule.MOST_HEADROOM])
def test_unlearned_accounts_that_were_read_a_moment_apart_are_equal(rule):
    found = decide(account("a", window(0, 5, learned=None)), account("b", window(0, 4.999, learned=None)), rule=rule)

    assert "a" == found.account
