"""The words of the actions are the product's: one word for one thing, and the one that the field uses."""

import re

import pytest
from textual.fuzzy import Matcher

from oulipoly_tui.actions.registry import ACTIONS
from oulipoly_tui.commands.palette import weigh

# Not: what we call it instead.
WRONG = {
    r"conversations?": "session",
    r"side ?chains?": "sub-agent session",
    r"bindings?": "limiting window, key",
    r"(in|below) band": "eligible, lower headroom",
    r"by (density|count)": "ranked by headroom, round robin",
    r"spent|unspent": "used, unused, exhausted",
    r"dry": "runs out",
    r"burned": "used",
    r"one-shots?": "run, prompt",
    r"elsewhere": "on another account",
    r"wants? you": "alert",
    r"deeds?": "action",
    r"REPL": "interactive session",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_no_action_is_told_in_a_home_made_word(wrong):
    told = [
        (action.id, text)
        for action in ACTIONS
        for text in (action.label, action.description, action.command_summary)
        if re.search(rf"\b({wrong})\b", text)
    ]

    assert [] == told, f"say {WRONG[wrong]!r}"


def names(*, destroying):
    return [
        name for one in ACTIONS if one.destroys is destroying for name in (one.label, *one.synonyms, *one.label.split())
    ]


@pytest.mark.parametrize("word", sorted({*names(destroying=False)} - {*names(destroying=True)}))
def test_no_action_that_destroys_is_first_for_an_innocent_word(word):
    matcher = Matcher(word)
    best = max(ACTIONS, key=lambda one: weigh(matcher, one.description if one.keys else one.command.usage, one)[0])

    assert not best.destroys
