"""Least waste: cut-offs, windows that run out early and what expires are one number of turns."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.balance.balance import Candidate, ExclusionKind, Method, TieRule, choose, why_not
from oulipoly_engine.core.balance.decision import Expectation
from oulipoly_engine.core.balance.explain import decision_to_json
from oulipoly_engine.core.balance.why_table import why_text
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import replace

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
RATES = {"weekly": 0.0004, "5h-burst": 0.0032}


def account(name, *windows, peak=0, **facts):
    """An account with learned windows; each is (label, used, hours to its reset) and a rate where it has another."""
    built = tuple(
        Window(place, used, NOW + timedelta(hours=hours), (rate or [RATES[label]])[0] * 1000, 1000, label)
        for place, (label, used, hours, *rate) in enumerate(windows)
    )
    return Candidate(0, name, QuotaState(name, built, NOW, peak_live_windows=peak), **facts)


def decide(*candidates, **more):
    numbered = [replace(candidate, index=place) for place, candidate in enumerate(candidates)]
    return choose("model", numbered, NOW, TieRule.LEAST_WASTE, **more)


@pytest.mark.parametrize(
    ("chosen", "other"),
    [
        ((("weekly", 0.4, 90),), (("weekly", 0.6, 90),)),
        ((("weekly", 0.5, 20),), (("weekly", 0.5, 160),)),
        ((("weekly", 0.7, 90),), (("weekly", 0.985, 5),)),
        ((("weekly", 0.5, 90), ("5h-burst", 0.3, 3)), (("weekly", 0.3, 90), ("5h-burst", 0.97, 3))),
        ((("weekly", 0.5, 90, 0.0004),), (("weekly", 0.5, 90, 0.02),)),
    ],
    ids=["less used", "what expires sooner", "not cut off", "no window cuts it off", "the larger plan"],
)
def test_order(chosen, other):
    decision = decide(account("other", *other), account("chosen", *chosen))

    assert (Method.WASTE, "chosen") == (decision.method, decision.account)


def test_what_is_in_flight_counts():
    week = ("weekly", 0.5, 90)
    busy = account("busy", week, promised_turns=400.0, running=1)

    assert "idle" == decide(busy, account("idle", ("weekly", 0.55, 90))).account


def test_equal_accounts_share_evenly():
    calls = [0, 0, 0]
    for _ in range(30):
        chosen = decide(
            *(account(f"a{place}", ("weekly", 0.2, 90), invocation_count=calls[place]) for place in range(3))
        )
        calls[chosen.index] += 1

    assert [10, 10, 10] == calls


def test_reset_weight_spends_what_resets_soon():
    near, far = account("near", ("weekly", 0.9, 30)), account("far", ("weekly", 0.0, 160))

    assert ["far", "near"] == [decide(near, far, reset_weight=weight).account for weight in (0.0, 1.0)]


def test_account_with_an_alert_is_left_out_while_another_has_room():
    alerted, calm = account("alerted", ("weekly", 0.91, 2), has_alert=True), account("calm", ("weekly", 0.6, 160))
    tight = account("tight", ("weekly", 0.999, 160))

    assert "calm" == decide(alerted, calm).account
    assert "alerted" == decide(alerted, tight).account


def test_prompt_that_was_cut_off_is_not_begun_where_less_is_left_than_it_took():
    short = account("short", ("weekly", 0.98, 90))
    taken = Expectation(at_least=200.0)
    decision = decide(short, expected=taken)

    assert "short" == decide(short).account
    assert decision.account is None
    assert [ExclusionKind.TOO_LITTLE] == [verdict.exclusion for verdict in decision.verdicts]
    assert "short has less left than the prompt took before it was cut off" in decision.error
    assert "long" == decide(short, account("long", ("weekly", 0.5, 90)), expected=taken).account


def test_short_window_that_is_hidden_counts_as_unopened():
    week = ("weekly", 0.5, 90)

    assert "hidden" == decide(account("none", week), account("hidden", week, peak=2)).account


def test_reason_table_and_document_name_turns_and_chances():
    decision = decide(account("a", ("weekly", 0.4, 90)), account("b", ("weekly", 0.97, 90)))

    assert decision.reason.startswith("a is likely to waste least: ")
    assert decision.reason.endswith("60 % of its weekly window left for 3 d 18 h")
    assert why_not(decision, decision.verdicts[1]).endswith(" turns")
    assert "wastes, cut off" in why_text(decision)
    assert {"turns", "cut_off"} == decision_to_json(decision)["candidates"][0]["waste"].keys()


USES = st.floats(-0.5, 1.5) | st.sampled_from([0.0, 1.0])
WINDOWS = st.lists(
    st.tuples(st.sampled_from(["weekly", "5h-burst"]), USES, st.floats(-10, 400)),
    max_size=3,
    unique_by=lambda window: window[0],
)
POOLS = st.lists(WINDOWS, min_size=1, max_size=4)


def number(pool):
    return [account(f"a{place}", *windows, invocation_count=place) for place, windows in enumerate(pool)]


@given(POOLS, st.floats(0, 10), st.floats(0, 500))
def test_whatever_is_known_there_is_a_decision_with_a_sentence(pool, weight, taken):
    decision = decide(*number(pool), reset_weight=weight, expected=Expectation(at_least=taken))

    assert decision.reason
    assert all(math.isfinite(verdict.waste.turns) for verdict in decision.verdicts if verdict.waste)


@given(POOLS, st.floats(0, 1))
def test_more_quota_never_makes_an_account_less_likely(pool, share):
    before = decide(*number(pool))
    if before.index is None:
        return
    richer = [(label, used - share, hours) for label, used, hours in pool[before.index]]
    pool = [richer if place == before.index else windows for place, windows in enumerate(pool)]

    assert before.account == decide(*number(pool)).account


@given(POOLS, st.randoms())
def test_order_of_the_accounts_decides_nothing_but_ties(pool, random):
    candidates = number(pool)
    mixed = random.sample(candidates, len(candidates))

    assert decide(*candidates).account == decide(*mixed).account
