"""How long a prompt is expected to be, and what running ones still owe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.balance.decision import UNKNOWN_LENGTH
from oulipoly_engine.core.runs.expectation import (
    RunningWork,
    add_length,
    expect,
    promise,
)

LENGTHS = st.lists(st.integers(1, 2000), min_size=1, max_size=60)


def learn(turns):
    lengths = None
    for each in turns:
        lengths = add_length(lengths, each)
    return lengths


def test_without_a_run_the_default_holds():
    assert UNKNOWN_LENGTH == expect(None, None)


def test_a_project_outweighs_its_pool_from_its_third_run_on():
    pool, expected = learn([10] * 100), []
    for runs in range(1, 5):
        expected.append(expect(learn([100] * runs), pool).turns)

    middle = (100 + expect(None, pool).turns) / 2
    assert [False, False, True, True] == [turns > middle + 1 for turns in expected]


def test_recent_runs_weigh_more():
    assert 60 < expect(learn([10] * 100 + [100] * 20), None).turns < 100


@given(LENGTHS)
def test_an_expectation_lies_among_what_it_rests_on(turns):
    expected = expect(learn(turns), None)

    assert min(*turns, UNKNOWN_LENGTH.turns) - 1e-9 <= expected.turns <= max(*turns, UNKNOWN_LENGTH.turns) + 1e-9
    assert 0 < expected.spread < 8


def test_equal_runs_narrow_the_spread():
    assert expect(learn([20] * 50), None).spread < 0.3 < expect(learn([5, 80] * 25), None).spread


@pytest.mark.parametrize(
    ("works", "elsewhere", "owed"),
    [
        ([("a", 15, 0), ("a", 20, 5), ("b", 10, 0)], {}, {"a": 30, "b": 10}),
        ([("a", 15, 40)], {}, {"a": 1}),
        ([("a", 15, None), ("a", 15, None)], {"a": 10, "b": 99}, {"a": 20}),
        ([("a", 15, None), ("a", 15, 5)], {"a": 400}, {"a": 11}),
        ([], {"a": 3}, {}),
    ],
    ids=["added", "overdue-owes-a-turn", "read-for-all-unknown", "overdue-unknown", "nothing-runs"],
)
def test_promised_turns(works, elsewhere, owed):
    assert owed == promise([RunningWork(*work) for work in works], elsewhere)
