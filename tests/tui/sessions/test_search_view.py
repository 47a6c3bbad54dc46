"""The search as it is typed: a word that is not finished finds what begins so, and no limit is called a total."""

import pytest

from oulipoly_tui.view.sessions.search import as_typed, count_text


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("humid", "humid*"),
        ("roof humid", "roof humid*"),
        ('"burn rate" hum', '"burn rate" hum*'),
        ("hu", "hu"),  # too short to be a beginning
        ("humid ", "humid "),
        ("humid*", "humid*"),
        ("-humid", "-humid"),
        ("account:clau", "account:clau"),
        ('"burn rat', '"burn rat'),
    ],
)
def test_last_word_may_not_be_finished(typed, asked):
    assert asked == as_typed(typed)


@pytest.mark.parametrize(
    ("count", "unindexed", "expected"),
    [
        (0, 0, "0 turns, the newest first"),
        (1, 0, "1 turn, the newest first"),
        (200, 0, "the newest 200 turns; more words narrow it"),
        (3, 4_000, "3 turns, the newest first; 4,000 turns are not indexed yet"),
    ],
)
def test_a_limit_is_not_called_a_total(count, unindexed, expected):
    assert expected == count_text(count, 200, unindexed)
