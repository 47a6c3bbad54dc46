"""Who wins inside the band, and when there is none."""

import math

import pytest

from oulipoly_engine.core.balance.band import Contender, pick
from oulipoly_engine.core.balance.decision import TieRule


def winner(*contenders, rule=TieRule.LOWEST_USE):
    return pick([Contender(place, *contender) for place, contender in enumerate(contenders)], rule).winner.place


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((8, 0, 0.5, 1), (10, 0, 0.6, 1), 0),
        ((8, 0, 0.5, 1), (10, 0, 0.5, 1), 1),
        ((8, 0, None, 1), (10, 0, 0.1, 1), 1),
        ((10, 0, None, 1), (8, 0, 0.1, 1), 0),
        ((8, 0, 0.5, 12), (8, 0, 0.5, 6), 1),
        ((8, 0, 0.5, 6.01), (8, 0, 0.5, 6), 0),
        ((8, 0, 0.5, None), (8, 0, 0.5, 6), 1),
        ((8, 0, 0.5, 6), (8, 0, 0.5, None), 0),
        ((8, 0, 0.5, None), (8, 0, 0.5, None), 0),
        ((8, 0, 0.1 + 0.2, 12), (8, 0, 0.3, 6), 1),
    ],
    ids=[
        "lower use",
        "higher score at equal use",
        "higher score where one use is unknown",
        "higher score where the other's is",
        "sooner reset at equal score",
        "resets within a minute are equal",
        "known reset before unknown",
        "unknown reset after known",
        "all equal",
        "use equal but for rounding",
    ],
)
def test_lowest_use_breaks_ties_in_order(one, other, expected):
    assert expected == winner(one, other)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [((10, 1), (6, 0), 1), ((6, 0), (10, 0), 1), ((10, 0), (10, 0), 0)],
    ids=["fewer calls", "higher score at equal calls", "all equal"],
)
def test_fewest_calls_breaks_ties_in_order(one, other, expected):
    assert expected == winner(one, other, rule=TieRule.FEWEST_CALLS)


def test_highest_score_wins_outright_where_one_is_not_finite():
    assert 1 == winner((10, 0), (math.inf, 9), rule=TieRule.FEWEST_CALLS)


def test_last_of_the_highest_wins_without_headroom():
    assert 2 == winner((0, 0), (-1, 0), (0, 9), (-1, 0), rule=TieRule.FEWEST_CALLS)


def test_no_band_is_told_from_a_band_of_one():
    alone = pick([Contender(0, 10)], TieRule.FEWEST_CALLS)
    apart = pick([Contender(0, 10), Contender(1, 4)], TieRule.FEWEST_CALLS)

    assert [(None, 1), (5.0, 1)] == [(alone.band_floor, alone.band_size), (apart.band_floor, apart.band_size)]
