"""What a decision records of every account and window, whoever is chosen."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.balance.balance import Candidate, Method, TieRule, choose, decision_to_json
from oulipoly_engine.core.balance.band import Contender, pick
from oulipoly_engine.core.balance.decision import ERROR_LIMIT, ExclusionKind
from oulipoly_engine.core.quota.burn import RateSource
from oulipoly_engine.core.quota.windows import QuotaState, Window

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def window(used, hours, position=0, learned=(0.01, 20), label=None):
    return Window(position, used, NOW + timedelta(hours=hours), *(learned or (None, None)), label)


def account(index, name, *windows, marked=False, refreshed_at=NOW, **more):
    quota = QuotaState(name, windows, refreshed_at=refreshed_at, exhausted_at=NOW if marked else None)
    return Candidate(index, name, quota, **more)


def verdict_of(*windows, **more):
    return choose("opus", [account(0, "a", *windows, **more)], NOW).verdicts[0]


def exclusion(*windows, **more):
    return verdict_of(*windows, **more).exclusion


def test_decision_repeats_what_it_was_asked():
    decision = choose("opus", [account(0, "a")], NOW, TieRule.LOWEST_USE, sticky_to="gone")

    assert ("opus", NOW, TieRule.LOWEST_USE, "gone") == (
        decision.model,
        decision.now,
        decision.rule,
        decision.sticky_to,
    )


def test_fewest_calls_is_the_rule_where_none_is_given():
    decision = choose(
        "opus", [account(0, "a", window(0.1, 9), invocation_count=1), account(1, "b", window(0.2, 9))], NOW
    )

    assert (TieRule.FEWEST_CALLS, "b") == (decision.rule, decision.account)


def test_past_window_is_recorded_with_its_rate_and_without_a_projection():
    past, live = verdict_of(window(0.5, -3, learned=(0.1, 20)), window(0.2, 10, 1)).windows

    assert (-3.0, False, 0.005, RateSource.OWN) == (past.hours_to_reset, past.is_live, past.rate, past.rate_source)
    assert (None, None) == (past.projected_used, past.score)
    assert (10.0, True, pytest.approx(8.0)) == (live.hours_to_reset, live.is_live, live.score)


def test_window_without_a_lesson_borrows_by_the_age_of_its_own_account():
    teacher = account(0, "a", window(0.1, 99, 5, learned=(0.02, 20)), refreshed_at=NOW - timedelta(hours=1))
    learner = account(1, "b", window(0.1, 9, learned=None), refreshed_at=NOW - timedelta(hours=1))
    borrowed = choose("opus", [teacher, learner], NOW).verdicts[1].windows[0]

    assert (RateSource.DURATION, pytest.approx(0.01)) == (borrowed.rate_source, borrowed.rate)


def test_verdict_sums_up_the_live_windows():
    verdict = verdict_of(window(1.0, -1), window(0.5, 4, 1), window(0.7, 90, 2), window(0.1, 30, 3))

    assert (3, 4, 1) == (verdict.live_windows, len(verdict.windows), verdict.binding.window.position)
    assert (pytest.approx(0.7), 4.0) == (verdict.worst_projected_used, verdict.soonest_reset_hours)


def test_first_of_equally_scarce_windows_binds():
    assert 4 == verdict_of(window(0.5, 10, 4), window(0.5, 10, 5)).binding.window.position


def test_windows_beyond_one_of_unknown_rate_still_count():
    verdict = verdict_of(window(0.1, 24, learned=None), window(0.6, 2, 1))

    assert (None, None) == (verdict.score, verdict.binding)
    assert (pytest.approx(0.6), 2.0) == (verdict.worst_projected_used, verdict.soonest_reset_hours)


def test_account_without_live_windows_has_no_numbers():
    verdict = verdict_of(window(0.5, -1))

    assert (0, None, None, None) == (
        verdict.live_windows,
        verdict.score,
        verdict.worst_projected_used,
        verdict.soonest_reset_hours,
    )


def test_unused_window_has_a_worst_use_of_nothing():
    assert 0.0 == verdict_of(window(0.0, 5)).worst_projected_used


@pytest.mark.parametrize(
    ("used", "kind"),
    [(0.999, None), (1.0, ExclusionKind.SPENT), (1.2, ExclusionKind.SPENT)],
    ids=["less", "all", "more"],
)
def test_window_is_spent_when_all_of_it_is_used(used, kind):
    assert kind is exclusion(window(used, 5))


@pytest.mark.parametrize(
    ("used", "reserve", "kind"),
    [(0.75, 0.25, ExclusionKind.RESERVED), (0.74, 0.25, None), (0.99, 0.0, None)],
    ids=["reached", "not yet", "none kept"],
)
def test_reserve_is_reached_at_its_mark(used, reserve, kind):
    assert kind is exclusion(window(used, 5), reserve=reserve)


def test_window_at_fault_is_recorded():
    spent = verdict_of(window(0.2, 5), window(1.0, 5, 1), window(1.0, 5, 2))
    reserved = verdict_of(window(0.2, 5), window(0.8, 5, 1), window(0.9, 5, 2), reserve=0.5)

    assert [1, 1] == [verdict.excluding_window.window.position for verdict in (spent, reserved)]
    assert verdict_of(window(0.2, 5), marked=True).excluding_window is None


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"is_known": False, "disabled": True, "drained": True, "marked": True}, ExclusionKind.UNKNOWN),
        ({"disabled": True, "drained": True, "marked": True}, ExclusionKind.DISABLED),
        ({"drained": True, "marked": True}, ExclusionKind.DRAINED),
        ({"marked": True, "reserve": 0.5}, ExclusionKind.MARKED),
        ({"reserve": 0.5}, ExclusionKind.SPENT),
    ],
    ids=["unknown", "disabled", "drained", "marked", "spent"],
)
def test_first_reason_to_stay_out_is_the_one_that_is_told(more, kind):
    assert kind is exclusion(window(1.0, 5), **more)


@pytest.mark.parametrize(("errors", "score"), [(ERROR_LIMIT - 1, 4.0), (ERROR_LIMIT, None)], ids=["two", "three"])
def test_account_loses_its_score_at_three_recent_failures(errors, score):
    assert score == verdict_of(window(0.5, 8), recent_errors=errors).score
    assert 3 == ERROR_LIMIT


def test_hours_below_a_minute_count_as_one_and_a_minute_as_it_is():
    scores = [verdict_of(window(0.5, hours)).score for hours in (0.5 / 60, 1 / 60, 2 / 60)]

    assert [pytest.approx(0.5 / 60), pytest.approx(0.5 / 60), pytest.approx(1 / 60)] == scores


def test_projection_beyond_all_leaves_a_score_of_nothing():
    assert 0.0 == verdict_of(window(0.9, 5, learned=(0.2, 20)), turns_since_refresh=50).score


def test_sticky_account_is_kept_at_two_failures():
    pool = [account(0, "a", window(0.1, 9)), account(1, "b", window(0.5, 9), recent_errors=2)]

    assert (Method.STICKY, "b") == (
        choose("opus", pool, NOW, sticky_to="b").method,
        choose("opus", pool, NOW, sticky_to="b").account,
    )


@pytest.mark.parametrize(("used", "hides"), [(0.85, True), (0.849, False)], ids=["at 85 %", "below"])
def test_account_hides_a_window_from_85_percent_on(used, hides):
    pool = [account(0, "a", window(used, 99)), account(1, "b", window(0.1, 80), window(0.1, 3, 1))]
    verdict = choose("opus", pool, NOW).verdicts[0]

    assert (hides, hides) == (verdict.hides_window, verdict.score == 0)


def test_one_nearly_spent_window_among_others_is_a_sign_of_a_hidden_one():
    pool = [
        account(0, "a", window(0.1, 90), window(0.9, 99, 1), window(0.1, 3, 2)),
        account(1, "b", *(window(0.1, 80, place) for place in range(4))),
    ]

    assert choose("opus", pool, NOW).verdicts[0].hides_window


def test_past_window_is_no_sign_of_a_hidden_one():
    pool = [account(0, "a", window(0.5, 99), window(1.0, -1, 1)), account(1, "b", window(0.1, 80), window(0.1, 3, 1))]

    assert not choose("opus", pool, NOW).verdicts[0].hides_window


def test_hidden_window_gives_no_score_to_an_account_that_has_none():
    pool = [
        account(0, "a", window(0.9, 99), recent_errors=3),
        account(1, "b", window(0.1, 80), window(0.1, 3, 1)),
    ]
    verdict = choose("opus", pool, NOW).verdicts[0]

    assert (True, None) == (verdict.hides_window, verdict.score)


def test_band_floor_is_half_of_the_best_score():
    pool = [account(0, "a", window(0.0, 10)), account(1, "b", window(0.0, 5)), account(2, "c", window(0.0, 4.9))]
    decision = choose("opus", pool, NOW)

    assert pytest.approx(5.0) == decision.band_floor
    assert [True, True, False] == [decision.in_band(verdict) for verdict in decision.verdicts]


def test_excluded_account_is_in_no_band_however_good_its_score():
    pool = [
        account(0, "a", window(0.0, 10)),
        account(1, "b", window(0.0, 8)),
        account(2, "c", window(0, 9), drained=True),
    ]
    decision = choose("opus", pool, NOW)

    assert not decision.in_band(decision.verdicts[2])


def test_count_scoring_weighs_a_failure_as_ten_calls():
    pool = [account(0, "a", recent_errors=1), account(1, "b", invocation_count=10), account(2, "c", invocation_count=9)]

    assert ["c", "a"] == [choose("opus", members, NOW).account for members in (pool, pool[:2])]


@pytest.mark.parametrize("rule", TieRule)
def test_contender_of_whom_only_the_score_is_known_can_compete(rule):
    best, other = Contender(0, 9.0), Contender(1, 8.0, 1, 0.5, 1.0, -1.0)

    assert best == pick([other, best], rule).winner


def test_contender_without_headroom_given_has_none():
    winner = pick([Contender(0, 9.0), Contender(1, 8.0, headroom=0.5)], TieRule.MOST_HEADROOM).winner

    assert 1 == winner.place


def test_contender_without_calls_given_has_none():
    assert 0 == pick([Contender(0, 8.0), Contender(1, 9.0, 1)], TieRule.FEWEST_CALLS).winner.place


def test_most_headroom_takes_every_score_above_zero_and_fewest_calls_at_equal_headroom():
    contenders = [
        Contender(0, 100.0, 3, headroom=0.5),
        Contender(1, 1.0, 2, headroom=0.5),
        Contender(2, 0.0, 0, headroom=9.0),
    ]
    picked = pick(contenders, TieRule.MOST_HEADROOM)

    assert (1, 1.0, 2) == (picked.winner.place, picked.band_floor, picked.band_size)


def test_most_headroom_goes_to_the_first_of_equals():
    contenders = [Contender(0, 1.0, 2, headroom=0.5), Contender(1, 9.0, 2, headroom=0.5)]

    assert 0 == pick(contenders, TieRule.MOST_HEADROOM).winner.place


@pytest.mark.parametrize("scores", [(1.0, math.nan), (math.nan, 1.0), (1.0, math.inf)])
def test_no_band_is_formed_where_any_score_is_not_finite(scores):
    picked = pick([Contender(place, score) for place, score in enumerate(scores)], TieRule.FEWEST_CALLS)

    assert (None, 1) == (picked.band_floor, picked.band_size)


@pytest.mark.parametrize(
    ("best", "floor"), [(1.0, 0.5), (0.5, 0.25), (0.0, None), (-1.0, None)], ids=["one", "half", "nothing", "less"]
)
def test_band_needs_a_best_score_above_zero(best, floor):
    assert floor == pick([Contender(0, best), Contender(1, best)], TieRule.FEWEST_CALLS).band_floor


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((8.0, 0, 1.0, 1.0), (9.0, 0, 1.0 + 2**-52, 1.0), 1),
        ((1.0, 0, 0.5, 6.0), (1.0 + 2**-52, 0, 0.5, 9.0), 0),
        ((8.0, 0, 0.5, 1 / 60), (8.0, 0, 0.5, 0.0), 0),
    ],
    ids=["use", "score", "a minute"],
)
def test_numbers_that_differ_by_the_tolerance_alone_are_equal(one, other, expected):
    assert expected == pick([Contender(0, *one), Contender(1, *other)], TieRule.LOWEST_USE).winner.place


def test_choice_names_are_those_of_the_contract():
    assert ["fewest-calls", "lowest-use", "most-headroom", "least-waste"] == [rule.value for rule in TieRule]
    assert ["density", "count", "round-robin", "sticky", "waste", "none"] == [method.value for method in Method]
    assert [
        "not-configured",
        "disabled",
        "drained",
        "unable",
        "attempted",
        "marked-exhausted",
        "window-spent",
        "reserve-reached",
        "too-little-left",
    ] == [kind.value for kind in ExclusionKind]


def test_json_tells_what_a_decision_was_asked_and_whom_it_readmits():
    pool = [account(0, "a", window(1.0, -1), marked=True), account(1, "b", drained=True, disabled=False)]
    document = decision_to_json(choose("opus", pool, NOW, sticky_to="b"))

    assert ("b", ["a"]) == (document["sticky_to"], document["readmitted"])
    assert [True, False] == [candidate["readmit"] for candidate in document["candidates"]]
    assert [False, True] == [candidate["drained"] for candidate in document["candidates"]]


def test_json_tells_of_the_band():
    pool = [account(0, "a", window(0.0, 10)), account(1, "b", window(0.0, 5))]
    document = decision_to_json(choose("opus", pool, NOW))

    assert 5.0 == pytest.approx(document["band_floor"])
    assert [True, True] == [candidate["in_band"] for candidate in document["candidates"]]


WEEKLY = window(0.4, 80, label="weekly")
UNLEARNED = window(0.4, 80, learned=None, label="weekly")


@pytest.mark.parametrize("rule", TieRule)
@pytest.mark.parametrize("windows", [(WEEKLY,), (UNLEARNED,), ()], ids=["scored", "no rate", "no quota"])
def test_runs_begun_at_once_on_equal_accounts_are_spread(rule, windows):
    chosen = []
    for _ in range(6):
        candidates = [account(n, name, *windows, running=chosen.count(name)) for n, name in enumerate("abc")]
        chosen.append(choose("opus", candidates, NOW, rule).account)

    assert [2, 2, 2] == [chosen.count(name) for name in "abc"]


@pytest.mark.parametrize("rule", TieRule)
@pytest.mark.parametrize("sticky", [None, "a"])
def test_an_account_with_a_running_alert_is_not_next_while_another_has_none(rule, sticky):
    calm = account(1, "b", window(0.6, 8), invocation_count=9)
    decision = choose("opus", [account(0, "a", window(0.1, 8), has_alert=True), calm], NOW, rule, sticky_to=sticky)

    assert "b" == decision.account
    assert "has a running alert, which others have not" == decision_to_json(decision)["candidates"][0]["why_not"]


def test_an_account_with_an_alert_is_next_where_the_others_fail_or_have_alerts_too():
    alerted = account(0, "a", window(0.1, 8), has_alert=True)
    failing = account(1, "b", window(0.6, 8), recent_errors=ERROR_LIMIT)

    assert "a" == choose("opus", [alerted, failing], NOW).account
    assert "a" == choose("opus", [alerted, account(1, "b", window(0.6, 8), has_alert=True)], NOW).account
