"""What holds for every pool."""

import json
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.balance.balance import Candidate, Method, TieRule, choose, decision_to_json
from oulipoly_engine.core.quota.burn import MAX_RATE, PoolRates, learn, rate_of
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import replace

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def find_learned_rate(window):
    return rate_of(window, None, PoolRates({}))[0]


def for_all(*strategies):
    """Try many examples, however slow the machine is."""
    return lambda test: settings(deadline=None)(given(*strategies)(test))


hours = st.floats(-10, 200)
shares = st.floats(0, 1.2)
lessons = st.none() | st.tuples(st.floats(0.001, 0.9), st.integers(20, 500))
windows = st.builds(
    lambda used, left, lesson: Window(0, used, NOW + timedelta(hours=left), *(lesson or (None, None))),
    shares,
    hours,
    lessons,
)
quotas = st.builds(
    lambda held, age, marked: QuotaState(
        "",
        tuple(replace(window, position=place) for place, window in enumerate(held)),
        refreshed_at=None if age is None else NOW - timedelta(hours=age),
        exhausted_at=NOW if marked else None,
    ),
    st.lists(windows, max_size=3),
    st.none() | st.floats(0, 5),
    st.booleans(),
)
candidates = st.builds(
    Candidate,
    index=st.just(0),
    account=st.just(""),
    quota=quotas,
    invocation_count=st.integers(0, 50),
    recent_errors=st.integers(0, 5),
    turns_since_refresh=st.integers(0, 300),
    reserve=st.sampled_from([0.0, 0.0, 0.1, 0.5]),
    drained=st.booleans(),
    disabled=st.booleans(),
)
rules = st.sampled_from(TieRule)


def numbered(members):
    names = [f"a{place}" for place in range(len(members))]
    return [
        replace(member, index=place, account=name, quota=replace(member.quota, account=name))
        for place, (member, name) in enumerate(zip(members, names, strict=True))
    ]


def healthy(member):
    """Keep the windows and lift every exclusion but theirs."""
    return replace(member, drained=False, disabled=False, quota=replace(member.quota, exhausted_at=None))


pools = st.lists(candidates, max_size=6).map(numbered)
healthy_pools = st.lists(candidates.map(healthy), min_size=1, max_size=6).map(numbered)


def chosen(decision):
    return next((verdict for verdict in decision.verdicts if verdict.candidate.index == decision.index), None)


@for_all(pools, rules)
def test_equal_inputs_give_equal_answers(pool, rule):
    assert choose("m", pool, NOW, rule) == choose("m", list(pool), NOW, rule)


def learned_by_itself(pool):
    """Let no window borrow a rate: which of two equally long windows lends is a matter of order too."""
    return [replace(member, quota=replace(member.quota, windows=taught(member.quota.windows))) for member in pool]


def taught(windows):
    return tuple(
        window if window.last_delta else replace(window, last_delta=0.01, last_delta_turns=20) for window in windows
    )


@for_all(pools.map(learned_by_itself).flatmap(lambda pool: st.tuples(st.just(pool), st.permutations(pool))))
def test_place_in_the_pool_decides_ties_only(pools):
    before, after = (choose("m", renumbered(pool), NOW) for pool in pools)

    assert standing(before) == standing(after)


def renumbered(pool):
    return [replace(member, index=place) for place, member in enumerate(pool)]


def standing(decision):
    """Return what the chosen account must share with another for their places to decide between them."""
    verdict = chosen(decision)
    match decision.method:
        case Method.DENSITY if verdict.score > 0:
            return verdict.score, verdict.candidate.invocation_count
        case Method.COUNT:
            return verdict.candidate.invocation_count + 10 * verdict.candidate.recent_errors
        case Method.ROUND_ROBIN:
            return verdict.candidate.invocation_count
        case method:  # nobody was chosen, or nobody has headroom and all are equal
            return method


@for_all(pools, rules)
def test_somebody_serves_if_and_only_if_somebody_is_eligible(pool, rule):
    decision = choose("m", pool, NOW, rule)

    assert any(verdict.is_eligible for verdict in decision.verdicts) == (decision.error is None)
    assert (decision.account is None) == (decision.method is Method.NONE) == (decision.error is not None)


@for_all(pools, rules, st.none() | st.sampled_from(["a0", "a1", "a2"]), st.sets(st.sampled_from(["a0", "a1"])))
def test_chosen_account_is_one_that_may_work(pool, rule, sticky_to, attempted):
    verdict = chosen(choose("m", pool, NOW, rule, sticky_to=sticky_to, attempted=attempted))

    if verdict is not None:
        member = verdict.candidate
        assert [] == [control for control in (member.drained, member.disabled, member.account in attempted) if control]
        assert not any(window.used >= 1 and window.resets_at > NOW for window in member.quota.windows)


@for_all(healthy_pools, rules)
def test_windows_that_have_reset_exclude_nobody(pool, rule):
    past = [replace(member, quota=reset(member.quota)) for member in pool]

    assert all(verdict.is_eligible for verdict in choose("m", past, NOW, rule).verdicts)


def reset(quota):
    gone = tuple(replace(window, resets_at=NOW - timedelta(hours=1)) for window in quota.windows)
    return replace(quota, windows=gone)


@for_all(healthy_pools, rules)
def test_failing_account_is_avoided_while_another_can_be_weighed(pool, rule):
    decision = choose("m", pool, NOW, rule)

    if decision.method in (Method.DENSITY, Method.COUNT):
        assert chosen(decision).candidate.recent_errors < 3


@for_all(healthy_pools, st.integers(0, 5), st.integers(0, 2), st.floats(0, 0.5))
def test_more_used_never_scores_better(pool, member_place, window_place, extra):
    member_place %= len(pool)
    worse = list(pool)
    worse[member_place] = replace(pool[member_place], quota=more_used(pool[member_place].quota, window_place, extra))
    scores = [choose("m", members, NOW).verdicts[member_place].score for members in (pool, worse)]

    assert (scores[0] is None) == (scores[1] is None)
    assert scores[0] is None or scores[1] <= scores[0]


def more_used(quota, place, extra):
    return replace(
        quota,
        windows=tuple(
            replace(window, used=window.used + extra) if window.position == place else window
            for window in quota.windows
        ),
    )


@for_all(healthy_pools, st.integers(0, 5))
def test_readmitted_accounts_are_those_whose_mark_outlived_every_window(pool, place):
    marked = [
        replace(member, quota=replace(member.quota, exhausted_at=NOW)) if member.index == place else member
        for member in pool
    ]
    expected = tuple(
        member.account
        for member in marked
        if member.quota.exhausted_at
        and member.quota.windows
        and all(window.resets_at <= NOW for window in member.quota.windows)
    )

    assert expected == choose("m", marked, NOW).readmitted


@for_all(pools, rules)
def test_every_decision_is_plain_json(pool, rule):
    document = decision_to_json(choose("m", pool, NOW, rule))

    assert document == json.loads(json.dumps(document, allow_nan=False))
    assert sum(candidate["chosen"] for candidate in document["candidates"]) == (document["error"] is None)
    assert all(candidate["chosen"] == (candidate["why_not"] is None) for candidate in document["candidates"])


@for_all(quotas, st.lists(windows, max_size=3), st.none() | st.integers(0, 1000))
def test_learning_never_yields_an_impossible_rate(prior, reading, turns):
    placed = [replace(window, position=place) for place, window in enumerate(reading)]
    blank = replace(prior, windows=tuple(replace(w, last_delta=None, last_delta_turns=None) for w in prior.windows))
    rates = [find_learned_rate(window) for window in learn(blank, placed, turns, NOW).windows]

    assert all(rate is None or 0 < rate <= MAX_RATE for rate in rates)
