"""Every sentence that says who was chosen, and why the others were not."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.balance.balance import Candidate, TieRule, choose, why_not
from oulipoly_engine.core.balance.explain import exclusion_text
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import replace

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def window(used, hours, position=0, learned=(0.01, 20), label=None):
    return Window(position, used, NOW + timedelta(hours=hours), *(learned or (None, None)), label)


def account(index, name, *windows, marked=False, **more):
    quota = QuotaState(name, windows, refreshed_at=NOW, exhausted_at=NOW if marked else None)
    return Candidate(index, name, quota, **more)


def clauses(*candidates, **more):
    decision = choose("opus", candidates, NOW, **more)
    return [why_not(decision, verdict) for verdict in decision.verdicts]


@pytest.mark.parametrize(
    ("candidates", "options", "expected"),
    [
        (
            [account(0, "a", window(0.75, 8))],
            {},
            "a is the only account to rank by headroom, 2.0 h",
        ),
        (
            [account(n, name, window(0.99, 8), turns_since_refresh=200) for n, name in enumerate("ab")],
            {},
            "no account has headroom left; b is the last with the most, 0.0 h",
        ),
        (
            [account(0, "a", window(0.5, 8, label="8h")), account(1, "b", window(0.25, 8, label="8h"))],
            {"rule": TieRule.MOST_HEADROOM},
            "b has the most left for the time to its resets, 0.75 windows, among the 2 accounts with headroom",
        ),
        (
            [account(0, "a", window(0.5, 8)), account(1, "b", window(0.5, 2))],
            {},
            "a has the most headroom, 4.0 h, and no other account reaches half of it",
        ),
        (
            [account(0, "a", window(0.5, 8), invocation_count=7), account(1, "b", window(0.5, 7), invocation_count=8)],
            {},
            "a has the fewest calls, 7, among the 2 accounts with at least half of the most headroom",
        ),
        (
            [account(0, "a", window(0.5, 8)), account(1, "b", window(0.255, 6))],
            {"rule": TieRule.LOWEST_USE},
            "b has the lowest projected use, 26 %, among the 2 accounts with at least half of the most headroom",
        ),
        (
            [account(0, "a", invocation_count=3, recent_errors=2), account(1, "b", invocation_count=30)],
            {},
            "some windows are unknown, so calls decide: a has 3 with 2 recent failures, the least",
        ),
        (
            [
                account(0, "a", invocation_count=3, recent_errors=3),
                account(1, "b", recent_errors=3, invocation_count=2),
            ],
            {},
            "every eligible account failed lately, so b with the fewest calls, 2, is next",
        ),
        (
            [account(0, "a", window(0.1, 8, learned=None), invocation_count=2)],
            {},
            "no account of the pool has known headroom, so a with the fewest calls, 2, is next",
        ),
        (
            [
                account(0, "a", window(0.1, 8, learned=None), recent_errors=3),
                account(1, "b", window(0.1, 8, learned=None)),
            ],
            {},
            "no account of the pool has known headroom, so a with the fewest calls, 0, is next",
        ),
        (
            [account(n, name, window(used, 5, learned=None)) for n, name, used in ((0, "a", 0.97), (1, "b", 0.25))],
            {},
            "no account of the pool has known headroom, so b with the fewest calls, 0, is next; of 2 accounts with as "
            "many it has the most left by the last readings, 0.75 windows",
        ),
        (
            [account(n, name, window(used, 5, learned=None)) for n, name, used in ((0, "a", 0.97), (1, "b", 0.25))],
            {"rule": TieRule.MOST_HEADROOM},
            "no account of the pool has known headroom, so b with the most left by the last readings, 0.75 windows, is "
            "next",
        ),
        (
            [account(0, "a", window(0.97, 5, learned=None)), account(1, "b")],
            {},
            "some windows are unknown, so calls decide: b has 0 with 0 recent failures, the least; of 2 accounts with "
            "as many it has the most left by the last readings, 0.00 windows",
        ),
        (
            [account(0, "a", window(0.97, 5, learned=None)), account(1, "b", invocation_count=9)],
            {"rule": TieRule.MOST_HEADROOM},
            "some windows are unknown, so calls decide: b has 9 with 0 recent failures, the least of those that are "
            "not almost exhausted",
        ),
        (
            [account(0, "a", invocation_count=1), account(1, "b", invocation_count=9)],
            {"rule": TieRule.MOST_HEADROOM},
            "some windows are unknown, so calls decide: a has 1 with 0 recent failures, the least",
        ),
        (
            [account(0, "a"), account(1, "b")],
            {"sticky_to": "b"},
            "b was used last for this model, is eligible, and its headroom is unknown",
        ),
        (
            [account(0, "a", window(0.1, 8)), account(1, "b", window(0.5, 8))],
            {"sticky_to": "b"},
            "b was used last for this model, is eligible, and its headroom is 4.0 h",
        ),
    ],
    ids=[
        "one scored",
        "nobody has headroom",
        "most headroom",
        "best score",
        "fewest calls",
        "lowest use",
        "count",
        "all failed",
        "nobody scored",
        "not all failed",
        "as few calls",
        "headroom known",
        "as few calls and one unknown",
        "nearly spent",
        "nobody nearly spent",
        "sticky unknown",
        "sticky known",
    ],
)
def test_reason_is_one_whole_sentence(candidates, options, expected):
    assert expected == choose("opus", candidates, NOW, **options).reason


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (account(0, "a"), ""),
        (account(0, "a", is_known=False), "is not in providers.toml"),
        (account(0, "a", disabled=True), "is disabled"),
        (account(0, "a", drained=True), "is drained: it takes no new work"),
        (account(0, "a", marked=True), "is marked exhausted until a refresh clears it"),
        (account(0, "a", window(1.0, 5, 3)), "has exhausted window 3 until 2026-11-20T17:00Z"),
        (account(0, "a", window(1.0, 5, label="5h")), "has exhausted its 5h window until 2026-11-20T17:00Z"),
        (
            account(0, "a", window(0.9, 5, label="5h"), reserve=0.255),
            "keeps 26 % of every window in reserve and has reached it in its 5h window until 2026-11-20T17:00Z",
        ),
    ],
    ids=["takes part", "unknown", "disabled", "drained", "marked", "spent", "spent by label", "reserved"],
)
def test_exclusion_is_the_rest_of_a_sentence(candidate, expected):
    assert expected == exclusion_text(choose("opus", [candidate], NOW).verdicts[0])


def test_exclusion_without_a_known_window_says_so():
    verdict = choose("opus", [account(0, "a", window(1.0, 5))], NOW).verdicts[0]

    assert "has exhausted a window" == exclusion_text(replace(verdict, excluding_window=None))


def test_exhausted_pool_names_all_and_explains_those_whose_quota_is_not_the_reason():
    pool = [
        account(0, "a", marked=True),
        account(1, "b", drained=True),
        account(2, "c", window(1.0, 5)),
        account(3, "d", is_known=False),
        account(4, "e"),
    ]

    assert (
        "all providers in pool opus are quota-exhausted: a, b, c, d, e"
        " (b is drained: it takes no new work; d is not in providers.toml)"
    ) == choose("opus", pool, NOW, attempted={"e"}).error


@pytest.mark.parametrize(
    ("candidates", "options", "expected"),
    [
        ([account(0, "a"), account(1, "b")], {"sticky_to": "b"}, ["the model stays on b", None]),
        (
            [account(0, "a"), account(1, "b")],
            {},
            [None, "has more calls and failures than a, or as many and at most its headroom"],
        ),
        (
            [account(0, "a", recent_errors=3), account(1, "b")],
            {},
            ["failed 3 times in the last 30 minutes", None],
        ),
        (
            [account(0, "a", recent_errors=3), account(1, "b", recent_errors=3)],
            {},
            [None, "has more calls than a, or as many and at most its headroom"],
        ),
        (
            [account(n, "abc"[n], window(0.5, 5, learned=None), recent_errors=3 * (n == 1)) for n in range(3)],
            {"rule": TieRule.MOST_HEADROOM},
            [
                None,
                "failed 3 times in the last 30 minutes",
                "has at most as much left as a by its last reading, 0.50 windows",
            ],
        ),
        (
            [account(0, "a", window(0.97, 5, learned=None)), account(1, "b")],
            {"rule": TieRule.MOST_HEADROOM},
            ["is almost exhausted by its last reading", None],
        ),
        (
            [account(0, "a", window(0.5, 8)), account(1, "b", window(0.5, 3))],
            {},
            [None, "its headroom, 1.5 h, is below half of the most"],
        ),
        (
            [account(n, name, window(0.99, 8), turns_since_refresh=200 * (1 - n)) for n, name in enumerate("ab")],
            {"rule": TieRule.MOST_HEADROOM},
            ["its headroom, 0.0 h, is 0", None],
        ),
        (
            [account(n, name, window(0.99, 8), turns_since_refresh=200) for n, name in enumerate("ab")],
            {},
            ["its headroom, 0.0 h, is not the most", None],
        ),
        (
            [account(0, "a", window(0.5, 8, label="8h")), account(1, "b", window(0.25, 8, label="8h"))],
            {"rule": TieRule.MOST_HEADROOM},
            ["has at most as much left as b, 0.50 windows", None],
        ),
        (
            [account(0, "a", window(0.5, 8)), account(1, "b", window(0.5, 8), invocation_count=2)],
            {},
            [None, "has at least as many calls as a, 2"],
        ),
        (
            [account(0, "a", window(0.5, 8)), account(1, "b", window(0.25, 8))],
            {"rule": TieRule.LOWEST_USE},
            ["has at least the projected use of b", None],
        ),
        (
            [account(0, "a", window(0.5, 8)), account(1, "b", window(0.5, -8))],
            {},
            [None, "its headroom is unknown: no live window"],
        ),
        (
            [account(0, "a", window(0.5, 8)), account(1, "b", window(0.5, 8, 7, learned=None))],
            {},
            [None, "its headroom is unknown: no rate learned yet"],
        ),
    ],
    ids=[
        "sticky",
        "count",
        "failing by count",
        "round robin",
        "headroom known",
        "nearly spent",
        "below the band",
        "no headroom",
        "no band",
        "less headroom",
        "more calls",
        "more use",
        "no live window",
        "not learned",
    ],
)
def test_every_account_that_was_not_chosen_hears_why(candidates, options, expected):
    assert expected == clauses(*candidates, **options)


def test_headroom_is_told_without_the_reserve():
    candidates = [
        account(0, "a", window(0.25, 8, label="8h"), reserve=0.5),
        account(1, "b", window(0.25, 8, label="8h")),
    ]

    assert ["has at most as much left as b, 0.25 windows", None] == clauses(*candidates, rule=TieRule.MOST_HEADROOM)
