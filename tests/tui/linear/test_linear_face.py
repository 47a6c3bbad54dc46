"""The app in plain lines: for screen readers, without a box, a colour or a repaint."""

import ast
import inspect
import subprocess
import sys

import pytest

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.linear import linear, sessions
from oulipoly_tui.linear.talk import spell_out


def _talk(agents, *answers, arguments=()):
    done = agents("--linear", *arguments, stdin="".join(f"{answer}\n" for answer in answers).encode())
    assert 0 == done.returncode, done.stderr.decode()
    return done.stdout.decode()


def test_the_lists_are_labelled_lines(app_world, agents):
    text = _talk(agents, "Pools", "", "Quota", "", "Quit")

    assert "Model opus. Next: " in text
    assert "Account cyd. State: " in text
    assert "Account ada. Never read." in text


def test_there_is_no_escape_sequence_no_box_and_no_return(app_world, agents):
    text = _talk(agents, "1", "", "2", "", "3", "", "4", "", "5")

    assert not set(text) & set("\x1b\r╭│▶─")


def test_an_account_is_drained_by_number(app_world, agents):
    text = _talk(agents, "Pools", "Drain", "2", "Show again", "", "Quit")

    assert "Account bob. drained." in text
    assert "Account bob. State: drained." in text


def test_the_past_of_a_window_is_labelled_lines(app_world, agents):
    text = _talk(agents, "Quota", "Refresh all", "How a window burned", "ada 5h", "1 d", "", "Quit")

    assert "Last reading 94 %." in text
    assert "ada 5h 94 % read" in text
    assert "forecast " in text
    assert "unused " in text


def test_a_prompt_is_answered(app_world, agents):
    text = _talk(agents, "Pools", "Send prompt", "opus", "hello there", "", "Quit")

    assert "hello there\nEnded with exit code 0." in text


def test_a_failed_prompt_shows_what_its_cli_said_and_the_way_out(empty_world, agents):
    empty_world.account("bad", ("5h", 1, 4), script="echo 'OAuth token has expired: 401' >&2; exit 3")
    empty_world.model("opus", "bad")

    text = _talk(agents, "Pools", "Send prompt", "opus", "hello there", "", "Quit")

    assert "Ended with exit code 3." in text
    assert "OAuth token has expired: 401" in text
    assert "Fix: log in again" in text


def test_what_if_asks_before_it_is_true(app_world, agents):
    answers = ("Pools", "What-if", "opus", "drain=ada", "n", "Show again", "", "Quit")
    text = _talk(agents, *answers)

    assert "Then: bob." in text
    assert "State: drained" not in text


def test_a_wrong_answer_is_said_and_asked_again(app_world, agents):
    reserve = ("Set reserve", "nobody", "ada", "lots", "120", "20%")
    text = _talk(agents, "Pools", "What-if", "opus", "nonsense", "drain=ada", "what", "n", *reserve, "", "Quit")

    assert "Error. 'nonsense' is not a what-if" in text
    assert "Then: bob." in text
    assert "'what' is neither y nor n." in text
    assert "There is no 'nobody' here." in text
    assert "Error. 'lots' is not a percentage." in text
    assert "Account ada. reserve 20 %" in text


def test_help_is_answered_at_every_question(app_world, agents):
    text = _talk(agents, "help", "Pools", "?", "Set reserve", "ada", "?", "", "", "Quit")

    assert "Type a number, 1 to 13, or a name, or how it begins." in text
    assert "Type how much of each window is kept." in text


def test_durations_are_said_in_words():
    assert "resets in 2 hours 1 minute, read 40 seconds ago, 1.5 days" == spell_out(
        "resets in 2 h 1 min, read 40 s ago, 1.5 d"
    )
    assert "8 MB/s, 5h window, 3 dogs" == spell_out("8 MB/s, 5h window, 3 dogs")


def test_read_only_offers_no_change(app_world, agents):
    text = _talk(agents, "Pools", "", "Quit", arguments=["--read-only"])

    assert "Why" in text
    assert "Drain" not in text
    assert "Send prompt" not in text


@pytest.mark.parametrize("answers", [(), ("Pools",), ("Pools", "Send prompt", "opus")], ids=str)
def test_the_end_of_the_input_ends_it(app_world, agents, answers):
    _talk(agents, *answers)


def test_an_empty_configuration_points_at_the_demo(home, agents):
    assert "agents demo" in _talk(agents, "Pools", "", "Quit")


def test_a_reader_that_leaves_ends_it_quietly(app_world, home):
    code = f"{sys.executable} -m oulipoly_tui --linear | true"

    done = subprocess.run(["sh", "-c", code], input=b"1\n1\n" * 50, capture_output=True, cwd=home, check=False)

    assert b"" == done.stderr


def test_where_nothing_is_configured_the_ways_on_are_offered(empty_world, agents):
    text = _talk(agents, "Begin", "Add account", "Set up:", "Doctor", "Demo", "n", "")
    read_only = _talk(agents, "Begin", "", arguments=["--read-only"])

    offered = [
        "1. Add account: log in to one more",
        "2. Set up: set up the CLIs",
        "3. Set up with agent: have a model",
        "4. Doctor: check everything",
        "5. Demo: try everything",
    ]
    places = [text.index(label) for label in offered]
    assert places == sorted(places)
    assert "Error. " in text
    assert "run     agents account add" in text
    assert "1. Doctor: " in read_only


def test_the_doctor_is_asked_from_the_problems_and_nothing_begins_where_accounts_are(app_world, agents):
    text = _talk(agents, "Problems", "Doctor", "", "Quit")

    assert "Checking everything." in text
    assert "Begin" not in text


def test_every_entry_is_a_command_of_the_table_or_this_face_s_own_that_changes_nothing():
    entries = [entry for menu in (linear.FIRST_STEPS, *linear.MENUS) for entry in menu.actions]
    of_table = [entry.does for entry in entries if entry.does.name]
    runs_any_command = {"interactive.type_command"} | {
        entry.act for entry in entries if entry.act.startswith("custom.")
    }

    assert of_table == [find(command.name) for command in of_table]
    assert runs_any_command == {entry.act for entry in entries if not entry.does.name and entry.does.writes}


def calls_of(function):
    """What a function calls, by name; with what is called of its own module."""
    names, module, waiting = set(), sys.modules[function.__module__], [function]
    while waiting:
        tree = ast.parse(inspect.getsource(waiting.pop()).lstrip())
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        called = {getattr(call, "attr", getattr(call, "id", "")) for call in calls}
        waiting += [getattr(module, name) for name in called - names if inspect.isfunction(getattr(module, name, None))]
        names |= called
    return names


def test_what_destroys_asks_first():
    entries = [entry for menu in (linear.FIRST_STEPS, *linear.MENUS) for entry in menu.actions if entry.does.destroys]
    orders = [linear._load(entry.act) for entry in entries if entry.act]
    orders += [order for name, order in sessions._ORDERS.items() if find(name).destroys]

    # `account undo` has the terminal meanwhile, and asks by itself.
    assert ["account undo"] == [entry.does.name for entry in entries if not entry.act]
    assert len(orders) > 4
    assert [] == [order.__name__ for order in orders if "confirm" not in calls_of(order)]
