"""Most headroom: windows of different lengths are compared by shares of themselves."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.balance.balance import Candidate, TieRule, choose, why_not
from oulipoly_engine.core.quota.windows import QuotaState, Window

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def account(name, *windows, **facts):
    """An account with learned windows; each is (label, used, hours to its reset)."""
    built = tuple(
        Window(place, used, NOW + timedelta(hours=hours), 0.02, 20, label)
        for place, (label, used, hours) in enumerate(windows)
    )
    return Candidate(facts.pop("index", 0), name, QuotaState(name, built, NOW), **facts)


def decide(*candidates, rule=TieRule.MOST_HEADROOM):
    numbered = [Candidate(place, one.account, one.quota, one.invocation_count) for place, one in enumerate(candidates)]
    return choose("model", numbered, NOW, rule)


BURST = account("burst", ("weekly", 0.2, 100), ("5h-burst", 0.1, 4), invocation_count=9)
WEEK = account("week", ("weekly", 0.5, 100))


def test_account_with_a_short_window_is_not_shut_out_by_one_without():
    assert "week" == decide(BURST, WEEK, rule=TieRule.FEWEST_CALLS).account
    assert "burst" == decide(BURST, WEEK).account


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((("weekly", 0.4, 90),), (("weekly", 0.6, 90),)),
        ((("weekly", 0.4, 3),), (("weekly", 0.4, 160),)),
        ((("weekly", 0.7, 90),), (("weekly", 0.96, 1),)),
        ((("weekly", 0.5, 90), ("5h-burst", 0.3, 3)), (("weekly", 0.1, 90), ("5h-burst", 0.8, 3))),
    ],
    ids=["less used", "what lapses sooner", "not nearly spent", "the scarcer window counts"],
)
def test_order(one, other):
    assert "one" == decide(account("other", *other), account("one", *one)).account


def test_equal_headroom_goes_to_fewer_calls():
    windows = ("weekly", 0.4, 90)

    assert "b" == decide(account("a", windows, invocation_count=2), account("b", windows, invocation_count=1)).account


def test_account_without_a_score_above_zero_takes_no_part():
    assert "b" == decide(account("a", ("weekly", 1.0, 1)), account("b", ("weekly", 0.97, 90))).account


def test_reason_and_why_not_name_the_headroom():
    decision = decide(BURST, WEEK)

    assert decision.reason.startswith("burst has the most left")
    assert why_not(decision, decision.verdicts[1]).startswith("has at most as much left as burst")
