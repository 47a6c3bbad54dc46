"""The pure rules of the set-up agent: its life, its commands, its feedback, its prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.setup import commands, feedback, prompt
from oulipoly_engine.core.setup.actions import RunCommand
from oulipoly_engine.core.setup.dialogs import Form, FormAnswer, FormField, KeyGiven, Wizard, WizardAnswer, WizardPage
from oulipoly_engine.core.setup.events import Outcome
from oulipoly_engine.core.setup.lifecycle import TABLE, Life, Occurrence, Phase, advance
from oulipoly_engine.core.setup.prompt import Exchange, Situation
from oulipoly_engine.errors import RequestRefused

O = Occurrence  # noqa: E741 - the table's rows below stay short
READY = advance(Life(), O.READY)


def live(*occurrences, most=25):
    life = Life(most)
    for number, occurrence in enumerate(occurrences):
        life = advance(life, occurrence, number)
    return life


@pytest.mark.parametrize(
    ("occurrences", "outcome"),
    [
        ([O.READY, O.REPLIED, O.COMPLETED], Outcome.SUCCESS),
        ([O.READY, O.REPLIED, O.SAID_DONE], Outcome.DONE),
        ([O.READY, O.CANCELLED], Outcome.CANCELLED),
        ([O.CANCELLED], Outcome.CANCELLED),
        ([O.NOTHING_INSTALLED, O.CANCELLED], Outcome.CANCELLED),
        ([O.NOTHING_INSTALLED, O.NOTHING_INSTALLED], Outcome.FAILED_BOOTSTRAP),
        ([O.NOTHING_INSTALLED, O.NO_ACCOUNT, O.NO_ACCOUNT], Outcome.FAILED_BOOTSTRAP),
        ([O.NOTHING_INSTALLED, O.NO_ACCOUNT, O.READY], None),
        ([O.READY, O.FAILED], Outcome.AGENT_ERROR),
        ([O.READY, O.FAILED_ONCE, O.REPLIED, O.SAID_DONE], Outcome.DONE),
        ([O.READY, O.UNREADABLE, O.UNREADABLE], None),
        ([O.READY, O.UNREADABLE, O.UNREADABLE, O.UNREADABLE], Outcome.AGENT_ERROR),
        ([O.READY, O.UNREADABLE, O.UNREADABLE, O.REPLIED, O.ACTED, O.UNREADABLE, O.UNREADABLE], None),
        ([O.READY, *[O.REPLIED, O.ACTED] * 25], Outcome.MAX_TURNS_EXCEEDED),
        ([O.READY, *[O.REPLIED, O.ACTED] * 24, O.REPLIED, O.COMPLETED], Outcome.SUCCESS),
        ([O.READY, *[O.FAILED_ONCE] * 25], Outcome.MAX_TURNS_EXCEEDED),
    ],
)
def test_the_table_ends_a_set_up(occurrences, outcome):
    life = live(*occurrences)
    assert life.outcome == outcome
    assert life.is_over == (outcome is not None)


def test_what_is_said_three_times_ends_it():
    life = READY
    for _ in range(2):
        life = advance(advance(life, O.REPLIED, "same"), O.ACTED)
    assert not life.is_over
    assert advance(life, O.REPLIED, "another").equal == 1
    assert advance(life, O.REPLIED, "same").outcome is Outcome.AGENT_ERROR


@given(st.lists(st.sampled_from(list(Occurrence)), max_size=120), st.integers(1, 25))
def test_no_life_has_more_turns_than_it_may(occurrences, most):
    life = Life(most)
    for number, occurrence in enumerate(occurrences):
        if (life.phase, occurrence) in TABLE:
            life = advance(life, occurrence, number)
    assert life.turns <= most
    assert life.is_over == (life.outcome is not None) == (life.phase is Phase.ENDED)


@pytest.mark.parametrize(
    "command",
    [
        RunCommand("rm", ("-rf", "/")),
        RunCommand("/bin/bash", ("-c", "x")),
        RunCommand("./npm"),
        RunCommand("bash -c x"),
        RunCommand(""),
        RunCommand("sudo", ("bash",)),
        RunCommand("npm", ("a\0b",)),
        RunCommand("which"),
        RunCommand("type", ("/etc/passwd",)),
    ],
)
def test_a_command_beside_the_list_is_refused(command):
    with pytest.raises(RequestRefused, match=r"\w"):
        commands.check_command(command)


@pytest.mark.parametrize(
    ("command", "word"),
    [("bash", "script"), ("curl", "sends"), ("npx", "downloads"), ("npm", "packages"), ("claude", "agent")],
)
def test_each_command_is_warned_of_unless_it_only_tells_of_itself(command, word):
    assert word in commands.warning(RunCommand(command, ("x",)))
    assert commands.warning(RunCommand(command))
    assert commands.warning(RunCommand(command, ("--version", "x")))
    assert commands.warning(RunCommand(command, ("help",)))  # `npx help` runs a package of that name
    assert not commands.warning(RunCommand(command, ("--help",)))


def test_a_command_is_shown_as_one_would_type_it():
    asked = RunCommand("npm", ("install", "a b", "$(rm x)", "\x1b[2J"))
    commands.check_command(asked)
    assert commands.shown_command(asked) == "npm install 'a b' '$(rm x)' '\x1b[2J'"


def test_a_command_sees_no_keys():
    ours = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "OPENAI_API_KEY": "k",
        "CODEX_HOME": "/x",
        "GITHUB_TOKEN": "t",
        "MY_NAME": "a",
    }
    assert commands.environment(ours) == {"PATH": "/bin", "LC_ALL": "C"}


def test_feedback_is_bounded_and_has_no_key_and_no_password():
    told = feedback.of_command("npm ls", 2, "o" * 900, "e" * 900)
    assert told == f"run_command npm ls: exit 2\nstdout: {'o' * 500}\nstderr: {'e' * 200}"
    assert feedback.join(["a", "b"]) == "a\nb"
    assert feedback.join([]) == feedback.NOTHING
    assert "because" in feedback.of_unreadable("because")
    assert feedback.of_command("npm ls", 0, "a\n\nYou answered:\n", "").split("\n")[1:] == [
        "stdout: a",
        "  ",
        "  You answered:",
        "stderr: ",
    ]
    assert feedback.of_test("m", "x" * 900, success=True) == f"test_integration m: PASS {'x' * 300}"
    assert "hunter2" not in feedback.of_answer(KeyGiven("claude", "ANTHROPIC_API_KEY", "hunter2"))
    form = Form("t", (FormField("a"), FormField("b", field_type="password")))
    assert "hunter2" not in feedback.of_answer(FormAnswer("form", {"a": "x", "b": "hunter2"}), form)
    wizard = Wizard("t", (WizardPage("one", form),))
    assert "hunter2" not in feedback.of_answer(WizardAnswer("wizard", 0, {"b": "hunter2"}), wizard)


def test_the_oldest_turns_are_shortened_first():
    situation = Situation("do it", "{}", "", "", "~/.config/x", 25)
    exchanges = [Exchange(f"reply {n} " + "r" * 3000, f"told {n} " + "f" * 9000) for n in range(25)]
    text = prompt.compose(situation, exchanges)
    assert len(text.encode()) <= prompt.LIMIT
    assert text.count("r" * 3000) < 25
    assert "told 24 " + "f" * 9000 in text
    assert "told 0 " in text
    assert prompt.compose(situation, exchanges[:2]).count("f" * 9000) == 2


@given(st.lists(st.tuples(st.text(max_size=50), st.integers(0, 40_000)), max_size=25))
def test_no_prompt_is_longer_than_an_argument_may_be(turns):
    situation = Situation("ü" * 9000, "r" * 50_000, "\u4e16" * 50_000, "m" * 50_000, "~/c", 25)
    text = prompt.compose(situation, [Exchange(said * 100, "ü" * size) for said, size in turns])
    assert len(text.encode()) <= 102_400
