"""The stored decision of a run that goes on with a session."""

import pytest

from oulipoly_engine.core.balance.resume_decision import describe_resumption


def shown(account="a", **candidate):
    pool = {"candidates": [{"index": 4, "account": "b", "exclusion": None, "why_not": None} | candidate]}
    return describe_resumption(pool, account, "r")["candidates"][0]


def test_decision_says_resume_and_why_and_keeps_what_else_was_known():
    decision = describe_resumption(
        {"model": "opus", "method": "density", "reason": "x", "error": "y"}, "a", "it has it"
    )

    assert decision == {
        "model": "opus",
        "method": "resume",
        "index": None,
        "account": "a",
        "reason": "it has it",
        "error": None,
        "candidates": [],
    }


@pytest.mark.parametrize("candidates", [None, "x", 3])
def test_candidates_that_are_no_list_are_none(candidates):
    assert [] == describe_resumption({"candidates": candidates}, "a", "r")["candidates"]


def test_account_with_the_session_is_chosen_by_its_index_whoever_was_before():
    candidates = [
        {"index": 4, "account": "b", "chosen": True},
        {"index": 7, "account": "a", "exclusion": "drained", "why_not": "x"},
    ]
    decision = describe_resumption({"candidates": candidates}, "a", "r")

    assert 7 == decision["index"]
    assert [False, True] == [candidate["chosen"] for candidate in decision["candidates"]]
    assert decision["candidates"][1]["why_not"] is None


@pytest.mark.parametrize(
    ("candidate", "why_not"),
    [
        ({"exclusion": "drained", "why_not": "is drained"}, "is drained"),
        ({"exclusion": None, "why_not": "has more calls"}, "does not have the session"),
        ({"exclusion": "drained", "why_not": None}, "does not have the session"),
        ({}, "does not have the session"),
    ],
    ids=["excluded", "lost by numbers", "excluded without a word", "chosen by the pool"],
)
def test_other_accounts_lack_the_session_unless_something_kept_them_out(candidate, why_not):
    assert why_not == shown(**candidate)["why_not"]
