"""Lists that add extensions, skills, prompts and themes, and switch them off."""

import pytest

from oulipoly_engine.core.accounts.resource_lists import is_switched_off, switch


@pytest.mark.parametrize(
    ("entries", "expected"),
    [([], False), (["!a"], True), (["!b"], False), (["a", "!a"], True), (["!a", "a"], False), (["!x:a"], False)],
)
def test_of_two_entries_about_a_name_the_later_one_counts(entries, expected):
    assert expected is is_switched_off(entries, "a")


def test_a_switch_replaces_what_the_list_has_said_of_the_name():
    assert ("b", "!a") == switch(["!a", "b", "a"], "a", is_on=False)
    assert ("b",) == switch(["!a", "b"], "a", is_on=True)
    assert ("b", "a") == switch(["!a", "b"], "a", is_on=True, is_known=False)
    assert ("b",) == switch(["/x/a.md", "b"], "/x/a.md", is_on=False)
