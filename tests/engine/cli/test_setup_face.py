"""The set-up agent's dialogs on a terminal, line by line; and once as a whole, from an empty home."""

import json

import pytest

from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.cli.setup.agent.terminal_face import TerminalFace
from oulipoly_engine.core.setup.dialogs import (
    Cancelled,
    CliChoice,
    CliOption,
    CliSelection,
    CommandOutput,
    Confirmation,
    Confirmed,
    Form,
    FormAnswer,
    FormField,
    KeyGiven,
    KeyRequest,
    LoginDone,
    LoginRequest,
    Option,
    Skipped,
    Wizard,
    WizardAnswer,
    WizardPage,
)
from oulipoly_engine.core.setup.events import Agreement, Status
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade.setup.agent import NobodyAnswers, SetupCancelled
from oulipoly_engine.records import replace

FILLED = {"name": "a", "rule": "most", "on": True}
FORM = Form(
    "A pool",
    (
        FormField("name", "Name", required=True, default_value="fast", help_text="Any short word."),
        FormField("rule", "Rule", "select", options=(Option("most", "Most left"), Option("few"))),
        FormField("on", "On", "checkbox", default_value=True),
    ),
)
KEY = KeyRequest("codex", "OPENAI_API_KEY")
LOGIN = LoginRequest("Codex", "agents account add codex", cli="codex")
CLIS = CliSelection((CliOption("claude", installed=True), CliOption("codex")))


class Typed(Questions):
    """Somebody who types prepared lines; at their end the terminal is gone."""

    def __init__(self, *lines, is_agreed=False):
        super().__init__(is_agreed=is_agreed)
        self.can_ask = True
        self.lines, self.asked = list(lines), []

    def line(self, question):
        self.asked.append(question)
        if not self.lines:
            raise RequestRefused("gone")
        return self.lines.pop(0)

    secret = line


def answer(dialog, *lines):
    """Return what is answered, and the questions."""
    typed = Typed(*lines)
    found = TerminalFace(typed, lambda _cli: None).ask(dialog)
    assert typed.lines == []
    return found


@pytest.mark.parametrize(
    ("dialog", "lines", "found"),
    [
        (FORM, ["", "", ""], FormAnswer("form", {"name": "fast", "rule": "", "on": True})),
        (FORM, ["?", "slow", "2", "n"], FormAnswer("form", {"name": "slow", "rule": "few", "on": False})),
        (
            FORM,
            ["a", "9", "back", "", "most left", "maybe", "y"],
            FormAnswer("form", {"name": "a", "rule": "most", "on": True}),
        ),
        (FORM, ["=skip", "1", "y"], FormAnswer("form", {"name": "skip", "rule": "most", "on": True})),
        (FORM, ["x", "skip"], Skipped()),
        (FORM, ["x", "CANCEL"], Cancelled()),
        (FORM, ["x"], Cancelled()),
        (Confirmation("t", "sure?", "c1"), [""], Confirmed("c1", False)),
        (Confirmation("t", "sure?", "c1"), ["what", "y"], Confirmed("c1", True)),
        (KEY, ["sk-1"], KeyGiven("codex", "OPENAI_API_KEY", "sk-1")),
        (KEY, [""], Skipped()),
        (replace(KEY, keyring="wallet"), ["sk-1", "y"], KeyGiven("codex", "OPENAI_API_KEY", "sk-1", in_keyring=True)),
        (LOGIN, ["y"], LoginDone("Codex")),
        (LOGIN, ["n", "n"], Skipped()),
        (LoginRequest("Else", "else login"), ["y"], LoginDone("Else")),
        (CLIS, ["vim", "2, claude"], CliChoice(("codex", "claude"))),
        (CLIS, [""], CliChoice(("claude",))),
    ],
)
def test_a_dialog_is_answered_by_lines(dialog, lines, found):
    assert answer(dialog, *lines) == found


def test_a_wizard_goes_back_with_what_was_answered(capfdbinary):
    pages = tuple(WizardPage(word, Form(word, (FormField(word, word, default_value="d"),))) for word in ("one", "two"))
    typed = Typed("first", "back", "", "second")
    face = TerminalFace(typed, lambda _cli: None)

    assert face.ask(Wizard("Both", pages)) == WizardAnswer("wizard", 0, {"one": "first"})
    assert face.ask(Wizard("Both", pages, current_step=1)) == WizardAnswer("wizard", 0, {"one": "first"})
    assert face.ask(Wizard("Both", pages, current_step=1)) == WizardAnswer("wizard", 1, {"two": "second"})
    assert typed.asked[2] == "one (may be left empty) [first]: "
    assert b"Both: step 2 of 2, two\n" in capfdbinary.readouterr().out


@pytest.mark.parametrize(
    ("lines", "is_agreed", "kind", "found"),
    [
        (["y"], False, "command", True),
        ([""], False, "command", False),
        (["all", "n"], False, "command", False),
        (["y"], True, "command", True),
        (["n"], True, "command", False),
        ([], True, "file", True),
        (["skip"], False, "file", False),
    ],
)
def test_yes_in_advance_is_never_a_yes_to_a_command(lines, is_agreed, kind, found):
    typed = Typed(*lines, is_agreed=is_agreed)
    assert TerminalFace(typed, lambda _cli: None).agree(Agreement(kind, "Do it?", "text")) is found
    assert typed.lines == []


def test_yes_in_advance_is_never_a_yes_to_what_runs_later():
    typed = Typed("n", is_agreed=True)
    later = Agreement("file", "Write providers.toml?", "+x", warning="programs are run as it says", is_diff=True)
    assert not TerminalFace(typed, lambda _cli: None).agree(later)
    assert typed.lines == []


def test_without_a_terminal_a_question_ends_the_set_up():
    face = TerminalFace(Questions(is_agreed=True), lambda _cli: None)
    assert face.agree(Agreement("file", "Write x?", "+x", is_diff=True))
    with pytest.raises(NobodyAnswers, match=r"'Run this command[?]' has to be answered"):
        face.agree(Agreement("command", "Run this command?", "npm ls"))
    with pytest.raises(NobodyAnswers, match="'A pool' has to be answered"):
        face.ask(FORM)


@pytest.mark.parametrize("lines", [["cancel"], []], ids=["cancel", "the terminal is gone"])
def test_the_set_up_can_be_ended_where_leave_is_asked(lines):
    with pytest.raises(SetupCancelled):
        TerminalFace(Typed(*lines), lambda _cli: None).agree(Agreement("command", "Run this command?", "npm ls"))


def test_no_text_reaches_the_terminal_raw(capfdbinary):
    hostile = "a\x1b[2J\u202e\x07\nRun this command? (y/N)"
    face = TerminalFace(Typed("n", "n"), lambda _cli: None)
    face.tell(Status(hostile))
    face.show(CommandOutput(hostile, 0, hostile, hostile))
    face.agree(Agreement("command", "Run it?", f"npm '{hostile}'", hostile, hostile))
    face.ask(Confirmation(hostile, hostile, hostile, hostile, hostile))

    shown = capfdbinary.readouterr().out.decode()
    assert not {"\x1b", "\u202e", "\x07"} & set(shown)
    assert "\nRun this command?" not in shown


def test_from_an_empty_home_to_a_tested_pool(home, tmp_path, talk, world):
    replies = tmp_path / "replies"
    replies.mkdir()
    (world.config / "models").rmdir()
    pool = {"type": "write_config", "path": "models/quick.toml", "content": "[[providers]]\nname = 'claude'\n"}
    wizard = {
        "type": "wizard",
        "title": "A pool",
        "steps": [{"label": one, "form": {"title": one, "fields": [{"name": one}]}} for one in ("first", "second")],
    }
    turns = (
        [
            {"type": "run_command", "command": "codex", "args": ["--version"], "description": "see"},
            {"type": "ask_user", "action": wizard},
            {"type": "ask_user", "action": {"type": "api_key_entry", "provider": "codex", "env_var": "OPENAI_API_KEY"}},
        ],
        [pool, {"type": "test_integration", "model_name": "quick"}],
        [{"type": "complete", "summary": "quick answers"}],
    )
    for number, actions in enumerate(turns, start=1):
        (replies / f"reply-{number}").write_text(json.dumps({"actions": actions}))

    code, shown = talk(
        [
            ("What do you want to set up", "a quick pool\r"),
            ("CLIs: ", "claude\r"),
            ("here now? (Y/n) ", "\r"),
            ("Name of the account [claude]: ", "\r"),
            ("Paste the code: ", "ann\r"),
            ("It joins [claude]: ", "\r"),
            ("Write 4 files? (y/n) ", "y\r"),
            ("Run this command? (y/N) ", "y\r"),
            ("codex-cli 0.169.0", ""),
            ("step 1 of 2, first", ""),
            ("first (may be left empty): ", "one\r"),
            ("step 2 of 2, second", ""),
            ("second (may be left empty): ", "two\r"),
            ("leaves it out: ", "an-unusual-key\r"),
            ("Add the account codex with this key? (y/N) ", "y\r"),
            ("models/quick.toml? (y/N) ", "y\r"),
            ("quick answers: ok", ""),
            ("Set up: quick answers", ""),
            ("ended: success, 3 turns", ""),
        ],
        "setup",
        "run",
        SCRIPTED_REPLIES=str(replies),
    )

    assert code == 0, shown
    assert "an-unusual-key" not in shown
    assert json.loads((home / ".codex-codex" / "auth.json").read_text()) == {"OPENAI_API_KEY": "an-unusual-key"}
    asked = "".join(path.read_text() for path in replies.glob("prompt-*"))
    assert '"values": {"first": "one"}' in asked
    assert "an-unusual-key" not in asked
    assert "ann@example.com" not in asked
