"""A stored decision as a few lines of text."""

import pytest

from oulipoly_engine.core.balance.decision_text import why_lines

WEEKLY = {"live": True, "label": "weekly", "used": 0.5, "projected_used": 0.625, "hours_to_reset": 12.25}


def line_of(**candidate):
    return list(why_lines({"candidates": [{"account": "a"} | candidate]}))[1]


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (
            {"account": "a", "reason": "a leads", "error": None, "method": "density"},
            "why a: a leads [ranked by headroom]",
        ),
        ({"account": None, "reason": None, "error": "all spent", "method": "none"}, "why nobody: all spent [none]"),
    ],
    ids=["chosen", "nobody"],
)
def test_first_line_says_who_why_and_by_which_method(decision, expected):
    assert [expected] == list(why_lines(decision))


def test_one_line_follows_for_each_candidate_in_order():
    lines = list(why_lines({"candidates": [{"account": "b"}, {"account": "a", "chosen": True}]}))

    assert ["- b  0 calls", "> a  0 calls"] == lines[1:]


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        ({"why_not": "is drained"}, "- a  is drained  0 calls"),
        ({"score": 4.256}, "- a  headroom 4.3 h  0 calls"),
        ({"score": 0.0}, "- a  headroom 0.0 h  0 calls"),
        ({"invocation_count": 7}, "- a  7 calls"),
        ({"recent_errors": 2}, "- a  0 calls  2 recent errors"),
        ({"recent_errors": 0}, "- a  0 calls"),
        (
            {"why_not": "has more", "score": 1.0, "windows": [WEEKLY], "invocation_count": 3, "recent_errors": 1},
            "- a  has more  headroom 1.0 h  weekly 50 %, projected 62 %, resets in 12 h 15 m  3 calls  1 recent errors",
        ),
    ],
    ids=["why not", "score", "score of zero", "calls", "errors", "no errors", "all in their order"],
)
def test_facts_of_a_candidate_stand_in_its_line(candidate, expected):
    assert expected == line_of(**candidate)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({"label": None, "position": 2, "used": 0.999}, "window-2 100 %, projected ?, resets in ? "),
        ({"label": "5h", "used": None, "projected_used": 1.5}, "5h ?, projected 150 %, resets in ? "),
        ({"label": "5h", "used": 0.0, "hours_to_reset": 0.04}, "5h 0 %, projected ?, resets in 2 m "),
    ],
    ids=["named by its place", "use unknown", "nothing used"],
)
def test_unknown_numbers_of_a_window_are_question_marks(window, expected):
    assert f"- a  {expected} 0 calls" == line_of(windows=[window | {"live": True}])


def test_windows_that_have_reset_are_left_out():
    assert "- a  0 calls" == line_of(windows=[WEEKLY | {"live": False}])
