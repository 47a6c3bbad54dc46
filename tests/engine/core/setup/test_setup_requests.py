"""A set-up's questions as requests: what each says, and what each answer of the inbox means."""

import pytest

from oulipoly_engine.core.live import requests as inbox
from oulipoly_engine.core.live.events import FileChange
from oulipoly_engine.core.setup import requests
from oulipoly_engine.core.setup.dialogs import (
    CliChoice,
    CliOption,
    CliSelection,
    Confirmation,
    Confirmed,
    Form,
    FormAnswer,
    FormField,
    KeyRequest,
    LoginDone,
    LoginRequest,
    Option,
    Skipped,
    Wizard,
    WizardAnswer,
    WizardPage,
)
from oulipoly_engine.core.setup.events import Agreement
from oulipoly_engine.errors import RequestRefused

FORM = Form(
    "A pool",
    (
        FormField("name", "Name", required=True),
        FormField("rule", "Rule", "select", options=(Option("most", "Most left"), Option("few"))),
        FormField("of", "Of", "multi_select", options=(Option("a"), Option("b", "B, the other"))),
        FormField("on", "On", "checkbox", default_value=True),
        FormField("size", "Size", "number", required=True, default_value=2),
    ),
)
WIZARD = Wizard("Both", (WizardPage("one", FORM), WizardPage("two", FORM)), current_step=1)
CLIS = CliSelection((CliOption("claude", installed=True), CliOption("codex")))
LOGIN = LoginRequest("Codex", "agents account add codex", cli="codex")
VALUES = {"name": "fast", "rule": "most", "of": ("b",), "on": False, "size": 3.0}
GIVEN = {"name": ("fast",), "rule": ("Most left",), "of": ("B, the other",), "on": ("no",), "size": ("3",)}
LEFT_OUT = {"name": "fast", "rule": "", "of": (), "on": True, "size": 2.0}


@pytest.mark.parametrize(
    ("dialog", "given", "answer"),
    [
        (FORM, GIVEN, FormAnswer("form", VALUES)),
        (FORM, {"name": ("fast",)}, FormAnswer("form", LEFT_OUT)),
        (WIZARD, GIVEN, WizardAnswer("wizard", 1, VALUES)),
        (Confirmation("t", "sure?", "c1"), {"answer": ("Yes",)}, Confirmed("c1", True)),
        (Confirmation("t", "sure?", "c1"), {"answer": ("No",)}, Confirmed("c1", False)),
        (CLIS, {"answer": ("codex", "claude")}, CliChoice(("codex", "claude"))),
        (LOGIN, {"answer": ("done",)}, LoginDone("Codex")),
        (LOGIN, {"answer": ("skip",)}, Skipped()),
    ],
)
def test_an_answer_of_the_inbox_is_the_dialogs(dialog, given, answer):
    kind, prompt = requests.request_of(dialog)
    inbox.check_answers(prompt.questions, given)

    assert ("user_input", answer) == (kind, requests.read_answer(dialog, "answer", given))
    assert Skipped() == requests.read_answer(dialog, "cancel", {})


@pytest.mark.parametrize("given", [{"name": ("x",), "rule": ("other",)}, {"name": ("x",), "size": ("many",)}])
def test_an_answer_that_does_not_fit_is_refused(given):
    with pytest.raises(RequestRefused):
        requests.read_answer(FORM, "answer", given)


def test_what_is_required_has_to_be_answered():
    with pytest.raises(RequestRefused, match="name"):
        inbox.check_answers(requests.request_of(FORM)[1].questions, {"rule": ("few",)})


@pytest.mark.parametrize("dialog", [KeyRequest("codex", "K_API_KEY"), Form("t", (FormField("p", "P", "password"),))])
def test_no_secret_is_asked_for_in_the_inbox(dialog):
    kind, prompt = requests.request_of(dialog)

    assert ("other", ()) == (kind, prompt.questions)
    assert "where the set-up runs" in prompt.note


def test_what_is_to_be_agreed_to_is_told_whole():
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n"
    run = Agreement("command", "Run this?", "npm ls", "to see", "it can do anything")
    write = Agreement("file", "Write it?", diff, is_diff=True)
    keep = Agreement("memory", "Keep this?", "a note")

    kind, prompt = requests.request_of(run)
    assert ("command_approval", "npm ls") == (kind, prompt.command)
    assert "to see\nCareful: it can do anything." == prompt.reason
    kind, prompt = requests.request_of(write)
    assert ("file_change_approval", (FileChange("b/x", diff=diff),)) == (kind, prompt.changes)
    kind, prompt = requests.request_of(keep)
    assert ("permission_approval", "a note") == (kind, prompt.reason)
    assert [True, False, False] == [requests.read_agreement(word, {}) for word in ("approve", "deny", "cancel")]
