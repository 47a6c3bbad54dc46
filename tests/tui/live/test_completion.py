"""What the composer completes, and which answers come of a form."""

import pytest

from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.live.events import Question
from oulipoly_engine.core.setup.dialogs import check_values
from oulipoly_tui.view.live.completion import OWN_COMMANDS, complete_command, complete_file, find_wanted, own_command
from oulipoly_tui.view.live.questions import answers_of, questions_page


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("/re", ("command", "re", 0)),
        ("say /re", None),
        ("/rename x", None),
        ("see @src/ma", ("file", "src/ma", 4)),
        ("@", ("file", "", 0)),
        ("mail@host", None),
        ("a\n@b", ("file", "b", 2)),
        ("", None),
    ],
)
def test_what_is_begun_is_found(before, found):
    wanted = find_wanted(before)

    assert found == (None if wanted is None else (wanted.kind, wanted.begun, wanted.start))


def test_our_commands_come_first_and_no_name_twice():
    found = complete_command("re", [("review", "the CLI's own"), ("resume", "another one"), ("release", "")])

    assert ["/rename ", "/resume ", "/review ", "/release "] == [one.text for one in found]
    assert "the CLI's own" == found[2].note


def test_our_commands_are_told_as_in_every_face():
    notes = {one.text.strip(" /"): one.note for one in complete_command("", [])}

    assert {name: find(command).summary for name, command in OWN_COMMANDS.items()} == {
        name: note.partition(": /")[0] for name, note in notes.items()
    }
    assert notes["rename"].endswith(": /rename TEXT")


def test_folders_come_first_and_hidden_names_only_when_asked_for():
    names = [("b.txt", False), ("a", True), (".git", True), ("two words", False)]

    assert ["@x/a/", "@x/b.txt "] == [one.text for one in complete_file("x/", names)]
    assert ["@.git/"] == [one.text for one in complete_file(".", names)]
    assert ["@README.md "] == [one.text for one in complete_file("re", [("README.md", False), ("src", True)])]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/rename red roofs", ("rename", "red roofs")),
        ("/context", None),
        ("compact", None),
        ("/review", ("review", "")),
        ("/compact", ("compact", "")),
    ],
)
def test_commands_of_ours_are_told_from_those_of_the_cli(text, found):
    assert found == own_command(text, [("context", "")])


@pytest.mark.parametrize("text", ["/review", "/review 123", "/review the names of tests", "/compact keep the plan"])
def test_a_cli_gets_its_own_review_and_what_it_is_to_keep_as_typed(text):
    assert own_command(text, [("review", ""), ("compact", "")]) is None


def test_questions_become_answers_by_their_ids():
    questions = (
        Question("a", "Colour?", options=(("red", "warm"), ("blue", "")), takes_other=True),
        Question("b", "Parts?", options=(("roof", ""), ("door", "")), takes_several=True),
        Question("c", "Key?", is_secret=True),
        Question("d", "Why?"),
    )
    page = questions_page("Some", questions)
    kinds = [field.field_type for field in page.form.fields]
    values, problems = check_values(
        page.form, {"q0": "", "q0_other": "green", "q1": ("roof", "door"), "q2": "k", "q3": "so"}
    )

    assert ["select", "text", "multi_select", "password", "text"] == kinds
    assert () == tuple(problems)
    wanted = {"a": ("green",), "b": ("roof", "door"), "c": ("k",), "d": ("so",)}
    assert wanted == answers_of(questions, values)
