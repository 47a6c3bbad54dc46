"""The headroom of an account in numbers: what is left, and a bonus for a near reset."""

import math
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.balance.decision import WindowVerdict
from oulipoly_engine.core.balance.headroom import headroom
from oulipoly_engine.core.quota.burn import RateSource
from oulipoly_engine.core.quota.windows import Window, length_h

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
HALF = 0.4 * math.log(2)  # what each halving of the time left is worth


def window(projected, hours, label="weekly", *, is_live=True, used=0.0):
    return WindowVerdict(Window(0, used, AT, label=label), hours, is_live, 0.001, RateSource.OWN, projected, 1.0)


@pytest.mark.parametrize(
    ("projected", "hours", "expected"),
    [
        (0.25, 168, 0.75),
        (0.25, 84, 0.75 + HALF),
        (0.25, 42, 0.75 + 2 * HALF),
        (0.0, 168, 1.0),
        (0.25, 400, 0.75),
        (0.949, 168, 0.051),
        (0.95, 168, 0.05 - 6),
        (1.5, 168, -0.5 - 6),
    ],
    ids=[
        "all of its time left",
        "half of it",
        "a quarter",
        "unused",
        "more than all",
        "below 95 %",
        "nearly spent",
        "overspent",
    ],
)
def test_headroom_is_what_is_left_and_a_bonus_for_each_halving_of_the_time(projected, hours, expected):
    assert pytest.approx(expected) == headroom([window(projected, hours)])


def test_least_window_counts():
    assert pytest.approx(0.5) == headroom([window(0.25, 168), window(0.5, 168), window(0.1, 168)])


def test_one_nearly_spent_window_puts_the_account_last():
    assert pytest.approx(0.5 - 6) == headroom([window(0.96, 0.5), window(0.5, 168)])


def test_reserve_is_taken_off_every_window():
    assert pytest.approx(0.25) == headroom([window(0.25, 168)], 0.5)
    assert pytest.approx(0.05 - 6) == headroom([window(0.45, 168)], 0.5)


@pytest.mark.parametrize("windows", [[], [window(0.2, 5, is_live=False)]], ids=["none", "all past"])
def test_account_of_which_nothing_is_known_has_the_least_of_all(windows):
    assert -math.inf == headroom(windows)


def test_windows_that_say_nothing_do_not_hide_those_that_do():
    assert pytest.approx(0.75) == headroom([window(0.9, 5, is_live=False), window(0.25, 168)])


def test_window_without_a_projection_counts_as_it_was_last_read():
    assert pytest.approx(0.25) == headroom([window(None, 168, used=0.75), window(0.5, 168, used=0.9)])


def test_last_minute_counts_as_a_whole_one():
    assert headroom([window(0.5, 1 / 60)]) == headroom([window(0.5, 1e-9)])


@pytest.mark.parametrize(
    ("label", "hours_left", "expected"),
    [
        ("5h-burst", 1, 5),
        ("5min", 0.01, 5 / 60),
        ("90m", 1, 1.5),
        ("3d", 1, 72),
        ("weekly (2)", 1, 168),
        ("opus", 100, 168),
        ("daily", 1, 24),
        ("weekly", 1, 168),
        ("monthly", 1, 720),
        ("5h-burst (2)", 1, 5),
        ("2h", 100, 2),
        ("2d-opus", 1, 48),
        ("0m", 5, 1 / 60),
        ("99999h", 1, 99999),
        ("100000h", 1, 5),
        ("5w", 6, 24),
        (None, 5, 5),
        (None, 6, 24),
        (None, 5.1, 24),
        (None, 24, 24),
        (None, 168, 168),
        (None, 720, 720),
        (None, 720.5, 720.5),
        (None, 999, 999),
    ],
)
def test_length_comes_from_the_label_or_is_the_shortest_usual_one(label, hours_left, expected):
    assert pytest.approx(expected) == length_h(label, hours_left)
