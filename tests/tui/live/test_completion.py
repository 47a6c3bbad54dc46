"""What the composer completes, and which answers come of a form."""

import pytest

from oulipoly_engine.core.commands.slash.lines import CliCommand, Known
from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.live.events import Question
from oulipoly_engine.core.setup.dialogs import check_values
from oulipoly_tui.orders import line
from oulipoly_tui.view.live.completion import complete_command, complete_file, complete_words, find_wanted
from oulipoly_tui.view.live.questions import answers_of, questions_page


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("/re", ("command", "re", 0)),
        ("say /re", None),
        ("/rename x", ("words", "rename x", 0)),
        ("/steer see @a", ("file", "a", 11)),
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


def test_our_commands_come_first_and_are_told_as_in_every_face():
    found = complete_command("re", Known(cli=[CliCommand("release"), CliCommand("review", "the CLI's own")]))

    assert ["/rename ", "/resume ", "/review ", "/rewind ", "/release "] == [one.text for one in found]
    assert f"{find('session name').summary}: /name TEXT" == found[0].note


@pytest.mark.parametrize(
    ("begun", "lines"),
    [
        ("model ", ["/model gpt-a", "/model gpt-b"]),
        ("model gpt-b", []),
        ("model x", []),
        ("export m", ["/export markdown"]),
        ("export markdown a", []),
        ("fork ", []),
        ("context ", []),
        ("nosuch ", []),
    ],
)
def test_words_behind_a_command_are_completed_as_those_of_the_command_line(begun, lines):
    own = {"session models": ["gpt-a", "gpt-b"]}

    def complete(arguments, words, ends_open):
        return line.complete_words(arguments, words, object(), ends_open=ends_open, own=own)

    known = Known(cli=[CliCommand("context")])
    assert lines == [one.text for one in complete_words(begun, known, complete)]


def test_folders_come_first_and_hidden_names_only_when_asked_for():
    names = [("b.txt", False), ("a", True), (".git", True), ("two words", False)]

    assert ["@x/a/", "@x/b.txt "] == [one.text for one in complete_file("x/", names)]
    assert ["@.git/"] == [one.text for one in complete_file(".", names)]
    assert ["@README.md "] == [one.text for one in complete_file("re", [("README.md", False), ("src", True)])]


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
